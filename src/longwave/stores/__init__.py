"""Rows that can be searched by inner product: in memory, by faiss, later in an engine of the user's.

Leans on `rows`.
"""
