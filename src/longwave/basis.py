"""The matrix U (or Ū = ΣU): dense columns for the giant component, sparse ones for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.compact import Compact, compact, products

Array = NDArray[Any]


def narrow_indices(matrix: sp.csr_array[Any, tuple[int, int]]) -> None:
    """Keep the indices of a CSR matrix in 4 bytes where they fit; scipy's stacking and constructors leave 8."""
    if matrix.indices.dtype != np.int32 and max(matrix.nnz, *matrix.shape) < np.iinfo(np.int32).max:
        matrix.indices = matrix.indices.astype(np.int32)
        matrix.indptr = matrix.indptr.astype(np.int32)


@dataclass(frozen=True, eq=False)
class Basis:
    """U = [dense | sparse], (n, r).

    Eigenvectors of one component are zero on all others. A component that holds more than half of the vertices is
    cheapest as dense columns (4 bytes an entry, zeros included); smaller ones as sparse columns (8 bytes an entry, no
    zeros). So at most one component is dense, and U never takes more than twice its non-zeros. The dense part may be
    stored in 2 or 1 bytes an entry (`compress`).
    """

    dense: Any  # (n, d) float32, or Compact
    sparse: sp.csr_array[Any, tuple[int, int]]  # (n, r - d)

    def __post_init__(self) -> None:
        narrow_indices(self.sparse)

    @classmethod
    def from_dense(cls, dense: Array) -> Basis:
        """Wrap an (n, r) array."""
        array = np.asarray(dense, dtype=np.float32)
        return cls(array, sp.csr_array((len(array), 0), dtype=np.float32))

    @classmethod
    def from_sparse(cls, matrix: Any) -> Basis:
        """Wrap an (n, r) sparse matrix."""
        csr = sp.csr_array(matrix, dtype=np.float32)
        return cls(np.zeros((csr.shape[0], 0), dtype=np.float32), csr)

    @cached_property
    def by_column(self) -> Any:
        """The sparse part as an inverted index, CSC: the items of each component. Takes its memory a second time."""
        return self.sparse.tocsc()

    def compress(self, kind: str) -> Basis:
        """The same with the dense part as "float16" or "int8"."""
        return Basis(compact(self.dense, kind), self.sparse)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, r)."""
        return len(self.dense), self.dense.shape[1] + self.sparse.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(a.nbytes for a in (self.dense, self.sparse.data, self.sparse.indices, self.sparse.indptr))

    @property
    def nonzeros(self) -> int:
        """Stored entries: all of the dense part, and the sparse ones."""
        return int(np.prod(self.dense.shape) + self.sparse.nnz)

    def project(self, signals: Any) -> Array:
        """The graph Fourier transform, Uᵀ y for every row y. signals: (q, n) dense or CSR -> (q, r).

        For a sparse y only its own rows of U are read.
        """
        if not sp.issparse(signals):
            dense = self.dense[:] if isinstance(self.dense, Compact) else self.dense
            return np.hstack([signals @ dense, signals @ self.sparse])
        touched = np.unique(signals.indices)
        narrow = signals[:, touched]  # (q, t): t vertices touched by any query
        return np.hstack([narrow @ self.dense[touched], (narrow @ self.sparse[touched]).toarray()])

    def synthesize(self, coefficients: Array) -> Array:
        """The inverse transform, U z for every row z. (q, r) -> (q, n).

        Components that z does not touch are not read.
        """
        d = self.dense.shape[1]
        if coefficients[:, :d].any():
            out = products(coefficients[:, :d], self.dense)
        else:
            out = np.zeros((len(coefficients), len(self.dense)), dtype=np.float32)
        if self.sparse.nnz and len(coefficients) == 1:
            self.add_sparse(coefficients[0, d:], out[0])
        elif self.sparse.nnz:
            out += (self.sparse @ coefficients[:, d:].T).T
        return out

    def add_sparse(self, coefficients: Array, out: Array) -> None:
        """out += (sparse part) z for one z: only the lists of components that z touches are read. (s,), (n,)"""
        from longwave import compiled

        lists, touched = self.by_column, np.flatnonzero(coefficients)
        weights = np.asarray(coefficients[touched], dtype=np.float32)
        compiled.add_lists(lists.data, lists.indices, lists.indptr, touched, weights, out)

    def pool(self, pooling: Any) -> Basis:
        """Ū = ΣU. pooling: (N, n) sparse."""
        dense = np.asarray(pooling @ self.dense, dtype=np.float32)
        return Basis(dense, sp.csr_array(pooling @ self.sparse, dtype=np.float32))

    def row_norms(self) -> NDArray[np.float32]:
        """η, the l2-norm of every row. (n,)"""
        square = np.einsum("ij,ij->i", self.dense, self.dense, dtype=np.float64)
        square += np.asarray(self.sparse.multiply(self.sparse).sum(axis=1)).ravel()
        return np.asarray(np.sqrt(square), dtype=np.float32)

    def toarray(self) -> NDArray[np.float32]:
        """All of U as one dense array (n, r)."""
        return np.hstack([self.dense[:], self.sparse.toarray()])
