"""scipy's LOBPCG without a preconditioner, 40 iterations."""

import warnings

import numpy as np
from scipy.sparse.linalg import lobpcg


def decompose(matrix, rank):
    start = np.random.default_rng(0).standard_normal((matrix.shape[0], rank))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it did not converge; the error column says so too
        return lobpcg(matrix.astype(np.float64), start, largest=True, maxiter=40)
