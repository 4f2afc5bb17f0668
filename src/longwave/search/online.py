"""The online stage: query vectors to y (the first search), y to the best items (the second search).

Both searches are separable from the maths between them: `first_search` gives lists, the second search takes waves.
What is ranked are targets: the stored vectors, or the items where these have groups of vectors. Copies of a vector are
one target and become items again at the very end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import DataWarning
from longwave.graph.lists import nearest
from longwave.graph.mutual import Graph
from longwave.graph.weights import Kernel, scale_neighbor
from longwave.items.items import Items
from longwave.items.pooling import POOLINGS
from longwave.rows import encoded as compact
from longwave.rows.encoded import Compact, Quantized
from longwave.rows.vectors import normalize, top_k
from longwave.search import observation
from longwave.search.blending import Blending
from longwave.search.candidates import candidate_scores
from longwave.search.observation import Queries
from longwave.search.ranking import Euclidean, best_of, best_with_ties, euclidean_scores
from longwave.search.trust import ASKED, confidence
from longwave.solvers import Precomputed, Solver, Spectral, System
from longwave.solvers.precomputed import require_rows, summed_rows
from longwave.stores.faiss import Ann
from longwave.types import Array, Filter, Hits, Neighbors, Solution, Sparse

# Scores held at a time: 2^25 float64 are 256 MB, and a solver holds a handful of such arrays.
_SCORE_NUMBERS = 1 << 25
# Beyond these one dense product serves all queries, and is exact.
FEW_QUERIES, FEW_HITS = 16, 1000
# The neighbour whose similarity is the spread of a query (`blending.Anchor`).
_SPREAD = 7
# Products of two equal unit vectors are 1 but for the rounding of float32, which grows with the root of the dimension.
_SAME = 4e-7


@dataclass(frozen=True, eq=False)
class Online:
    """What the online stage reads.

    vectors: (m, d) unit rows, the first n the vertices of the graph. kernel: weighs the query's neighbours. pooling: Σ
    from all vectors to items, None where every vector is a target; pooled_by: how it was made. extension: ψ of the
    vectors after the first n. first, second: approximate searches over the vertices and over each part of Ū; None for
    exact ones.
    """

    vectors: Any
    items: Items
    graph: Graph
    system: System
    kernel: Kernel
    pooling: Sparse | None
    pooled_by: str
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
        basis, added = self.system.require_spectrum("blend"), self.extension
        if added is None:
            return basis.row_norms
        total = np.asarray(added.sum(axis=1)).ravel()
        mean = np.divide(added @ basis.row_norms, total, out=np.zeros_like(total), where=total > 0)
        return np.concatenate([basis.row_norms, mean]).astype(np.float32)


def first_search(online: Online, regions: NDArray[np.float32], count: int) -> Neighbors:
    """The vertices nearest to each region. (m, d) -> lists (m, count)"""
    count = min(count, online.n_vertices)
    if online.first is not None:
        return online.first.search(regions, count)
    vectors, n = online.vectors, online.n_vertices
    if isinstance(vectors, Quantized) and len(vectors) == n:
        return Ann(vectors.index, vectors.kind, 0, 1.0, count).search(regions, count)
    if isinstance(vectors, Compact | Quantized) and len(regions) == 1:  # one query is scanned as it is
        products = vectors.products(np.ascontiguousarray(regions[0]))[None, :n]
        ids, best = top_k(products, count)
        return Neighbors(ids, np.asarray(best, dtype=np.float32))
    # Rows in fewer bytes are decoded tile by tile.
    return nearest(regions, vectors.head(n) if isinstance(vectors, Compact) else vectors[:n], k=count)


def lists_needed(online: Online, neighbors: int) -> int:
    """How many neighbours of a query are looked up: those of y, of the confidence and of the scale."""
    return max(neighbors, ASKED, _SPREAD, scale_neighbor(online.kernel) or 1)


def observe(
    online: Online, queries: Queries, found: Neighbors, *, neighbors: int, cut: int | None, region_sum: str
) -> Sparse:
    """Lists of the query vectors to y, CSR (queries, n)."""
    return observation.observe(
        found,
        queries.query_of,
        count=neighbors,
        n_vertices=online.n_vertices,
        kernel=online.kernel,
        scales=online.graph.scales,
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
    blend: Blending | None,
    allowed: NDArray[np.int64] | None,
) -> Hits:
    """Both searches and what lies between. Parameters as for `Index.search`, checked. allowed: items, ascending."""
    count = min(k, len(online.items) if allowed is None else len(allowed))
    wanted = Wanted(count, allowed, None if allowed is None else np.unique(online.items.target_of(allowed)))
    if isinstance(solver, Euclidean):
        return _join_hits([_euclidean(online, part.summed(), wanted) for part in _batches(online, queries)])
    few = len(queries) <= FEW_QUERIES and k <= FEW_HITS and allowed is None
    few = few and (isinstance(solver, Precomputed) or (online.second is not None and isinstance(solver, Spectral)))
    answers = []
    count = lists_needed(online, neighbors)
    if few and blend is not None:
        count = max(count, _near_count(wanted.count))
    for part in _batches(online, queries):
        found, products = _look(online, part, count, few)
        observed = observe(online, part, found, neighbors=neighbors, cut=cut, region_sum=region_sum)
        asked = Asked(part, found, observed, products)
        hits = None
        if few:
            hits = _rank_few(online, asked, wanted, filter=filter, solver=solver, blend=blend)
        if hits is None:
            hits = _rank_all(online, asked, wanted, filter=filter, solver=solver, blend=blend)
        trust = confidence(found, part.query_of, part.weights, observed, online.graph)
        answers.append((replace(hits, confidence=trust), np.diff(observed.indptr) == 0))
    _warn_of_blind_queries(np.concatenate([blind for _, blind in answers]), ranked=blend is not None)
    return _join_hits([hits for hits, _ in answers])


@dataclass(frozen=True, eq=False)
class Wanted:
    """How many items, and which of them: all, or those allowed, as items and as targets (ascending)."""

    count: int
    allowed: NDArray[np.int64] | None
    targets: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Asked:
    """What is known of some queries before the second search.

    found: the nearest vertices of each of their vectors. observed: y, CSR (q, n). products: of each of their vectors
    with all stored vectors, where the first search has computed them, (m, rows).
    """

    queries: Queries
    found: Neighbors
    observed: Sparse
    products: Array | None

    @cached_property
    def summed(self) -> NDArray[np.float32]:
        """The sum of the vectors of each query. (q, d)"""
        return self.queries.summed()

    def similarities(self, online: Online) -> Array:
        """Pooled Euclidean similarity of all targets. (q, targets)"""
        if self.products is None:
            return euclidean_scores(self.summed, online.vectors, online.pooling)
        if len(self.queries) == len(self.queries.query_of):
            summed = self.products * self.queries.weights[:, None]
        else:
            summed = np.zeros((len(self.queries), self.products.shape[1]), dtype=np.float32)
            np.add.at(summed, self.queries.query_of, self.products * self.queries.weights[:, None])
        return summed if online.pooling is None else np.asarray(summed @ online.pooling.T)

    def identical(self, online: Online) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Queries, and targets that have every one of their vectors. (t,), (t,)"""
        same = 1 - _SAME * np.sqrt(self.queries.regions.shape[1])
        added = self._added_products(online)
        best = self.found.similarities[:, 0]
        best = best if added is None else np.maximum(best, added.max(axis=1))
        whole = np.ones(len(self.queries), dtype=bool)
        np.logical_and.at(whole, self.queries.query_of, (best >= same) & (self.queries.weights > 0))
        pairs: list[tuple[int, int]] = []
        for query in np.flatnonzero(whole):
            common: set[int] | None = None
            for region in np.flatnonzero(self.queries.query_of == query):
                rows = self.found.ids[region][self.found.similarities[region] >= same]
                if added is not None:
                    rows = np.concatenate([rows, online.n_vertices + np.flatnonzero(added[region] >= same)])
                targets = rows if online.pooling is None else online.items.items_of(rows)
                common = set(targets.tolist()) if common is None else common & set(targets.tolist())
            pairs += [(int(query), target) for target in sorted(common or ())]
        return np.array([q for q, _ in pairs], dtype=np.int64), np.array([t for _, t in pairs], dtype=np.int64)

    def _added_products(self, online: Online) -> Array | None:
        """Products with the vectors outside of the graph; None where there are none. (m, a)"""
        n = online.n_vertices
        if len(online.vectors) == n:
            return None
        if self.products is not None:
            return self.products[:, n:]
        return compact.products(self.queries.regions, online.vectors[n:])


