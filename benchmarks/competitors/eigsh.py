"""scipy's ARPACK, largest algebraic, machine precision, float64."""

import numpy as np
from scipy.sparse.linalg import eigsh


def decompose(matrix, rank):
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = eigsh(matrix.astype(np.float64), k=rank, which="LA", v0=start)
    return values, vectors
