"""The online stage: query vectors to y (the first search), y to the best items (the second search).

Both searches are separable from the maths between them: `first_search` gives lists, `second_search` takes waves.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave import observation
from longwave.ann import Ann
from longwave.candidates import best, blend_candidates, candidate_scores, candidate_similarities
from longwave.compact import Compact, Quantized
from longwave.confidence import ASKED, confidence
from longwave.errors import DataWarning
from longwave.items import Items
from longwave.neighbors import nearest
from longwave.observation import Queries
from longwave.ranking import (
    Blend,
    Euclidean,
    Lean,
    best_of,
    blend_scores,
    euclidean_scores,
    lean_scores,
    lean_weights,
)
from longwave.solvers import Precomputed, Solver, Spectral, System
from longwave.solvers.precomputed import require_rows, summed_rows
from longwave.types import Array, Filter, Graph, Hits, Neighbors, Solution, Sparse
from longwave.vectors import normalize, top_k

# Scores held at a time: 2^25 float64 are 256 MB, and a solver holds a handful of such arrays.
_SCORE_NUMBERS = 1 << 25
# Beyond these one dense product serves all queries, and is exact.
FEW_QUERIES, FEW_HITS = 16, 1000


@dataclass(frozen=True, eq=False)
class Online:
    """What the online stage reads.

    vectors: (m, d) unit rows, the first n the vertices of the graph. pooling: Σ from all vectors to items, None where
    every vector is an item. extension: ψ of the vectors after the first n. first, second: approximate searches over the
    vertices and over each part of Ū; None for exact ones.
    """

    vectors: Any
    items: Items
    graph: Graph
    system: System
    gamma: float
    pooling: Sparse | None
    extension: Sparse | None
    first: Ann | None
    second: tuple[Ann | None, ...] | None

    @property
    def n_vertices(self) -> int:
        """Vertices of the graph."""
        return int(self.system.normalized.shape[0])

    @cached_property
    def row_norms(self) -> Array:
        """η of every vector; of an added one the mean of its neighbours', weighted by ψ. (m,)"""
        basis = self.system.require_spectrum("blend")
        if self.extension is None:
            return basis.row_norms
        total = np.asarray(self.extension.sum(axis=1)).ravel()
        mean = np.divide(self.extension @ basis.row_norms, total, out=np.zeros_like(total), where=total > 0)
        return np.concatenate([basis.row_norms, mean]).astype(np.float32)


def first_search(online: Online, regions: NDArray[np.float32], count: int) -> Neighbors:
    """The vertices nearest to each region. (m, d) -> lists (m, count)"""
    count = min(count, online.n_vertices)
    if online.first is not None:
        return online.first.search(regions, count)
    vectors, n = online.vectors, online.n_vertices
    if isinstance(vectors, Quantized) and len(vectors) == n:
        return Ann(vectors.index, vectors.kind, 0, 1.0, count).search(regions, count)
    if isinstance(vectors, Compact):  # decoded tile by tile; one query is scanned as it is
        if len(regions) > 1:
            return nearest(regions, vectors.head(n), k=count)
        ids, products = top_k(vectors.head(n).products(np.ascontiguousarray(regions[0]))[None, :], count)
        return Neighbors(ids, np.asarray(products, dtype=np.float32))
    return nearest(regions, vectors[:n], k=count)


def observe(
    online: Online, queries: Queries, found: Neighbors, *, neighbors: int, cut: int | None, region_sum: str
) -> Sparse:
    """Lists of the query vectors to y, CSR (queries, n)."""
    return observation.observe(
        Neighbors(found.ids[:, :neighbors], found.similarities[:, :neighbors]),
        queries.query_of,
        n_vertices=online.n_vertices,
        gamma=online.gamma,
        weights=queries.weights,
        cut=cut,
        region_sum=region_sum,
    )