@dataclass(frozen=True, eq=False)
class Seen:
    """Some targets as Euclidean search sees them (`blending.Compared`). weighted: similarities of (1 − η) v."""

    similarities: Array
    weighted: Callable[[], Array]
    own: Array
    seventh: Array
    identical: tuple[Array, Array]
    signed: Array

    def unrepresented(self) -> Array:
        """Similarities with every vector weighted by 1 − η. (q, c)"""
        return self.weighted()


def _batches(online: Online, queries: Queries) -> list[Queries]:
    """Queries cut so that scores of all targets, and products with all vectors, fit the memory meant for them."""
    largest = int(np.bincount(queries.query_of).max())
    rows = max(online.n_vertices, len(online.items), largest * len(online.vectors))
    step = max(1, _SCORE_NUMBERS // rows)
    if step >= len(queries):
        return [queries]
    return [queries.some(start, min(start + step, len(queries))) for start in range(0, len(queries), step)]


def _look(online: Online, queries: Queries, count: int, few: bool) -> tuple[Neighbors, Array | None]:
    """The first search; where it is exact and all items are scored anyway, its products are kept for the blend."""
    if few or online.first is not None or not isinstance(online.vectors, np.ndarray):
        return first_search(online, queries.regions, count), None
    products = compact.products(queries.regions, online.vectors)  # (m, rows)
    n = online.n_vertices
    ids, best = top_k(products if products.shape[1] == n else np.ascontiguousarray(products[:, :n]), count)
    return Neighbors(ids, np.asarray(best, dtype=np.float32)), products


def _euclidean(online: Online, summed: Array, wanted: Wanted) -> Hits:
    scores = euclidean_scores(summed, online.vectors, online.pooling)
    return _hits(online, *best_of(scores, wanted.count, wanted.targets), wanted)


def _rank_all(
    online: Online, asked: Asked, wanted: Wanted, *, filter: Filter, solver: Any, blend: Blending | None
) -> Hits:
    """Scores of all targets, and the best of them."""
    solution: Solution = solver(online.system, asked.observed, filter)
    if blend is None:
        places, scores = best_with_ties(
            solution.scores, lambda: asked.similarities(online), wanted.count, wanted.targets
        )
    else:
        similar = asked.similarities(online)

        def weighted() -> Array:
            return euclidean_scores(asked.summed, online.vectors, online.pooling, 1 - online.row_norms)

        seen = _seen(online, asked, similar, weighted, None)
        places, scores = best_of(blend(solution.scores, seen, filter), wanted.count, wanted.targets)
    return replace(_hits(online, places, scores, wanted), errors=solution.errors, steps=solution.steps)


def _rank_few(
    online: Online, asked: Asked, wanted: Wanted, *, filter: Filter, solver: Any, blend: Blending | None
) -> Hits | None:
    """One query after the other, from candidates: nothing that grows with n is read. None where they are too few."""
    y, found = asked.observed, []
    for query in range(len(asked.queries)):
        own = slice(y.indptr[query], y.indptr[query + 1])
        near = None if blend is None else _nearest_targets(online, asked, query, _near_count(wanted.count))
        targets, scores = _candidates(online, y.indices[own], y.data[own], wanted.count, filter, solver, near)
        if blend is None:
            if not _enough(scores, wanted.count, stored=isinstance(solver, Precomputed)):
                return None
        else:
            rows, pooling = _vectors_of(online, targets)
            one = Asked(asked.queries.some(query, query + 1), _list(asked, query), y[[query]], None)
            seen = _seen(
                online,
                one,
                candidate_similarities(one.summed[0], online.vectors, rows, pooling)[None, :],
                lambda one=one, rows=rows, pooling=pooling: candidate_similarities(  # type: ignore[misc]
                    one.summed[0], online.vectors, rows, pooling, 1 - online.row_norms[rows]
                )[None, :],
                targets,
            )
            scores = blend(scores[None, :], seen, filter)[0]
        order = np.argsort(-scores, kind="stable")[: wanted.count]
        ranked = _hits(online, targets[order][None, :], scores[order][None, :], wanted)
        if ranked.ids.shape[1] < wanted.count:
            return None
        found.append(ranked)
    return _join_hits(found)


def _list(asked: Asked, query: int) -> Neighbors:
    rows = asked.queries.query_of == query
    return Neighbors(asked.found.ids[rows], asked.found.similarities[rows])


def candidate_similarities(
    query: Array, vectors: Any, rows: NDArray[np.int64], pooling: Sparse | None, weights: Array | float = 1.0
) -> Array:
    """Euclidean similarity of some targets, by their own vectors alone. query: (d,), regions summed -> (c,)

    rows: (m,) the vectors of these targets; pooling: CSR (c, m) from those to the targets, None where they are the
    same. weights: (m,) of the vectors.
    """
    products = compact.products(query[None, :], vectors[rows])[0] * weights  # (m,), in this thread
    return np.asarray(products if pooling is None else pooling @ products, dtype=np.float32)


def _seen(
    online: Online, asked: Asked, similar: Array, weighted: Callable[[], Array], targets: NDArray[np.int64] | None
) -> Seen:
    """What a blend may ask of all targets, or of some (ascending). similar: (q, c)"""
    queries = asked.queries
    single = len(queries) == len(queries.query_of) and online.pooling is None
    if single and len(online.vectors) == online.n_vertices:
        lists = np.where(np.isfinite(asked.found.similarities[:, :_SPREAD]), asked.found.similarities[:, :_SPREAD], 2.0)
        lists = np.where(lists == 2.0, lists.min(axis=1, keepdims=True), lists)  # empty places: the last there is
        seventh = lists[:, -1] * queries.weights
    else:
        place = min(_SPREAD, similar.shape[1]) - 1
        seventh = -np.partition(-similar, place, axis=1)[:, place]
    where, same = asked.identical(online)
    if targets is not None and len(same):
        known = np.isin(same, targets)
        where, same = where[known], np.searchsorted(targets, same[known])
    signed = np.zeros(len(queries), dtype=bool)
    np.logical_or.at(signed, queries.query_of, queries.weights < 0)
    return Seen(similar, weighted, _own_similarity(online, asked), seventh, (where, same), signed)


def _own_similarity(online: Online, asked: Asked) -> Array:
    """The similarity that an item made of the query's own vectors would have. (q,)"""
    if online.pooling is None:
        return np.asarray(np.linalg.norm(asked.summed, axis=1), dtype=np.float32)
    own = np.empty(len(asked.queries), dtype=np.float32)
    for query, summed in enumerate(asked.summed):
        regions = asked.queries.regions[asked.queries.query_of == query]
        own[query] = POOLINGS[online.pooled_by](regions[None])[0] @ (regions @ summed)
    return own


def _enough(scores: Array, k: int, *, stored: bool) -> bool:
    """Whether the k best candidates are the k best of all: every target that is no candidate scores 0.

    stored: scores of stored rows, where 0 is also what lies beyond a row's last entry.
    """
    if len(scores) < k:
        return False
    last = np.partition(scores, len(scores) - k)[len(scores) - k]
    return bool(last > 0 if stored else last >= 0)


def _candidates(
    online: Online, vertices: Array, y: Array, k: int, filter: Filter, solver: Any, more: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], Array]:
    """Targets that may be among the k best, ascending, and their scores. more: candidates in any case."""
    if isinstance(solver, Precomputed):
        targets, scores = summed_rows(require_rows(online.system, filter), vertices, y)
        if more is None:
            return targets, scores
        joined = np.union1d(targets, more)
        values = np.zeros(len(joined), dtype=np.float32)
        values[np.searchsorted(joined, targets)] = scores
        return joined, values
    second: Any = online.second
    return candidate_scores(online.system, second, vertices, y, filter, solver, count=max(2 * k, 100), more=more)


