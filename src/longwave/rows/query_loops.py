"""One query of one vector, compiled (numba), imported late like `compiled`.

These are the formulas of `search.observation`, `search.trust` and `search.blending.Anchor` for a single row, in the
calling thread: on so few numbers, numpy spends its time between the operations. Tests hold them against each other.
What takes long gives up the interpreter's lock. What takes microseconds does not: others would take the lock, and
waiting for it again takes longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from longwave.rows.compiled import Array, _serial, jit
from longwave.rows.outside_loops import entries_of, handed_on, hanging_on, put_sums
from longwave.rows.row_loops import OWN_ROWS, put_in_order, score_rows, stored_bias
from longwave.rows.walk_loops import peak_of, search_part, values_at

#: How the second search of one query ended: it found enough, or all that can be reached; it went as far as it may; y is
#: in several parts of U, or in none, and nothing was done.
FOUND, GAVE_UP, SEVERAL_PARTS = 0, 1, 2
# Squared distances below this are rounding of float32 products (`graph.weights`).
_ROUNDING = 1e-6


@_serial()
def unit_rows(rows: Array, out: Array) -> int:
    """Rows of length 1, float32. (n, d) -> the first row that has no direction: zero, or not finite; −1 for none"""
    for i in range(rows.shape[0]):
        peak, total = 0.0, 0.0
        for c in range(rows.shape[1]):
            peak = max(peak, abs(rows[i, c]))
            total += rows[i, c]
        if not (np.isfinite(peak) and np.isfinite(total) and peak > 0):
            return i
        length = 0.0
        for c in range(rows.shape[1]):
            length += (rows[i, c] / peak) ** 2
        length = np.sqrt(length)
        for c in range(rows.shape[1]):
            out[i, c] = rows[i, c] / peak / length
    return -1


@jit
def _squared_distance(product: Any) -> Any:
    return max(2.0 - 2.0 * product, 0.0)


@_serial()
def observe(
    ids: Array, products: Array, count: int, neighbor: int, steepness: float, exponent: float, scales: Array
) -> Any:
    """y of a query by `Local`, its largest entry 1. ids, products: its list, best first. -> vertices, y, ascending

    scales: (n,) σ of the vertices; that of the query is its distance to the `neighbor`-th.
    """
    known = 0
    while known < ids.shape[0] and ids[known] >= 0:
        known += 1
    if known == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    own = np.float64(np.float32(np.sqrt(max(_squared_distance(products[min(neighbor, known) - 1]), _ROUNDING))))
    falls = np.empty(min(count, known), dtype=np.float64)
    for i in range(falls.shape[0]):
        falls[i] = steepness * (_squared_distance(products[i]) / (own * scales[ids[i]])) ** (exponent / 2)
    least = falls[0]
    for fall in falls:
        least = min(least, fall)
    vertices, y = np.empty(falls.shape[0], dtype=np.int64), np.empty(falls.shape[0], dtype=np.float32)
    size = 0
    for i in range(falls.shape[0]):
        weight = np.float32(np.exp(least - falls[i]))
        if weight > 0:
            place = size  # put in order at once: there are few
            while place > 0 and vertices[place - 1] > ids[i]:
                vertices[place], y[place] = vertices[place - 1], y[place - 1]
                place -= 1
            vertices[place], y[place] = ids[i], weight
            size += 1
    return vertices[:size], y[:size]


@_serial()
def observed(near: Array, nearness: Array, observing: Any, scales: Array, n: int, outside: Any) -> Any:
    """y on the n vertices, also of what is outside of the graph. Parameters as for `second_search`."""
    vertices, y = observe(near, nearness, *observing, scales)
    return (vertices, y) if outside is None else handed_on(vertices, y, n, outside[0])


@_serial()
def trust_features(
    ids: Array, products: Array, asked: int, vertices: Array, y: Array, reach: Array, labels: Array, sizes: Array
) -> Any:
    """Reciprocity, prominence and connected share of one query (`search.trust.features`). ids, products: its list."""
    met, known, nearest, farthest = 0, 0, 0.0, 0.0
    for i in range(min(asked, ids.shape[0])):
        if ids[i] < 0:
            break
        met += int(products[i] >= reach[ids[i]])
        distance = max(1.0 - products[i], 1e-7)
        nearest = distance if i == 0 else nearest
        farthest = max(farthest, distance)
        known += 1
    total = connected = 0.0
    least = min(asked, labels.shape[0] - 1)
    for i in range(vertices.shape[0]):
        total += y[i]
        connected += y[i] if sizes[labels[vertices[i]]] > least else 0.0
    return met / max(known, 1), 1.0 - nearest / farthest if known else 0.0, connected / total if total > 0 else 0.0


@_serial(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def anchored(
    values: Array,
    scales: Array,
    beyond: Array,
    query: Array,
    targets: Array,
    scores: Array,
    peak: float,
    ids: Array,
    products: Array,
    same: float,
    seventh: int,
    weight: float,
    steepness: float,
    root: float,
    last: float,
) -> Any:
    """Scores by `Anchor`. targets, scores: candidates. peak: the largest score of all. ids, products: the query's list.

    values, scales: the vectors. beyond: products of the last targets, which are outside of the graph. same: products
    from which a vector is the query itself. seventh: the neighbour whose product is the spread. last: the weight of
    what only orders ties. -> the targets in order, best first, ties by lower number, and their scores (n,)
    """
    n, inside = targets.shape[0], targets.shape[0] - beyond.shape[0]
    similar, numbers = np.empty(n, dtype=np.float32), np.empty(inside, dtype=np.int32)
    for i in range(inside):
        numbers[i] = targets[i]
    score_rows(values, scales, OWN_ROWS, numbers, query * stored_bias(values), similar, np.int64(0), inside)
    for i in range(inside, n):
        similar[i] = beyond[i - inside]
    nearest = products[0]
    for i in range(n):
        nearest = max(nearest, similar[i])
    spread = max(1.0 - np.float64(products[min(seventh, products.shape[0]) - 1]), 1e-6)
    mixed = np.empty(n, dtype=np.float32)
    for i in range(n):
        share = scores[i] / peak if peak > 0 else np.float32(0)
        along = share ** (1 / root) if share > 0 else 0.0
        near = np.exp(-steepness * (nearest - similar[i]) / spread)
        mixed[i] = along + weight * near + last * similar[i]
    for j in range(ids.shape[0]):  # an item that is the query itself comes first
        if ids[j] < 0 or products[j] < same:
            break
        for i in range(n):
            if targets[i] == ids[j]:
                mixed[i] = 1.0 + weight + last * (nearest + 1)
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[i] = targets[i]
        mixed[i] = mixed[i] if mixed[i] == mixed[i] else -np.inf  # not a number: last
    put_in_order(mixed, order)
    return order, mixed


@jit
def _candidates(
    ids: Array,
    products: Array,
    near: Array,
    nearness: Array,
    observing: Any,
    scales: Array,
    part_of: Array,
    part: int,
    graph: Any,
    rows: Any,
    limits: Any,
    gains: Array,
    balance: Array,
    allowed: Array,
    fallback: Array,
    wanted: int,
    outside: Any,
    waves: Array,
    stamps: Array,
    stamp: int,
    trusting: Any,
) -> Any:
    """From the lists of a query to its candidates. Parameters as for `second_search`.

    -> candidates, those outside last; their scores; the largest score of all; what trust is made of; how it ended
    """
    n = part_of.shape[0]
    vertices, y = observed(near, nearness, observing, scales, n, outside)
    known = trust_features(ids, products, trusting[0], vertices, y, *trusting[1:])
    several = vertices.shape[0] == 0
    for vertex in vertices:
        several = several or part_of[vertex] != part
    if several:
        return vertices[:0], y[:0], np.float32(0), known, SEVERAL_PARTS
    seeds, size = np.empty(vertices.shape[0] + near.shape[0], dtype=np.int64), vertices.shape[0]
    for i in range(size):  # one by one: what numba makes of a slice takes seconds to compile
        seeds[i] = vertices[i]
    for vertex in near:
        if 0 <= vertex < n and part_of[vertex] == part:
            place = size  # ascending, as the general way has them: the order of places is that of the sweeps
            while place > vertices.shape[0] and seeds[place - 1] > vertex:
                seeds[place] = seeds[place - 1]
                place -= 1
            seeds[place] = vertex
            size += 1
    found, _, seen, values, expanded, _ = search_part(
        *graph, rows, seeds[:size], y, limits, gains, balance, allowed, waves, stamps, stamp
    )
    ended = GAVE_UP if found.shape[0] < limits[1] and expanded >= limits[3] else FOUND
    targets = fallback
    if fallback.shape[0] == 0 or (ended == FOUND and found.shape[0] >= wanted):
        targets = _with_those_near(found, near, part_of, part, allowed)
        if outside is not None:
            hanging = hanging_on(seen, values, near, n, allowed, outside[1], outside[3], limits[1])
            targets = np.concatenate((targets, hanging))
    after = rows, waves, peak_of(y), balance, values, stamps, stamp
    scores = values_at(targets, part_of, part, *after)
    if outside is not None:
        made_of = entries_of(targets, n, outside[2])
        put_sums(targets, n, outside[2], values_at(made_of, part_of, part, *after), scores)
    return targets, scores, peak_of(values), known, ended


@_serial(nogil=True)
def second_search(
    query: Array,
    ids: Array,
    products: Array,
    near: Array,
    nearness: Array,
    observing: Any,
    scales: Array,
    part_of: Array,
    part: int,
    graph: Any,
    rows: Any,
    limits: Any,
    gains: Array,
    balance: Array,
    allowed: Array,
    fallback: Array,
    wanted: int,
    outside: Any,
    trusting: Any,
    vectors: Any,
    mixing: Any,
    waves: Array,
    stamps: Array,
    stamp: int,
) -> Any:
    """From the lists of a query to its candidates in order: all that lies behind the first search, in one call.

    Where all of y is in one part of U, as nearly always. ids, products: the nearest vertices. near, nearness: the same
    where nothing is outside of the graph, else the nearest of both; numbers from n on are outside. observing: arguments
    of `observe`, beside the list and the scales. part_of: (n,), of the vertices; part: that of the nearest. graph,
    rows, limits, gains, balance, allowed, waves, stamps, stamp: for `search_part`. fallback: all targets that are
    allowed, which are the candidates where the walk does not find enough; (0,) for none. wanted: hits that there must
    be. outside: None, or ψ to hand y on with, ψᵀ, ψ, and the sum of ψ of each target. trusting: for `trust_features`.
    vectors, mixing: for `anchored`.
    -> candidates, best first, and their scores by `Anchor`; where something is outside of the graph, those outside
    last, not blended yet; the largest score of all; what trust is made of; how it ended
    """
    targets, scores, peak, known, ended = _candidates(
        ids,
        products,
        near,
        nearness,
        observing,
        scales,
        part_of,
        part,
        graph,
        rows,
        limits,
        gains,
        balance,
        allowed,
        fallback,
        wanted,
        outside,
        waves,
        stamps,
        stamp,
        trusting,
    )
    if outside is None and targets.shape[0] > 0:
        targets, scores = anchored(*vectors, scores[:0], query, targets, scores, peak, near, nearness, *mixing)
    return targets, scores, peak, known, ended


@jit
def _with_those_near(found: Array, near: Array, part_of: Array, part: int, allowed: Array) -> Any:
    """What the walk found, then what is near to the query where nothing leads."""
    n, size = part_of.shape[0], found.shape[0]
    out = np.empty(size + near.shape[0], dtype=np.int64)
    for i in range(size):
        out[i] = found[i]
    for vertex in near:
        if 0 <= vertex < n and part_of[vertex] != part and (allowed.shape[0] == 0 or allowed[vertex]):
            out[size] = vertex
            size += 1
    return out[:size]
