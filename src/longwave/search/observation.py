"""From query vectors to the observation y of §2.3: which vertices look like the query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.graph.weights import Kernel
from longwave.rows.vectors import unit_queries
from longwave.types import Array, Neighbors, Sparse

#: How region scores are summed: the paper raises to γ first; the authors' published scripts sum products, then raise.
SUMS = ("similarities", "products")


@dataclass(frozen=True, eq=False)
class Queries:
    """One or more query vectors for each query, positive or negative.

    regions: (m, d) unit vectors. query_of: (m,) the query of each, 0 … Q−1. weights: (m,) of each in its query; below 0
    for an example of what is not wanted. numbers: (Q,) which of the user's queries these are; None for all.
    """

    regions: NDArray[np.float32]
    query_of: NDArray[np.int64]
    weights: NDArray[np.float32]
    numbers: NDArray[np.int64] | None = None

    @classmethod
    def make(
        cls,
        queries: ArrayLike,
        *,
        dimension: int,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        on_error: str = "raise",
    ) -> Queries:
        """From what a user gives, checked. on_error: "skip" drops the queries that have a row without a direction."""
        if on_error not in ("raise", "skip"):
            raise InputError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        bad = _rows_without_direction(queries) if on_error == "skip" else np.zeros(0, dtype=np.int64)
        if not bad.size:
            regions = unit_queries(queries, dimension=dimension)
            return cls(regions, _query_numbers(groups, len(regions)), _query_weights(weights, len(regions)))
        rows = np.asarray(queries)
        query_of, given = _query_numbers(groups, len(rows)), _query_weights(weights, len(rows))
        keep = ~np.isin(query_of, query_of[bad])
        if not keep.any():
            raise InputError(f"no query is left: row {bad[0]} and {bad.size - 1} more have no direction")
        numbers, renumbered = np.unique(query_of[keep], return_inverse=True)
        return cls(unit_queries(rows[keep], dimension=dimension), renumbered, given[keep], numbers)

    def __len__(self) -> int:
        return int(self.query_of.max()) + 1

    def some(self, start: int, stop: int) -> Queries:
        """The queries from start to stop, numbered from 0."""
        kept = (self.query_of >= start) & (self.query_of < stop)
        return Queries(self.regions[kept], self.query_of[kept] - start, self.weights[kept])

    def summed(self) -> NDArray[np.float32]:
        """Σ_j w_j q_j of every query: Euclidean similarity is linear in the regions. (Q, d)"""
        total = np.zeros((len(self), self.regions.shape[1]), dtype=np.float32)
        np.add.at(total, self.query_of, self.regions * self.weights[:, None])
        return total


def observe(
    found: Neighbors,
    query_of: NDArray[np.int64],
    *,
    count: int,
    n_vertices: int,
    kernel: Kernel,
    scales: NDArray[np.float32] | None = None,
    weights: NDArray[np.float32] | None = None,
    cut: int | None = None,
    region_sum: str = "similarities",
) -> Sparse:
    """y_i = Σ_j w_j s(v_i | q_j) over the regions j of a query, then the `cut` largest entries. CSR (queries, n).

    found: lists of every region, (m, at least count), of which the first `count` are observed. query_of: (m,) the query
    of each region, 0 … Q−1. scales: (n,) of the vertices, for a kernel that has scales; those of the regions come from
    their own lists. weights: (m,), 1 by default. With `region_sum` "products", y_i = [Σ_j w_j v_iᵀ q_j]₊^γ instead.
    """
    if region_sum not in SUMS:
        raise InputError(f"region_sum must be one of {', '.join(SUMS)}, got '{region_sum}'")
    summed = region_sum == "products"
    if summed and scales is not None:
        raise InputError(f"region_sum 'products' needs a kernel without scales, such as Power(3), not {kernel!r}")
    ids, products = found.ids[:, :count], found.similarities[:, :count]
    present = ids >= 0
    entries = products if summed else _region_weights(found, ids, products, kernel, scales)
    if weights is not None:
        entries = entries * weights[:, None]
    vertices, values = ids[present], entries[present]
    if len(query_of) == 1:  # one vector: no vertex twice, nothing to sum
        y = _one_row(vertices, kernel(values, None, None) if summed else values, n_vertices)
        return y if cut is None else keep_largest(y, cut)
    where = np.repeat(query_of, ids.shape[1]).reshape(ids.shape)[present], vertices
    y = sp.csr_array((values, where), shape=(int(query_of.max()) + 1, n_vertices), dtype=np.float32)  # sums doubles
    if summed:
        y.data = np.asarray(kernel(y.data, None, None), dtype=np.float32)
    y.eliminate_zeros()
    y.sort_indices()
    return y if cut is None else keep_largest(y, cut)


def _region_weights(
    found: Neighbors, ids: Array, products: Array, kernel: Kernel, scales: NDArray[np.float32] | None
) -> Array:
    """s(v_i | q_j) of every list. (m, count)"""
    known = np.where(ids >= 0, products, -1.0)  # empty places, left out later
    if scales is None:
        return kernels.relative_weights(kernel, known, None, None)
    neighbor = kernels.scale_neighbor(kernel) or kernels.NEIGHBOR
    own = kernels.scales(found.similarities, neighbor)
    return kernels.relative_weights(kernel, known, own[:, None], scales[np.maximum(ids, 0)])


def _one_row(vertices: NDArray[np.int64], entries: Array, n: int) -> Sparse:
    order = np.argsort(vertices)
    order = order[entries[order] != 0]
    data = np.asarray(entries[order], dtype=np.float32)
    return sp.csr_array((data, vertices[order], np.array([0, len(data)])), shape=(1, n))


def keep_largest(observation: Sparse, cut: int) -> Sparse:
    """Keep the `cut` entries of largest magnitude of every row; ties go to the lower vertex."""
    rows = np.repeat(np.arange(observation.shape[0]), np.diff(observation.indptr))
    order = np.lexsort((observation.indices, -np.abs(observation.data), rows))  # by row, then largest first
    place = np.arange(len(order)) - observation.indptr[rows[order]]
    kept = np.sort(order[place < cut])
    return sp.csr_array(
        (observation.data[kept], (rows[kept], observation.indices[kept])),
        shape=observation.shape,
        dtype=np.float32,
    )


def _rows_without_direction(queries: ArrayLike) -> NDArray[np.int64]:
    """Rows that hold NaN or infinity, or nothing but zeros. What is not a plain matrix is left to the real check."""
    try:
        rows = np.asarray(queries)
    except ValueError:
        return np.zeros(0, dtype=np.int64)
    if isinstance(queries, np.ma.MaskedArray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(~np.isfinite(rows).all(axis=1) | ~rows.any(axis=1))


def _query_numbers(query_groups: ArrayLike | None, n_regions: int) -> NDArray[np.int64]:
    """The query of each region, checked: whole numbers 0 … Q−1, all present. (m,)"""
    if query_groups is None:
        return np.arange(n_regions)
    try:
        numbers = np.asarray(query_groups)
    except ValueError as error:
        raise InputError(f"query_groups must be a flat list, one number per query row: {error}") from error
    if numbers.shape != (n_regions,):
        raise InputError(f"query_groups must have one entry per query row, {n_regions}, got shape {numbers.shape}")
    if numbers.dtype.kind not in "iu" or numbers.min() < 0:
        raise InputError("query_groups must be whole numbers from 0: the query that each row belongs to")
    missing = np.flatnonzero(np.bincount(numbers) == 0)
    if missing.size:
        raise InputError(f"query_groups has no row for query {missing[0]}; number the queries 0, 1, 2, ...")
    return numbers.astype(np.int64)


def _query_weights(weights: ArrayLike | None, n_regions: int) -> NDArray[np.float32]:
    """The weight of each region, checked: finite, not 0. (m,)"""
    if weights is None:
        return np.ones(n_regions, dtype=np.float32)
    try:
        numbers: Array = np.asarray(weights, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise InputError(f"weights must be numbers, one per query row: {error}") from error
    if numbers.shape != (n_regions,):
        raise InputError(f"weights must have one entry per query row, {n_regions}, got shape {numbers.shape}")
    wrong = np.flatnonzero(~np.isfinite(numbers) | (numbers == 0))
    if wrong.size:
        raise InputError(f"weights must be finite and not 0, got {numbers[wrong[0]]} for row {wrong[0]}; drop that row")
    return numbers
