"""The offline stage: vectors to graph to basis to a snapshot; then faster, smaller, or with more items.

Leans on `search` and everything below it.
"""
