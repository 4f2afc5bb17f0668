"""What manifold search is compared with. Every ranker is a value, called as ranker(index, queries, k) -> Hits.

Longwave's own search is one of them (`Manifold`): with `solver=ConjugateGradient()` it is the diffusion of Iscen et al.
(2017), with `RandomWalk()` the walk with restart, with `Euclidean()` plain search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.baselines.rmatch import rmatch_scores
from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.filters import LowPass
from longwave.graph.lists import nearest, nearest_others
from longwave.graph.mutual import normalize as normalize_graph
from longwave.index import Index
from longwave.rows.vectors import normalize, top_k, unit_queries
from longwave.search.blending import Blending
from longwave.search.euclidean import Euclidean, euclidean_scores
from longwave.search.observation import observe
from longwave.search.queries import Queries
from longwave.solvers import ConjugateGradient, Solver, Spectral, System
from longwave.stores.memory import Memory
from longwave.types import Array, Filter, Hits, Neighbors, Sparse


class Ranker(Protocol):
    """A way to rank the items of an index."""

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """queries: (m, d), query_groups: (m,) the query of each row -> hits (queries, k)."""


@dataclass(frozen=True)
class Manifold:
    """`Index.search` with its options held: every method of Longwave's own, and Euclidean search."""

    solver: Solver | Euclidean = field(default_factory=Spectral)
    filter: Filter = field(default_factory=lambda: LowPass(0.99))
    neighbors: int = 10
    cut: int | None = None
    blend: float | Blending | None = None

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Search."""
        options: dict[str, Any] = {"filter": self.filter, "neighbors": self.neighbors, "cut": self.cut}
        return index.search(queries, k, query_groups=query_groups, solver=self.solver, blend=self.blend or 0, **options)


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
        vectors = _whole(index)
        lists = nearest(unit, vectors, k=min(self.count, len(vectors)))
        return _ranked(index, _expanded(unit, vectors, lists, self.power), vectors, k)


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
        vectors = _whole(index)
        lists = nearest_others(vectors, k=min(count, len(vectors) - 1))
        return cls(_expanded(vectors, vectors, lists, power), expansion)

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Search among the expanded vectors."""
        _check_global(index, query_groups, "database augmentation")
        unit = unit_queries(queries, dimension=index.dimension)
        if self.expansion is not None:
            lists = nearest(unit, self.vectors, k=min(self.expansion.count, len(self.vectors)))
            unit = _expanded(unit, self.vectors, lists, self.expansion.power)
        return _ranked(index, unit, self.vectors, k)


@dataclass(frozen=True)
class RegionMatch:
    """R-match of Razavian et al. (2014): Σ_j max_i q_jᵀv_i over the regions i of an item, j of the query.

    Time O(n m d) for n regions of the collection and m of the query.
    """

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Match and sum."""
        asked = Queries.make(queries, dimension=index.dimension, groups=query_groups)
        items, vectors = index.items, _whole(index)
        given = np.arange(items.n_given) if items.row_of is None else items.row_of
        item_of = np.arange(len(items)) if items.item_of is None else items.item_of
        scores = rmatch_scores(asked.regions, asked.query_of, vectors[given], item_of)
        places, best = top_k(scores, min(k, len(index)))
        return Hits(index.ids[places], best)


@dataclass(frozen=True)
class TruncatedDiffusion:
    """Diffusion on the part of the graph that the `count` items nearest to the query span (Iscen et al. 2017).

    The subgraph is normalised anew for every query and solved by conjugate gradients; all other items follow, in
    Euclidean order. Time O(count · k) per step.
    """

    count: int = 1000
    filter: LowPass = field(default_factory=lambda: LowPass(0.99))
    neighbors: int = 10
    cut: int | None = None
    solver: ConjugateGradient = field(default_factory=ConjugateGradient)

    def __post_init__(self) -> None:
        check_counts(count=self.count, neighbors=self.neighbors)

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """One query at a time."""
        if index.added is not None:
            raise InputError("truncated diffusion ranks the items of the graph; build the index from all vectors")
        asked = Queries.make(queries, dimension=index.dimension, groups=query_groups)
        vectors, adjacency, summed = _whole(index), index.graph.adjacency(), asked.summed()
        found = []
        for query in range(len(asked)):
            near = euclidean_scores(summed[[query]], Memory(vectors), index.pooling)[0]
            kept = np.sort(top_k(near[None, :], min(self.count, len(near)))[0][0])
            scores = near - near.max() - 1  # all below 0, in Euclidean order
            scores[kept] = self._diffused(index, adjacency, asked.regions[asked.query_of == query], kept)
            found.append(scores)
        return _hits(index, np.stack(found), k)

    def _diffused(self, index: Index, adjacency: Sparse, regions: NDArray[np.float32], kept: Array) -> Array:
        """Scores of the kept items. regions: of one query, (m, d); kept: (count,) -> (count,)"""
        pooling, vertices = None, kept
        if index.pooling is not None:
            vertices = np.unique(sp.csr_array(index.pooling[kept]).indices)
            pooling = sp.csr_array(sp.csr_array(index.pooling[kept])[:, vertices])
        lists = nearest(regions, index.vectors.rows(vertices), k=min(max(self.neighbors, 10), len(vertices)))
        scales = index.graph.scales
        y = observe(
            lists,
            np.zeros(len(regions), dtype=np.int64),
            count=self.neighbors,
            n_vertices=len(vertices),
            kernel=index.similarity,
            scales=None if scales is None else scales[vertices],
            cut=self.cut,
        )
        part, _ = normalize_graph(sp.csr_array(sp.csr_array(adjacency[vertices])[:, vertices]))
        scores: Array = self.solver(System(part, None, pooling), y, self.filter).scores[0]
        return np.maximum(scores, 0)


def _expanded(queries: Array, vectors: Array, lists: Neighbors, power: float) -> NDArray[np.float32]:
    """Unit vectors q + Σ_j w_j v_j, w = (qᵀv)₊^power. queries: (q, d) -> (q, d)"""
    weights = np.maximum(lists.similarities, 0) ** power
    rows = np.repeat(np.arange(len(queries)), lists.ids.shape[1])
    mixing = sp.csr_array((weights.ravel(), (rows, lists.ids.ravel())), shape=(len(queries), len(vectors)))
    return normalize(np.asarray(queries + mixing @ vectors))


def _whole(index: Index) -> NDArray[np.float32]:
    """The vectors themselves, (n, d)."""
    if index.settings.vectors_as is not None:
        raise InputError("the vectors of this index are stored in fewer bytes; give the index as it was built")
    if index.items.live is not None:
        raise InputError("items were removed from this index, which baselines do not know of; refresh the collection")
    return index.vectors.rows(slice(None))


def _ranked(index: Index, queries: Array, vectors: Array, k: int) -> Hits:
    return _hits(index, queries @ vectors.T, k)


def _hits(index: Index, scores: Array, k: int) -> Hits:
    """The best items by the scores of targets. scores: (q, targets)"""
    places, best = index.items.expand(*top_k(scores, min(k, scores.shape[1])), min(k, len(index)))
    return Hits(index.ids[places], best)


def _check(count: int, power: float) -> None:
    check_counts(count=count)
    if not power >= 0:
        raise InputError(f"power must be at least 0, got {power}")


def _check_global(index: Index, query_groups: ArrayLike | None, what: str) -> None:
    if index.items.item_of is not None or query_groups is not None:
        raise InputError(f"{what} works on one vector per item and query; use Manifold() or RegionMatch() for regions")