def search(
    online: Online,
    queries: Queries,
    k: int,
    *,
    filter: Filter,
    neighbors: int,
    cut: int | None,
    region_sum: str,
    solver: Solver | Euclidean,
    blend: Blend | Lean | None,
    allowed: NDArray[np.int64] | None,
) -> Hits:
    """Both searches and what lies between. Parameters as for `Index.search`, checked."""
    summed = queries.summed()
    if isinstance(solver, Euclidean):
        asked = Asked(summed, None, None)
        return rank_all(online, asked, k, filter=filter, solver=solver, blend=None, allowed=allowed)
    found = first_search(online, queries.regions, max(neighbors, ASKED))
    observed = observe(online, queries, found, neighbors=neighbors, cut=cut, region_sum=region_sum)
    _warn_of_blind_queries(observed)
    trust = confidence(found, queries.query_of, queries.weights, observed, online.graph)
    asked = Asked(summed, observed, trust)
    hits = None
    few = len(queries) <= FEW_QUERIES and k <= FEW_HITS and allowed is None
    if few and has_candidates(online, solver, blend):
        hits = rank_few(online, asked, k, filter=filter, solver=solver, blend=blend)
    if hits is None:
        hits = rank_all(online, asked, k, filter=filter, solver=solver, blend=blend, allowed=allowed)
    return replace(hits, confidence=trust)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is known of the queries before the second search.

    summed: (q, d) sum of their vectors. observed: y, CSR (q, n). trust: (q,) confidence. None for Euclidean search.
    """

    summed: Array
    observed: Sparse | None
    trust: Array | None


def rank_few(
    online: Online, asked: Asked, k: int, *, filter: Filter, solver: Any, blend: Blend | Lean | None
) -> Hits | None:
    """One query after the other, from candidates: nothing that grows with n is read. None where they are too few."""
    y, trust = asked.observed, asked.trust
    assert y is not None
    assert trust is not None
    found = []
    for q, query in enumerate(asked.summed):
        own = slice(y.indptr[q], y.indptr[q + 1])
        weight = float(lean_weights(blend, trust[q : q + 1])[0]) if isinstance(blend, Lean) else 0.0
        near = _nearest_items(online, query, 2 * k) if weight > 0 or isinstance(blend, Blend) else None
        places, scores = _candidates(online, y.indices[own], y.data[own], k, filter, solver, near)
        if not _enough(scores, min(k, len(online.items)), stored=isinstance(solver, Precomputed)):
            return None
        if isinstance(blend, Lean):
            similar = None
            if weight > 0:
                similar = candidate_similarities(query, online.vectors, *_vectors_of(online, places))[None, :]
            scores = lean_scores(scores[None, :], similar, np.array([weight]))[0]
        elif blend is not None:
            norms = None if blend.everywhere else online.row_norms
            rows, pooling = _vectors_of(online, places)
            scores = blend_candidates(scores, query, online.vectors, rows, pooling, norms, blend=blend, filter=filter)
        found.append(best(places, scores, k))
    ids, scores = (np.stack(parts) for parts in zip(*found, strict=True))
    return Hits(online.items.ids[ids], scores)


def _enough(scores: Array, k: int, *, stored: bool) -> bool:
    """Whether the k best candidates are the k best items: those that are none score 0, more than one pushed below.

    stored: scores of stored rows, where 0 is also what lies beyond a row's last entry.
    """
    if len(scores) < k:
        return False
    last = np.partition(scores, len(scores) - k)[len(scores) - k]
    return bool(last > 0 if stored else last >= 0)


def has_candidates(online: Online, solver: Solver | Euclidean, blend: Blend | Lean | None) -> bool:
    """Whether this search can go through candidates."""
    if isinstance(solver, Precomputed):
        return blend is None
    return online.second is not None and isinstance(solver, Spectral)


def rank_all(
    online: Online,
    asked: Asked,
    k: int,
    *,
    filter: Filter,
    solver: Solver | Euclidean,
    blend: Blend | Lean | None,
    allowed: NDArray[np.int64] | None,
) -> Hits:
    """Scores of all items for all queries, in batches of bounded memory, and the best of them."""
    answers: list[Hits] = []
    step = max(1, _SCORE_NUMBERS // max(online.n_vertices, len(online.items)))
    for start in range(0, len(asked.summed), step):
        rows = slice(start, start + step)
        summed = asked.summed[rows]
        if asked.observed is None or isinstance(solver, Euclidean):
            solution = Solution(euclidean_scores(summed, online.vectors, online.pooling))
        else:
            solution = solver(online.system, sp.csr_array(asked.observed[rows]), filter)
            if isinstance(blend, Lean):
                assert asked.trust is not None
                weights = lean_weights(blend, asked.trust[rows])
                similar = euclidean_scores(summed, online.vectors, online.pooling) if weights.any() else None
                solution = replace(solution, scores=lean_scores(solution.scores, similar, weights))
            elif blend is not None:
                norms = None if blend.everywhere else online.row_norms
                mixed = blend_scores(
                    solution.scores, summed, online.vectors, online.pooling, norms, blend=blend, filter=filter
                )
                solution = replace(solution, scores=mixed)
        places, scores = best_of(solution.scores, k, allowed)
        answers.append(Hits(online.items.ids[places], scores, solution.errors, solution.steps))
    return _join_hits(answers)


def _candidates(
    online: Online, vertices: Array, y: Array, k: int, filter: Filter, solver: Any, more: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], Array]:
    """Items that may be among the k best, ascending, and their scores. more: items that are candidates in any case."""
    if isinstance(solver, Precomputed):
        return summed_rows(require_rows(online.system, filter), vertices, y)
    second: Any = online.second
    return candidate_scores(online.system, second, vertices, y, filter, solver, count=max(2 * k, 100), more=more)


def _nearest_items(online: Online, query: Array, count: int) -> NDArray[np.int64]:
    """About the items nearest to a query, by its first search. (d,) -> ascending"""
    found = first_search(online, normalize(query[None, :]), count).ids[0]
    found = found[found >= 0]
    return np.unique(found if online.items.item_of is None else online.items.item_of[found])


def _vectors_of(online: Online, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], Sparse | None]:
    """The vectors of some items, and Σ from these to the items; None where they are the same."""
    if online.pooling is None:
        return places, None
    pooling = sp.csr_array(online.pooling[places])
    rows = np.unique(pooling.indices)
    return rows, sp.csr_array(pooling[:, rows])


def _warn_of_blind_queries(observed: Sparse) -> None:
    blind = np.flatnonzero(np.diff(observed.indptr) == 0)
    if blind.size:
        warnings.warn(
            f"{blind.size} of {observed.shape[0]} queries (the first is {blind[0]}) have no positive similarity to any "
            "vector, or examples that cancel: their scores are all 0 and their hits in no order; "
            "use solver=Euclidean() for them",
            DataWarning,
            stacklevel=4,
        )


def _join_hits(parts: list[Hits]) -> Hits:
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: None if getattr(parts[0], name) is None else np.concatenate([getattr(p, name) for p in parts])
        for name in ("ids", "scores", "errors", "steps")
    }
    return Hits(**columns)  # type: ignore[arg-type]
