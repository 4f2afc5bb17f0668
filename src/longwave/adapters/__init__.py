"""Longwave inside other programs: one file for each, with an extra of the same name. Leans on collections.

`langchain`, `llamaindex`, `haystack` and `pyterrier` are imported by their users; `mcp` is what `longwave mcp` runs.
`documents` is what they share: texts with metadata on a collection that may begin empty.
"""
