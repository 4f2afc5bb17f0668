"""The online stage: query vectors to y (the first search), y to the best items (the second search).

Both searches are separable from the maths between them: `first_search` gives lists, `second_search` takes waves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave import observation
from longwave.ann import Ann
from longwave.candidates import best, blend_candidates, candidate_scores
from longwave.compact import Quantized
from longwave.items import Items
from longwave.neighbors import nearest
from longwave.observation import Queries
from longwave.ranking import Blend, Euclidean, best_of, blend_scores, euclidean_scores
from longwave.solvers import Precomputed, Solver, Spectral, System
from longwave.solvers.precomputed import require_rows
from longwave.types import Array, Filter, Hits, Neighbors, Solution, Sparse

# Scores held at a time: 2^25 float64 are 256 MB, and a solver holds a handful of such arrays.
_SCORE_NUMBERS = 1 << 25
# Beyond these one dense product serves all queries, and is exact.
FEW_QUERIES, FEW_HITS = 16, 1000


@dataclass(frozen=True, eq=False)
class Online:
    """What the online stage reads.

    vectors: (m, d) unit rows, the first n the vertices of the graph. pooling: Σ from all vectors to items, None where
    every vector is an item. extension: ψ of the vectors after the first n. first, second: approximate searches over the
    vertices and over Ū; None for exact ones.
    """

    vectors: Any
    items: Items
    system: System
    gamma: float
    pooling: Sparse | None
    extension: Sparse | None
    first: Ann | None
    second: Ann | None

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
    if isinstance(online.vectors, Quantized) and len(online.vectors) == online.n_vertices:
        return Ann(online.vectors.index, online.vectors.kind, 0, 1.0).search(regions, count)
    return nearest(regions, online.vectors[: online.n_vertices], k=count)


def observe(online: Online, queries: Queries, *, neighbors: int, cut: int | None, region_sum: str) -> Sparse:
    """Query vectors to y, CSR (queries, n)."""
    return observation.observe(
        first_search(online, queries.regions, neighbors),
        queries.query_of,
        n_vertices=online.n_vertices,
        gamma=online.gamma,
        weights=queries.weights,
        cut=cut,
        region_sum=region_sum,
    )


def rank_few(
    online: Online, observed: Sparse, summed: Array, k: int, *, filter: Filter, solver: Any, blend: Blend | None
) -> Hits | None:
    """One query after the other, from candidates: nothing that grows with n is read. None where they are too few."""
    found = []
    for q in range(observed.shape[0]):
        own = slice(observed.indptr[q], observed.indptr[q + 1])
        y = observed.indices[own], observed.data[own]
        places, scores = _candidates(online, *y, k, filter, solver)
        if blend is not None:
            scores = _blend_few(online, places, scores, summed[q], blend, filter)
        found.append(best(places, scores, k))
    if any(len(places) < min(k, len(online.items)) for places, _ in found):
        return None
    # Items that no stored row reaches score 0, more than one that was pushed below.
    if isinstance(solver, Precomputed) and any(scores[-1] <= 0 for _, scores in found):
        return None
    ids, scores = (np.stack(parts) for parts in zip(*found, strict=True))
    return Hits(online.items.ids[ids], scores)


def has_candidates(online: Online, solver: Solver | Euclidean, blend: Blend | None) -> bool:
    """Whether this search can go through candidates."""
    if isinstance(solver, Precomputed):
        return blend is None
    return online.second is not None and isinstance(solver, Spectral)


def rank_all(
    online: Online,
    observed: Sparse | None,
    summed: Array,
    k: int,
    *,
    filter: Filter,
    solver: Solver | Euclidean,
    blend: Blend | None,
    allowed: NDArray[np.int64] | None,
) -> Hits:
    """Scores of all items for all queries, in batches of bounded memory, and the best of them."""
    answers: list[Hits] = []
    step = max(1, _SCORE_NUMBERS // max(online.n_vertices, len(online.items)))
    for start in range(0, len(summed), step):
        rows = slice(start, start + step)
        if observed is None or isinstance(solver, Euclidean):
            solution = Solution(euclidean_scores(summed[rows], online.vectors, online.pooling))
        else:
            solution = solver(online.system, sp.csr_array(observed[rows]), filter)
            if blend is not None:
                norms = None if blend.everywhere else online.row_norms
                mixed = blend_scores(
                    solution.scores, summed[rows], online.vectors, online.pooling, norms, blend=blend, filter=filter
                )
                solution = replace(solution, scores=mixed)
        places, scores = best_of(solution.scores, k, allowed)
        answers.append(Hits(online.items.ids[places], scores, solution.errors, solution.steps))
    return _join_hits(answers)


def _candidates(
    online: Online, vertices: Array, y: Array, k: int, filter: Filter, solver: Any
) -> tuple[NDArray[np.int64], Array]:
    """Items that may be among the k best, ascending, and their scores."""
    if isinstance(solver, Precomputed):
        rows = require_rows(online.system, filter)
        spans = [slice(rows.indptr[v], rows.indptr[v + 1]) for v in vertices]
        reached = np.concatenate([rows.indices[span] for span in spans] or [np.zeros(0, dtype=np.int32)])
        values = np.concatenate([w * rows.data[span] for w, span in zip(y, spans, strict=True)] or [np.zeros(0)])
        places, where = np.unique(reached, return_inverse=True)
        return places.astype(np.int64), np.bincount(where, weights=values, minlength=len(places)).astype(np.float32)
    second: Any = online.second
    return candidate_scores(online.system, second, vertices, y, filter, solver, count=max(2 * k, 100))


def _blend_few(
    online: Online, places: NDArray[np.int64], scores: Array, query: Array, blend: Blend, filter: Filter
) -> Array:
    rows, pooling = places, None
    if online.pooling is not None:
        pooling = sp.csr_array(online.pooling[places])
        rows = np.unique(pooling.indices)
        pooling = sp.csr_array(pooling[:, rows])
    norms = None if blend.everywhere else online.row_norms
    return blend_candidates(scores, query, online.vectors, rows, pooling, norms, blend=blend, filter=filter)


def _join_hits(parts: list[Hits]) -> Hits:
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: None if getattr(parts[0], name) is None else np.concatenate([getattr(p, name) for p in parts])
        for name in ("ids", "scores", "errors", "steps")
    }
    return Hits(**columns)  # type: ignore[arg-type]
