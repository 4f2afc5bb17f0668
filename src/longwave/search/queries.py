"""`Queries`: what a user asks, checked: one or more vectors for each query, wanted or not wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.rows.vectors import unit_queries
from longwave.search.snapshot import Snapshot
from longwave.search.where import Where, allowed
from longwave.types import Array


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

    def as_one(self) -> Queries:
        """All rows as one query."""
        return replace(self, query_of=np.zeros_like(self.query_of))

    def some(self, start: int, stop: int) -> Queries:
        """The queries from start to stop, numbered from 0."""
        kept = (self.query_of >= start) & (self.query_of < stop)
        return Queries(self.regions[kept], self.query_of[kept] - start, self.weights[kept])

    def summed(self) -> NDArray[np.float32]:
        """Σ_j w_j q_j of every query: Euclidean similarity is linear in the regions. (Q, d)"""
        total = np.zeros((len(self), self.regions.shape[1]), dtype=np.float32)
        np.add.at(total, self.query_of, self.regions * self.weights[:, None])
        return total


def examples(
    snapshot: Snapshot, ids: ArrayLike, where: Where | None
) -> tuple[NDArray[np.float32], NDArray[np.int64], Array | None]:
    """The vectors of known items as queries, the query of each, and the ids; None where none of them may be found."""
    items = snapshot.items
    places = items.places(ids)
    rows, groups = items.rows_of(places)
    vectors = snapshot.vectors.rows(rows)
    seen = vectors.any(axis=1)  # a zero vector has no direction; the item may have others
    missing = np.setdiff1d(np.arange(len(places)), groups[seen])
    if missing.size:
        raise InputError(f"item {items.ids[places[missing[0]]].item()!r} is a zero vector: nothing is like it")
    found = where is None or bool(allowed(snapshot, where)[places].any())
    return vectors[seen], groups[seen], items.ids[places] if found else None


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
