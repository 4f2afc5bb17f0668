"""The neighbour graph: lists of neighbours, how neighbours weigh, the mutual graph and its components (§2).

Leans on `rows`.
"""
