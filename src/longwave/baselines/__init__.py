"""What manifold search is compared with; all are called alike.

Leans on `index` and `search`.
"""
