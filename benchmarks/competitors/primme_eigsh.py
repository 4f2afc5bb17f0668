"""PRIMME, largest algebraic, residual 1e-4."""

import numpy as np
import primme


def decompose(matrix, rank):
    start = np.random.default_rng(0).standard_normal((matrix.shape[0], 1))
    values, vectors = primme.eigsh(matrix.astype(np.float64), k=rank, which="LA", tol=1e-4, v0=start)
    return values, vectors
