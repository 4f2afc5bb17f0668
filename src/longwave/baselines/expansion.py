"""Expansion: a vector is replaced by a sum of itself and its neighbours, then Euclidean search goes on as usual.

`QueryExpansion` does so with queries (AQE, αQE), `DatabaseAugmentation` with the collection (DBA).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.baselines.ranker import best_hits, whole_vectors
from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.graph.lists import nearest, nearest_others
from longwave.index import Index
from longwave.rows.vectors import normalize, unit_queries
from longwave.types import Array, Hits, Neighbors


@dataclass(frozen=True)
class QueryExpansion:
    """q' = q + Σ_j (qᵀv_j)₊^power v_j over the `count` nearest, then search again.

    power 0 is AQE, the average query expansion of Chum et al. (2007); 3 is αQE of Radenović et al. (2018). Time twice
    that of Euclidean search.
    """

    count: int = 10
    power: float = 0.0

    def __post_init__(self) -> None:
        _check(self.count, self.power)

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Expand and search."""
        _check_global(index, query_groups, "query expansion")
        unit = unit_queries(queries, dimension=index.dimension)
        vectors = whole_vectors(index)
        lists = nearest(unit, vectors, k=min(self.count, len(vectors)))
        return best_hits(index, _expanded(unit, vectors, lists, self.power) @ vectors.T, k)


@dataclass(frozen=True, eq=False)
class DatabaseAugmentation:
    """DBA: every vector is expanded by its own neighbours, offline, before the search. Make it with `of`.

    vectors: (n, d), expanded. expansion: of the query too, where given.
    """

    vectors: NDArray[np.float32]
    expansion: QueryExpansion | None = None

    @classmethod
    def of(
        cls, index: Index, *, count: int = 10, power: float = 0.0, expansion: QueryExpansion | None = None
    ) -> DatabaseAugmentation:
        """Expand the vectors of an index: v_i + Σ_j (v_iᵀv_j)₊^power v_j over the `count` nearest others. O(n² d)."""
        _check(count, power)
        _check_global(index, None, "database augmentation")
        vectors = whole_vectors(index)
        lists = nearest_others(vectors, k=min(count, len(vectors) - 1))
        return cls(_expanded(vectors, vectors, lists, power), expansion)

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Search among the expanded vectors."""
        _check_global(index, query_groups, "database augmentation")
        unit = unit_queries(queries, dimension=index.dimension)
        if self.expansion is not None:
            lists = nearest(unit, self.vectors, k=min(self.expansion.count, len(self.vectors)))
            unit = _expanded(unit, self.vectors, lists, self.expansion.power)
        return best_hits(index, unit @ self.vectors.T, k)


def _expanded(queries: Array, vectors: Array, lists: Neighbors, power: float) -> NDArray[np.float32]:
    """Unit vectors q + Σ_j w_j v_j, w = (qᵀv)₊^power. queries: (q, d) -> (q, d)"""
    weights = np.maximum(lists.similarities, 0) ** power
    rows = np.repeat(np.arange(len(queries)), lists.ids.shape[1])
    mixing = sp.csr_array((weights.ravel(), (rows, lists.ids.ravel())), shape=(len(queries), len(vectors)))
    return normalize(np.asarray(queries + mixing @ vectors))


def _check(count: int, power: float) -> None:
    check_counts(count=count)
    if not power >= 0:
        raise InputError(f"power must be at least 0, got {power}")


def _check_global(index: Index, query_groups: ArrayLike | None, what: str) -> None:
    if index.items.item_of is not None or query_groups is not None:
        raise InputError(f"{what} works on one vector per item and query; use Manifold() or RegionMatch() for regions")
