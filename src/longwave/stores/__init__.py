"""Rows that can be searched by inner product: in memory, by faiss, later in an engine that the user has.

Leans on `rows`.
"""
