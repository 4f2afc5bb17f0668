"""scipy's ARPACK stopped at a tolerance of 1e-3, so that it need not work for digits nobody asked for."""

import numpy as np
from scipy.sparse.linalg import eigsh


def decompose(matrix, rank):
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = eigsh(matrix.astype(np.float64), k=rank, which="LA", v0=start, tol=1e-3)
    return values, vectors