def _near_count(count: int) -> int:
    """Nearest targets that are candidates of a blend for so many hits."""
    return max(2 * count, 32)


def _nearest_targets(online: Online, asked: Asked, query: int, count: int) -> NDArray[np.int64]:
    """About the targets nearest to a query, by its first search, and all that are outside of the graph. Ascending."""
    regions = asked.queries.query_of == query
    if regions.sum() == 1 and asked.queries.weights[regions][0] > 0:  # its own list tells
        rows = asked.found.ids[regions][0, :count]
    elif asked.summed[query].any():
        rows = first_search(online, normalize(asked.summed[query][None, :]), count).ids[0]
    else:
        return np.zeros(0, dtype=np.int64)
    rows = rows[rows >= 0]
    outside = np.arange(online.n_vertices, len(online.vectors))
    rows = np.unique(np.concatenate([rows, outside]))
    return rows if online.pooling is None else online.items.items_of(rows)


def _vectors_of(online: Online, targets: NDArray[np.int64]) -> tuple[NDArray[np.int64], Sparse | None]:
    """The vectors of some targets, and Σ from these to the targets; None where they are the same."""
    if online.pooling is None:
        return targets, None
    pooling = sp.csr_array(online.pooling[targets])
    rows = np.unique(pooling.indices)
    return rows, sp.csr_array(pooling[:, rows])


def _hits(online: Online, targets: NDArray[np.int64], scores: Array, wanted: Wanted) -> Hits:
    """Targets, best first, as items."""
    places, values = online.items.expand(targets, scores, wanted.count, wanted.allowed)
    return Hits(online.items.ids[places], values)


def _warn_of_blind_queries(blind: Array, *, ranked: bool) -> None:
    where = np.flatnonzero(blind)
    if where.size:
        order = "in the order of Euclidean similarity" if ranked else "and their scores are all 0"
        warnings.warn(
            f"{where.size} of {len(blind)} queries (the first is {where[0]}) have no positive similarity to any "
            f"vector, or examples that cancel: nothing is reached along the manifold; their hits are {order}",
            DataWarning,
            stacklevel=4,
        )


def _join_hits(parts: list[Hits]) -> Hits:
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: None if getattr(parts[0], name) is None else np.concatenate([getattr(p, name) for p in parts])
        for name in ("ids", "scores", "errors", "steps", "confidence")
    }
    return Hits(**columns)  # type: ignore[arg-type]
