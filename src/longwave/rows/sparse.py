"""Helpers for sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def narrow_indices(matrix: sp.csr_array[Any, tuple[int, int]]) -> None:
    """Keep the indices of a CSR matrix in 4 bytes where they fit; scipy's stacking and constructors leave 8."""
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) < np.iinfo(np.int32).max:
        matrix.indices = matrix.indices.astype(np.int32)
        matrix.indptr = matrix.indptr.astype(np.int32)
