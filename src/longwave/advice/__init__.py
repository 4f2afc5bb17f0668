"""Before the work: what it will take in memory, which rank, and how well the basis will answer.

Leans on `graph`, `spectrum` and `solvers`.
"""
