"""The matrix U (or Ū = ΣU): dense parts for large components, sparse columns for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.rows.encoded import blocks, compact, products, weighted_sums
from longwave.rows.sparse import narrow_indices

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of one large component: values[j] is what they hold in row rows[j]; other rows are zero.

    rows: (m,) ascending. values: (m, c) float32, or in fewer bytes.
    """

    rows: NDArray[np.int64]
    values: Any

    @property
    def width(self) -> int:
        """Its columns."""
        return int(self.values.shape[1])

    def places(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where some rows of U are in `values`, and which of them are there at all. (t,) -> (t,), (t,)"""
        found = np.minimum(np.searchsorted(self.rows, wanted), max(0, len(self.rows) - 1))
        present = self.rows[found] == wanted if len(self.rows) else np.zeros(len(wanted), dtype=bool)
        return found, present


@dataclass(frozen=True, eq=False)
class Basis:
    """U = [part | part | … | sparse], (n, r).

    Eigenvectors of one component are zero on all others. Those of a large component are a dense array of its own rows
    (4 bytes an entry, or 2 or 1: `compress`), all others are sparse columns (8 bytes an entry). No zeros are stored,
    and what touches one component reads nothing of the others.
    """

    n: int
    parts: tuple[Part, ...]
    sparse: sp.csr_array[Any, tuple[int, int]]  # (n, r - columns of the parts)

    def __post_init__(self) -> None:
        narrow_indices(self.sparse)

    @classmethod
    def from_dense(cls, dense: Array) -> Basis:
        """Wrap an (n, r) array."""
        array = np.asarray(dense, dtype=np.float32)
        return cls(len(array), (Part(np.arange(len(array)), array),), sp.csr_array((len(array), 0), dtype=np.float32))

    @classmethod
    def from_sparse(cls, matrix: Any) -> Basis:
        """Wrap an (n, r) sparse matrix."""
        csr = sp.csr_array(matrix, dtype=np.float32)
        return cls(csr.shape[0], (), csr)

    @cached_property
    def by_column(self) -> Any:
        """The sparse part as an inverted index, CSC: the items of each component. Takes its memory a second time."""
        return self.sparse.tocsc()

    def compress(self, kind: str) -> Basis:
        """The same with the dense parts as "float16" or "int8"."""
        return replace(self, parts=tuple(Part(part.rows, compact(part.values, kind)) for part in self.parts))

    @property
    def n_dense(self) -> int:
        """Columns of all parts."""
        return sum(part.width for part in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, r)."""
        return self.n, self.n_dense + self.sparse.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        dense = sum(part.rows.nbytes + part.values.nbytes for part in self.parts)
        return int(dense + sum(a.nbytes for a in (self.sparse.data, self.sparse.indices, self.sparse.indptr)))

    @property
    def nbytes_searched(self) -> int:
        """The same with the by-column copy of the sparse part, which single queries make."""
        return int(self.nbytes + sum(a.nbytes for a in (self.sparse.data, self.sparse.indices)))

    @property
    def nonzeros(self) -> int:
        """Stored entries: all of the dense parts, and the sparse ones."""
        return int(sum(np.prod(part.values.shape) for part in self.parts) + self.sparse.nnz)

    def spans(self) -> Iterator[tuple[Part, slice]]:
        """Every part and its columns in U."""
        start = 0
        for part in self.parts:
            yield part, slice(start, start + part.width)
            start += part.width

    def project(self, signals: Any) -> Array:
        """The graph Fourier transform, Uᵀ y for every row y. signals: (q, n) dense or CSR -> (q, r).

        For a sparse y only its own rows of U are read.
        """
        out = np.zeros((signals.shape[0], self.shape[1]), dtype=np.float32)
        if not sp.issparse(signals):
            for part, columns in self.spans():
                for block in blocks(*part.values.shape):  # decoded block by block where it is stored in fewer bytes
                    out[:, columns] += weighted_sums(signals[:, part.rows[block]], part.values[block])
            out[:, self.n_dense :] = signals @ self.sparse
            return out
        touched = np.unique(signals.indices)
        if signals.shape[0] == 1 and len(touched) == signals.nnz:  # one query: its entries, without looking at columns
            near = np.asarray(signals.data[np.argsort(signals.indices)])[None, :]
        else:
            near = signals[:, touched]  # (q, t): t vertices touched by any query
        for part, columns in self.spans():
            places, present = part.places(touched)
            if present.any():
                out[:, columns] = near[:, present] @ part.values[places[present]]
        if self.sparse.nnz:
            small = near @ self.sparse[touched]
            out[:, self.n_dense :] = small.toarray() if sp.issparse(small) else small
        return out

    def synthesize(self, coefficients: Array, rows: NDArray[np.int64] | None = None) -> Array:
        """The inverse transform, U z for every row z. (q, r) -> (q, n), or (q, c) on some rows (c,), ascending.

        Components that z does not touch are not read.
        """
        from longwave.rows import compiled

        if rows is not None:
            return self._synthesize_on(coefficients, rows)
        out = np.zeros((len(coefficients), self.n), dtype=np.float32)
        for part, columns in self.spans():
            asking = np.flatnonzero(coefficients[:, columns].any(axis=1))
            if asking.size:
                own = products(np.ascontiguousarray(coefficients[asking, columns]), part.values)
                compiled.add_columns(own, asking, part.rows, out)
        if self.sparse.nnz and len(coefficients) == 1:
            self.add_sparse(coefficients[0, self.n_dense :], out[0])
        elif self.sparse.nnz:
            reached = sp.coo_array(sp.csr_array(coefficients[:, self.n_dense :]) @ self.sparse.T)
            out[reached.coords] += reached.data  # each pair once
        return out

    def _synthesize_on(self, coefficients: Array, rows: NDArray[np.int64]) -> Array:
        """U z on some rows alone. (q, r), (c,) -> (q, c)"""
        out = np.zeros((len(coefficients), len(rows)), dtype=np.float32)
        for part, columns in self.spans():
            if coefficients[:, columns].any():
                places, present = part.places(rows)
                out[:, present] += (part.values[places[present]] @ coefficients[:, columns].T).T
        small = coefficients[:, self.n_dense :]
        if self.sparse.nnz and small.any():
            out += (self.sparse[rows] @ small.T).T
        return out

    def add_sparse(self, coefficients: Array, out: Array) -> None:
        """out += (sparse part) z for one z: only the lists of components that z touches are read. (s,), (n,)"""
        from longwave.rows import compiled

        lists, touched = self.by_column, np.flatnonzero(coefficients)
        weights = np.asarray(coefficients[touched], dtype=np.float32)
        compiled.add_lists(lists.data, lists.indices, lists.indptr, touched, weights, out)

    def pool(self, pooling: Any) -> Basis:
        """Ū = ΣU. pooling: (N, n) sparse."""
        parts = []
        for part in self.parts:
            own = sp.csr_array(pooling[:, part.rows])  # (N, m)
            items = np.flatnonzero(np.diff(own.indptr))
            parts.append(Part(items, np.asarray(own[items] @ part.values[:], dtype=np.float32)))
        return Basis(pooling.shape[0], tuple(parts), sp.csr_array(pooling @ self.sparse, dtype=np.float32))

    def row_norms(self) -> NDArray[np.float32]:
        """η, the l2-norm of every row. (n,)"""
        square = np.asarray(self.sparse.multiply(self.sparse).sum(axis=1), dtype=np.float64).ravel()
        for part in self.parts:
            square[part.rows] += np.einsum("ij,ij->i", part.values, part.values, dtype=np.float64)
        return np.asarray(np.sqrt(square), dtype=np.float32)

    def rows(self, chosen: slice) -> sp.csr_array[Any, tuple[int, int]]:
        """Some rows of U as one sparse matrix, CSR (stop − start, r)."""
        pieces = []
        for part in self.parts:
            first, last = np.searchsorted(part.rows, [chosen.start, chosen.stop])
            filled = np.zeros(chosen.stop - chosen.start, dtype=np.int64)
            filled[part.rows[first:last] - chosen.start] = part.width
            data = part.values[first:last]
            columns = np.tile(np.arange(part.width, dtype=np.int32), last - first)
            ends = np.concatenate([[0], np.cumsum(filled)])
            pieces.append(sp.csr_array((data.ravel(), columns, ends), shape=(len(filled), part.width)))
        return sp.csr_array(sp.hstack([*pieces, self.sparse[chosen]]), dtype=np.float32)

    def some_rows(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some rows of U, dense. (c,) -> (c, r)"""
        out = np.zeros((len(numbers), self.shape[1]), dtype=np.float32)
        for part, columns in self.spans():
            places, present = part.places(numbers)
            out[present, columns] = part.values[places[present]]
        out[:, self.n_dense :] = self.sparse[numbers].toarray()
        return out

    def toarray(self) -> NDArray[np.float32]:
        """All of U as one dense array (n, r)."""
        return np.asarray(self.rows(slice(0, self.n)).toarray(), dtype=np.float32)
