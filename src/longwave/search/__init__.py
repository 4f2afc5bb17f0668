"""The online stage: queries to y, y to scores, scores to hits; how far to trust them, and why an item was found.

Leans on `stores`, `graph`, `spectrum`, `solvers` and `items`.
"""
