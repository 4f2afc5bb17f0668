"""Rows of numbers: unit vectors, the best of a row, rows in fewer bytes, sparse helpers, compiled loops.

Leans on nothing but `errors`, `checks` and `types`.
"""
