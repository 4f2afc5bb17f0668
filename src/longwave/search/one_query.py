"""Queries of one vector on the default plan, one by one: the usual searches, in a few compiled calls each.

The same first search, y, walk, blend and confidence as `scoring` has for any number of queries, of any kind; what is
not usual goes there. One query takes the calling thread alone, and others search beside it. Many are answered by as
many threads as there are cores: one product with all of the basis takes longer than their walks.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.graph.weights import Local
from longwave.rows.encoded import Compact, plain, stored_rows
from longwave.search.blending import LAST, Anchor, Blending, candidate_count, near_count
from longwave.search.euclidean import Euclidean
from longwave.search.euclidean_view import SAME
from longwave.search.first import SPREAD, lists_needed
from longwave.search.queries import Queries
from longwave.search.snapshot import Snapshot
from longwave.search.trust import ASKED, chance
from longwave.solvers import BestFirst, Solver
from longwave.solvers.graph_walk import ALL, ground_of, limits, walk
from longwave.solvers.spectral import Spectral
from longwave.stores.approximate import Approximate
from longwave.stores.memory import Memory
from longwave.threads import cores, run, turn
from longwave.types import Array, Filter, Hits

_NO_TARGETS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
# Queries that are worth threads.
_MANY = 8
_SPECTRAL = {complement: Spectral(complement) for complement in (True, False)}


@dataclass(frozen=True, eq=False)
class _Read:
    """What the loops read of a snapshot: plain arrays. rows, row_scales: the vectors. scales: σ of the vertices."""

    rows: Array
    row_scales: Array
    scales: Array
    reach: Array
    labels: Array
    sizes: Array


def _read(snapshot: Snapshot) -> _Read | None:
    """Made once; None where a snapshot is not usual: every vector an item, none added, none removed, kernel `Local`."""
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
    if snapshot.pooling is not None or snapshot.added is not None or snapshot.items.live is not None:
        return None
    if type(snapshot.similarity) is not Local or not BestFirst().serves(snapshot.system):
        return None
    arrays = (*stored_rows(held.values), graph.scales, graph.reach, graph.labels, graph.component_sizes)
    return _Read(*(plain(array) for array in arrays))


def serves(snapshot: Snapshot, queries: Queries, solver: Solver | Euclidean, blend: Blending | None) -> bool:
    """Whether this way is open."""
    single = len(queries.regions) == 1 or np.array_equal(queries.query_of, np.arange(len(queries.regions)))
    single = single and bool((queries.weights == 1).all())
    return single and type(solver) is BestFirst and type(blend) is Anchor and _read(snapshot) is not None


def answers(snapshot: Snapshot, queries: Queries, k: int, **options: Any) -> list[Hits | None]:
    """Hits of every query, (1, k) each; None where one has to go the general way. Parameters as for `answer`."""
    regions = queries.regions
    if len(regions) < _MANY:
        return [answer(snapshot, regions[q : q + 1], k, **options) for q in range(len(regions))]
    found: list[Hits | None] = [None] * len(regions)

    def work(query: int) -> None:
        found[query] = answer(snapshot, regions[query : query + 1], k, **options)

    with ThreadPoolExecutor(cores()) as pool:
        run(pool, work, range(len(regions)))
    return found


def answer(
    snapshot: Snapshot,
    region: NDArray[np.float32],
    k: int,
    *,
    filter: Filter,
    neighbors: int,
    solver: BestFirst,
    blend: Anchor,
) -> Hits | None:
    """Hits of one query, (1, k); None where it has to go the general way. region: (1, d). Else as `scoring.search`."""
    with turn():
        return _answer(snapshot, region, k, filter, neighbors, solver, blend)


def _answer(
    snapshot: Snapshot,
    region: NDArray[np.float32],
    k: int,
    filter: Filter,
    neighbors: int,
    solver: BestFirst,
    blend: Anchor,
) -> Hits | None:
    from longwave.rows import query_loops

    items, kernel, read = snapshot.items, snapshot.similarity, _read(snapshot)
    assert isinstance(kernel, Local)
    assert read is not None
    k, query = min(k, items.n_live), region[0]
    looked_up = min(max(lists_needed(snapshot, neighbors), near_count(blend, k)), snapshot.n_vertices)
    began = perf_counter()
    found = snapshot.vertices.search(region, looked_up)
    ids, products = found.ids[0], found.similarities[0]
    if ids[-1] < 0:
        return None
    second = perf_counter()
    ground, count = ground_of(snapshot.system), candidate_count(blend, k)
    own = _SPECTRAL[solver.complement]
    # Numbers of one kind, whatever the user gave: the loops would be compiled again for each other kind.
    observing = int(neighbors), kernel.neighbor, float(kernel.query_steepness), float(kernel.exponent)
    spread = float(products[min(SPREAD, len(products)) - 1])
    mixing = float(blend.weight), float(blend.steepness), float(blend.root), LAST
    blending = 1 - SAME * len(query) ** 0.5, spread, *mixing
    vectors, trusting = (read.rows, read.row_scales), (ASKED, read.reach, read.labels, read.sizes)
    targets, part = _NO_TARGETS, int(ground.part_of[ids[0]])
    if 0 <= part < ground.n_dense:
        gains, at_zero = ground.gains(filter, own)
        gains, scratch = gains[ground.columns[part]], ground.borrow()
        targets, mixed, known = query_loops.second_search(
            ids,
            products,
            query,
            observing,
            read.scales,
            ground.part_of,
            part,
            ground.graph,
            ground.rows[part],
            limits(ground, at_zero if solver.complement else 0.0, filter, count, solver),
            gains,
            ground.balance,
            ALL,
            np.zeros(len(gains), dtype=np.float32),
            scratch.stamps,
            scratch.next_walk(),
            vectors,
            blending,
            trusting,
        )
        ground.give_back(scratch)
    if not len(targets):  # y is in several parts, or in small ones
        vertices, y = query_loops.observe(ids, products, *observing, read.scales)
        if not len(vertices):
            return None
        walked = walk(ground, vertices, y, filter, own, count=count, more=np.sort(ids), walking=solver)
        targets = walked.targets
        mixed = query_loops.anchored(*vectors, query, targets, walked.scores, ids, products, *blending)
        known = query_loops.trust_features(ids, products, ASKED, vertices, y, *trusting[1:])
    if items.count_in(targets) < k:
        return None
    order = np.lexsort((targets, -mixed))[:k]  # ties by lower number
    places, values = items.expand(targets[order][None, :], mixed[order][None, :], k)
    seconds = second - began, perf_counter() - second
    return Hits(items.ids[places], values, confidence=chance(np.array([known])), route="sublinear", seconds=seconds)
