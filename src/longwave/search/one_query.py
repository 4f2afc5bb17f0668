"""Queries of one vector on the default plan, one by one: the usual searches, in a few compiled calls each.

The same first search, y, walk, blend and confidence as `scoring` has for any number of queries, of any kind; what is
not usual goes there. One query takes the calling thread alone, and others search beside it. Many are answered by as
many threads as there are cores: one product with all of the basis takes longer than their walks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.graph.weights import Local
from longwave.rows.encoded import Compact, plain, stored_rows
from longwave.search.blending import LAST, Anchor, Blending, candidate_count, near_count
from longwave.search.euclidean import Euclidean
from longwave.search.euclidean_view import SAME
from longwave.search.first import SPREAD, joined, lists_needed, nearest_outside, nearest_vertices
from longwave.search.queries import Queries
from longwave.search.snapshot import Snapshot
from longwave.search.trust import ASKED, chance
from longwave.search.wanted import Wanted
from longwave.solvers import BestFirst, Solver
from longwave.solvers.graph_walk import ALL, ground_of, limits, plain_csr, walk
from longwave.solvers.spectral import Spectral
from longwave.stores.approximate import Approximate
from longwave.stores.memory import Memory
from longwave.threads import cores, run, turn
from longwave.types import Array, Filter, Hits, Neighbors

# Ids, scores and confidence.
_Ranked: TypeAlias = tuple[Array, Array, NDArray[np.float32]]
_NO_TARGETS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
_NO_NUMBERS: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
# Times the candidates: where fewer are allowed, all of them will be scored, and a walk does not go far to find them.
_ALL_SCORED = 4
# Queries that are worth threads.
_MANY = 8
_SPECTRAL = {complement: Spectral(complement) for complement in (True, False)}


@dataclass(frozen=True, eq=False)
class _Read:
    """What the loops read of a snapshot: plain arrays.

    outside: targets outside of the graph (`query_loops.second_search`), or None. rows: the vectors of the graph, and
    their scales. scales: σ of the vertices, then of what is outside of the graph.
    """

    outside: tuple[Any, Any, Any, Array] | None
    rows: tuple[Array, ...]
    scales: Array
    reach: Array
    labels: Array
    sizes: Array


def _read(snapshot: Snapshot) -> _Read | None:
    """Made once; None where a snapshot is not usual: every vector an item, the kernel `Local`."""
    kept = snapshot.system.kept
    if "one query" not in kept:
        kept["one query"] = _read_of(snapshot)
    found: _Read | None = kept["one query"]
    return found


def _read_of(snapshot: Snapshot) -> _Read | None:
    held, graph = snapshot.vertices, snapshot.graph
    held = held.over if isinstance(held, Approximate) else held
    if not (isinstance(held, Memory) and isinstance(held.values, np.ndarray | Compact)) or graph.scales is None:
        return None
    if snapshot.pooling is not None or (snapshot.added is not None and not snapshot.settings.balanced):
        return None
    if type(snapshot.similarity) is not Local or not BestFirst().serves(snapshot.system):
        return None
    scales, outside = graph.scales, None
    if snapshot.added is not None:
        scales, ground = np.concatenate([scales, snapshot.added_scales]), ground_of(snapshot.system)
        attached, total = ground.attached
        if total.max() > 1 + 1e-3:  # ψ as printed (`extend(normalized=False)`): its scores may be above all others
            return None
        outside = (plain_csr(snapshot.observing), attached, plain_csr(ground.shares), total)
    rows = tuple(plain(array) for array in stored_rows(held.values))
    arrays = (plain(array) for array in (scales, graph.reach, graph.labels, graph.component_sizes))
    return _Read(outside, rows, *arrays)


class _Candidates(NamedTuple):
    """targets, scores: (c,). peak: the largest score of all that was reached. known: what trust is made of.

    gave_up: whether there are others, farther than the walk went.
    """

    targets: NDArray[np.int64]
    scores: NDArray[np.float32]
    peak: float
    known: tuple[float, float, float]
    gave_up: bool


def serves(snapshot: Snapshot, queries: Queries, solver: Solver | Euclidean, blend: Blending | None) -> bool:
    """Whether this way is open."""
    single = len(queries.regions) == 1 or np.array_equal(queries.query_of, np.arange(len(queries.regions)))
    single = single and bool((queries.weights == 1).all())
    return single and type(solver) is BestFirst and type(blend) is Anchor and _read(snapshot) is not None


def answers(snapshot: Snapshot, queries: Queries, wanted: Wanted, **options: Any) -> list[Hits | None]:
    """Hits of every query, (1, k) each; None where one has to go the general way. options: of `_Question`."""
    regions, asked = queries.regions, _Question(snapshot, wanted, **options)
    if len(regions) < _MANY:
        return [asked.answer(regions[q : q + 1]) for q in range(len(regions))]
    found: list[Hits | None] = [None] * len(regions)

    def work(query: int) -> None:
        found[query] = asked.answer(regions[query : query + 1])

    with ThreadPoolExecutor(cores()) as pool:
        run(pool, work, range(len(regions)))
    return found


@dataclass(eq=False)
class _Question:
    """What is asked of every query; parameters as for `scoring.search`."""

    snapshot: Snapshot
    wanted: Wanted
    filter: Filter
    neighbors: int
    solver: BestFirst
    blend: Anchor

    def __post_init__(self) -> None:
        if self.wanted.mask is not None and self.wanted.few:
            self.wanted.targets  # noqa: B018  # made here, once, and not by every thread

    def answer(self, region: NDArray[np.float32]) -> Hits | None:
        """Hits of one query, (1, k); None where it has to go the general way. region: (1, d)"""
        with turn():
            began = perf_counter()
            lists = self._first(region)
            second = perf_counter()
            if lists[0].ids[0, -1] < 0:
                return None
            ranked = self._second(region[0], *lists)
            seconds = second - began, perf_counter() - second
        if ranked is None:
            return None
        ids, scores, trust = ranked
        return Hits(ids, scores, confidence=trust, route="sublinear", seconds=seconds)

    def _first(self, region: NDArray[np.float32]) -> tuple[Neighbors, Neighbors]:
        """The nearest vertices, and the nearest of all: the same where nothing is outside of the graph."""
        snapshot = self.snapshot
        count = max(lists_needed(snapshot, self.neighbors), near_count(self.blend, self.wanted.count))
        found = nearest_vertices(snapshot, region, count)
        outside = nearest_outside(snapshot, region, count)
        return found, found if outside is None else joined(found, outside, snapshot.n_vertices)

    def _second(self, query: NDArray[np.float32], found: Neighbors, near: Neighbors) -> _Ranked | None:
        """From the lists of a query to its hits."""
        candidates = self._candidates(found, near, fallback=self.wanted.few)
        if candidates is None:
            return None
        hits = self._rank(query, near, candidates)
        if self.wanted.allowed is not None and not self.wanted.few and (hits is None or candidates.gave_up):
            candidates = self._candidates(found, near, fallback=True)
            hits = None if candidates is None else self._rank(query, near, candidates)
        return hits

    def _candidates(self, found: Neighbors, near: Neighbors, *, fallback: bool) -> _Candidates | None:
        """Targets that may be hits, those outside of the graph last; None where nothing is observed.

        fallback: all that are allowed, if need be.
        """
        from longwave.rows import query_loops

        wanted, solver, kernel, read = self.wanted, self.solver, self.snapshot.similarity, _read(self.snapshot)
        assert isinstance(kernel, Local)
        assert read is not None
        ground, own = ground_of(self.snapshot.system), _SPECTRAL[solver.complement]
        count, mask = candidate_count(self.blend, wanted.count), ALL if wanted.mask is None else wanted.mask
        every = wanted.targets if fallback and wanted.targets is not None else _NO_TARGETS
        share = 1.0 if 0 < len(every) < _ALL_SCORED * count else wanted.share
        # Numbers of one kind, whatever the user gave: the loops would be compiled again for each other kind.
        observing = int(self.neighbors), kernel.neighbor, float(kernel.query_steepness), float(kernel.exponent)
        lists = found.ids[0], found.similarities[0], near.ids[0], near.similarities[0]
        trusting = ASKED, read.reach, read.labels, read.sizes
        part = int(ground.part_of[found.ids[0, 0]])
        if 0 <= part < ground.n_dense:
            gains, at_zero = ground.gains(self.filter, own)
            gains, scratch = gains[ground.columns[part]], ground.borrow()
            try:
                targets, scores, peak, known, ended = query_loops.second_search(
                    *lists,
                    observing,
                    read.scales,
                    ground.part_of,
                    part,
                    ground.graph,
                    ground.rows[part],
                    limits(ground, at_zero if solver.complement else 0.0, self.filter, count, solver, share),
                    gains,
                    ground.balance,
                    mask,
                    every,
                    wanted.count,
                    read.outside,
                    np.zeros(len(gains), dtype=np.float32),
                    scratch.stamps,
                    scratch.next_walk(),
                    trusting,
                )
            finally:
                ground.give_back(scratch)
            if ended != query_loops.SEVERAL_PARTS:
                return _Candidates(targets, scores, peak, known, ended == query_loops.GAVE_UP)
        vertices, y = query_loops.observed(*lists[2:], observing, read.scales, ground.n, read.outside)
        if not len(vertices):
            return None
        known = query_loops.trust_features(*lists[:2], ASKED, vertices, y, *trusting[1:])
        more = np.union1d(lists[2][lists[2] >= 0], every)
        options: dict[str, Any] = {"allowed": None if mask is ALL else mask, "share": share, "walking": solver}
        walked = walk(ground, vertices, y, self.filter, own, count=count, more=more, **options)
        return _Candidates(walked.targets, walked.scores, walked.peak, known, gave_up=False)

    def _rank(self, query: NDArray[np.float32], near: Neighbors, candidates: _Candidates) -> _Ranked | None:
        """The best candidates; None where they are too few."""
        from longwave.rows import query_loops

        items, wanted, blend, read = self.snapshot.items, self.wanted, self.blend, _read(self.snapshot)
        assert read is not None
        targets, n, beyond = candidates.targets, self.snapshot.n_vertices, _NO_NUMBERS
        if (len(targets) if wanted.allowed is not None else items.count_in(targets)) < wanted.count:
            return None
        if self.snapshot.added is not None:
            beyond = self.snapshot.added.vectors.rows(targets[targets >= n] - n) @ query
        ids, products = near.ids[0], near.similarities[0]
        best, mixed = query_loops.anchored(
            *read.rows,
            beyond,
            query,
            targets,
            candidates.scores,
            candidates.peak,
            ids,
            products,
            1 - SAME * len(query) ** 0.5,
            float(products[min(SPREAD, len(products)) - 1]),
            float(blend.weight),
            float(blend.steepness),
            float(blend.root),
            LAST,
        )
        count = wanted.count if items.live is None and wanted.allowed is None else len(best)
        places, values = items.expand(best[None, :count], mixed[None, :count], wanted.count, wanted.allowed)
        return items.ids[places], values, np.array([chance(candidates.known)], dtype=np.float32)
