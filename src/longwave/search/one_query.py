"""Queries of one vector on the default plan, one by one: the usual searches, in a few compiled calls each.

The same first search, y, walk, blend and confidence as `scoring` has for any number of queries, of any kind; what is
not usual goes there. One query takes the calling thread alone, and others search beside it. Many are answered by as
many threads as there are cores: one product with all of the basis takes longer than their walks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.filters import LowPass
from longwave.graph.weights import Local
from longwave.items.items import Items
from longwave.rows import ahead
from longwave.rows.encoded import Compact, plain, stored_rows
from longwave.rows.vectors import unit_queries
from longwave.search.blending import LAST, Anchor, Blending, candidate_count, near_count
from longwave.search.defaults import blend_of, defaults, way
from longwave.search.euclidean import Euclidean
from longwave.search.euclidean_view import SAME
from longwave.search.first import SPREAD, joined, lists_needed, nearest_live
from longwave.search.queries import Queries
from longwave.search.snapshot import Snapshot
from longwave.search.trust import ASKED, chance
from longwave.search.wanted import Wanted
from longwave.solvers import BestFirst, Solver
from longwave.solvers.graph_walk import ALL, Ground, ground_of, limits, plain_csr, walk
from longwave.solvers.spectral import Spectral
from longwave.stores.approximate import Approximate
from longwave.stores.memory import Memory
from longwave.stores.store import ScannedStore
from longwave.threads import cores, run, turn
from longwave.types import Array, Filter, Hits, Neighbors

# Ids, scores and confidence.
_Ranked: TypeAlias = tuple[Array, Array, NDArray[np.float32]]
# A store, and which of its rows were removed.
_Searched: TypeAlias = tuple[ScannedStore, NDArray[np.bool_] | None]
_NO_TARGETS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
_NO_NUMBERS: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
# Times the candidates: where fewer are allowed, all of them will be scored, and a walk does not go far to find them.
_ALL_SCORED = 4
# Queries that are worth threads.
_MANY = 8
# Questions that an index keeps, by k and solver.
_KEPT_QUESTIONS = 16
_SPECTRAL = {complement: Spectral(complement) for complement in (True, False)}


@dataclass(frozen=True, eq=False)
class _Read:
    """What the loops read of a snapshot: plain arrays.

    outside: targets outside of the graph (`query_loops.second_search`), or None. rows: the vectors of the graph, and
    their scales. scales: σ of the vertices, then of what is outside of the graph. trusting: for `trust_features`.
    """

    outside: tuple[Any, Any, Any, Array] | None
    rows: tuple[Array, ...]
    scales: Array
    trusting: tuple[int, Array, Array, Array]


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
    reach, labels, sizes = (plain(array) for array in (graph.reach, graph.labels, graph.component_sizes))
    return _Read(outside, rows, plain(scales), (ASKED, reach, labels, sizes))


class _Candidates(NamedTuple):
    """targets, scores: (c,). peak: the largest score of all that was reached. known: what trust is made of.

    gave_up: whether there are others, farther than the walk went. blended: whether they are in order, best first, and
    their scores those of the hits.
    """

    targets: NDArray[np.int64]
    scores: NDArray[np.float32]
    peak: float
    known: tuple[float, float, float]
    gave_up: bool
    blended: bool


def serves(snapshot: Snapshot, solver: Solver | Euclidean, blend: Blending | None) -> bool:
    """Whether this way is open, for queries that are `single`."""
    return type(solver) is BestFirst and type(blend) is Anchor and _read(snapshot) is not None


def single(queries: Queries) -> bool:
    """Whether every query is one vector, as it is."""
    alone = len(queries.regions) == 1 or np.array_equal(queries.query_of, np.arange(len(queries.regions)))
    return alone and bool((queries.weights == 1).all())


def answers(question: Question, queries: Queries) -> list[Hits | None]:
    """Hits of every query, (1, k) each; None where one has to go the general way."""
    regions = queries.regions
    if len(regions) < _MANY:
        return [question.answer(regions[q : q + 1]) for q in range(len(regions))]
    found: list[Hits | None] = [None] * len(regions)

    def work(query: int) -> None:
        found[query] = question.answer(regions[query : query + 1])

    with ThreadPoolExecutor(cores()) as pool:
        run(pool, work, range(len(regions)))
    return found


def usual(snapshot: Snapshot, queries: Any, k: Any, solver: Any) -> Hits | None:
    """Hits of one vector where nothing is said but k, and perhaps how far to walk; None for the general way.

    What follows from the question alone is kept: with 100,000 vectors, it was a tenth of the time of a search.
    """
    if type(k) is not int or k < 1 or not (solver is None or type(solver) is BestFirst):
        return None
    if type(queries) is not np.ndarray or queries.size != snapshot.dimension or not snapshot.has_vectors:
        return None
    kept = snapshot.system.kept.setdefault("usual questions", {})
    try:
        question = kept.get((k, solver), kept)
    except TypeError:  # a number of the solver is an array, which has no hash
        return None
    if question is kept:
        if len(kept) >= _KEPT_QUESTIONS:
            kept.clear()
        question = kept[k, solver] = _usual_question(snapshot, k, solver)
    return None if question is None else question.answer(unit_queries(queries, dimension=snapshot.dimension))


def _usual_question(snapshot: Snapshot, k: int, solver: BestFirst | None) -> Question | None:
    filter, neighbors = defaults(snapshot, None, None)
    blend, (plan, used) = blend_of(snapshot, None, solver), way(snapshot, None, None, solver, filter)
    if not plan.is_few(1, k) or not serves(snapshot, used, blend):
        return None
    if not isinstance(filter, LowPass):  # a cut basis may answer it badly, which every search says
        return None
    check_counts(neighbors=neighbors)
    assert isinstance(used, BestFirst)
    assert isinstance(blend, Anchor)
    wanted = Wanted.of(snapshot, k, None)
    return Question.of(snapshot, wanted, filter=filter, neighbors=neighbors, solver=used, blend=blend)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of every query, and what follows from it before one is known.

    It holds parts of the snapshot, never the snapshot itself, so that this can keep it and still be freed at once.

    lists: neighbours that the first search looks up. stores: the vectors of the graph, and those outside of it or None,
    each with a mask of those that were removed, or None. count: of items. candidates: of targets. allowed: items,
    None for all; mask: targets, (0,) for all; share: of all targets; few: whether they are so few that all may be
    scored. observing, mixing: of `query_loops.observe` and `anchored`.
    """

    read: _Read
    ground: Ground
    items: Items
    lists: int
    stores: tuple[_Searched, _Searched | None]
    count: int
    candidates: int
    allowed: NDArray[np.bool_] | None
    mask: NDArray[np.bool_]
    share: float
    few: bool
    filter: Filter
    solver: BestFirst
    observing: tuple[int, int, float, float]
    mixing: tuple[float, int, float, float, float, float]
    _ready: dict[tuple[int, bool], tuple[Any, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, snapshot: Snapshot, wanted: Wanted, *, filter: Filter, neighbors: int, solver: BestFirst, blend: Anchor
    ) -> Question:
        """Parameters as for `scoring.search`, where the way is open (`serves`)."""
        read, kernel, added = _read(snapshot), snapshot.similarity, snapshot.added
        assert read is not None
        assert isinstance(kernel, Local)
        ahead.finish()
        live, same = snapshot.live_added, 1 - SAME * snapshot.dimension**0.5
        # Numbers of one kind, whatever the user gave: the loops would be compiled again for each other kind.
        return cls(
            read=read,
            ground=ground_of(snapshot.system),
            items=snapshot.items,
            lists=max(lists_needed(snapshot, neighbors), near_count(blend, wanted.count)),
            stores=(
                (snapshot.vertices, snapshot.dead_vertices),
                None if added is None else (added.vectors, None if live is None else ~live),
            ),
            count=wanted.count,
            candidates=candidate_count(blend, wanted.count),
            allowed=wanted.allowed,
            mask=ALL if wanted.mask is None else wanted.mask,
            share=wanted.share,
            few=wanted.few,
            filter=filter,
            solver=solver,
            observing=(int(neighbors), kernel.neighbor, float(kernel.query_steepness), float(kernel.exponent)),
            mixing=(same, SPREAD, float(blend.weight), float(blend.steepness), float(blend.root), LAST),
        )

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

    @cached_property
    def every(self) -> NDArray[np.int64]:
        """All targets that are allowed, where there is a condition."""
        return np.flatnonzero(self.mask)

    def _first(self, region: NDArray[np.float32]) -> tuple[Neighbors, Neighbors]:
        """The nearest vertices, and the nearest of all: the same where nothing is outside of the graph."""
        inside, outside = self.stores
        found = nearest_live(inside[0], region, self.lists, inside[1])
        if outside is None:
            return found, found
        return found, joined(found, nearest_live(outside[0], region, self.lists, outside[1]), self.ground.n)

    def _second(self, query: NDArray[np.float32], found: Neighbors, near: Neighbors) -> _Ranked | None:
        """From the lists of a query to its hits."""
        candidates = self._candidates(query, found, near, fallback=self.few)
        if candidates is None:
            return None
        hits = self._rank(query, near, candidates)
        if self.allowed is not None and not self.few and (hits is None or candidates.gave_up):
            candidates = self._candidates(query, found, near, fallback=True)
            hits = None if candidates is None else self._rank(query, near, candidates)
        return hits

    def _candidates(
        self, query: NDArray[np.float32], found: Neighbors, near: Neighbors, *, fallback: bool
    ) -> _Candidates | None:
        """Targets that may be hits, those outside of the graph last if not blended; None where nothing is observed.

        fallback: all that are allowed, if need be.
        """
        from longwave.rows import query_loops

        read, ground = self.read, self.ground
        lists = found.ids[0], found.similarities[0], near.ids[0], near.similarities[0]
        part = int(ground.part_of[found.ids[0, 0]])
        if 0 <= part < ground.n_dense:
            ready, gains = self._ready.get((part, fallback)) or self._make_ready(part, fallback)
            scratch = ground.borrow()
            try:
                targets, scores, peak, known, ended = query_loops.second_search(
                    query,
                    *lists,
                    *ready,
                    np.zeros(len(gains), dtype=np.float32),
                    scratch.stamps,
                    scratch.next_walk(),
                )
            finally:
                ground.give_back(scratch)
            if ended != query_loops.SEVERAL_PARTS:
                gave_up, blended = ended == query_loops.GAVE_UP, read.outside is None
                return _Candidates(targets, scores, peak, known, gave_up, blended)
        vertices, y = query_loops.observed(*lists[2:], self.observing, read.scales, ground.n, read.outside)
        if not len(vertices):
            return None
        known = query_loops.trust_features(*lists[:2], ASKED, vertices, y, *read.trusting[1:])
        every, share = self._open(fallback)
        more = np.union1d(lists[2][lists[2] >= 0], every)
        walking: dict[str, Any] = {
            "allowed": None if self.mask is ALL else self.mask,
            "share": share,
            "walking": self.solver,
        }
        own, count = _SPECTRAL[self.solver.complement], self.candidates
        walked = walk(ground, vertices, y, self.filter, own, count=count, more=more, **walking)
        return _Candidates(walked.targets, walked.scores, walked.peak, known, gave_up=False, blended=False)

    def _open(self, fallback: bool) -> tuple[NDArray[np.int64], float]:
        """Targets that are all scored, if need be, and how many the walk may reckon with, of all."""
        every = self.every if fallback else _NO_TARGETS
        return every, 1.0 if 0 < len(every) < _ALL_SCORED * self.candidates else self.share

    def _make_ready(self, part: int, fallback: bool) -> tuple[Any, ...]:
        """What `second_search` takes in one part of U, whatever the query is; and the gains."""
        ground, solver = self.ground, self.solver
        every, share = self._open(fallback)
        gains, at_zero = ground.gains(self.filter, _SPECTRAL[solver.complement])
        gains = gains[ground.columns[part]]
        passed = at_zero if solver.complement else 0.0
        walking = limits(ground, passed, self.filter, self.candidates, solver, share)
        read = self.read
        within = ground.part_of, part, ground.graph, ground.rows[part], walking, gains, ground.balance
        after = self.mask, every, self.count, read.outside, read.trusting, read.rows, self.mixing
        made = (self.observing, read.scales, *within, *after), gains
        self._ready[part, fallback] = made
        return made

    def _rank(self, query: NDArray[np.float32], near: Neighbors, candidates: _Candidates) -> _Ranked | None:
        """The best candidates; None where they are too few."""
        from longwave.rows import query_loops

        items, best, mixed, peak = self.items, candidates.targets, candidates.scores, candidates.peak
        if (len(best) if self.allowed is not None else items.count_in(best)) < self.count:
            return None
        if not candidates.blended:
            outside, n, beyond = self.stores[1], self.ground.n, _NO_NUMBERS
            if outside is not None:
                beyond = outside[0].rows(best[best >= n] - n) @ query
            lists = near.ids[0], near.similarities[0]
            best, mixed = query_loops.anchored(*self.read.rows, beyond, query, best, mixed, peak, *lists, *self.mixing)
        count = self.count if items.live is None and self.allowed is None else len(best)
        places, values = items.expand(best[None, :count], mixed[None, :count], self.count, self.allowed)
        return items.ids[places], values, np.array([chance(candidates.known)], dtype=np.float32)
