"""The compiled loops of the passes that better neighbour lists vertex by vertex (numba), imported late like `compiled`.

Each call is some vertices, in the calling thread alone and without the interpreter lock. It writes to the lists of
these alone, and reads of the others only what a pass had gathered before, so that calls run side by side.

Lists are three arrays of one shape (n, width), best first: ids, −1 behind the last; similarities; fresh, whether an
entry came in since the pass before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from longwave.rows.compiled import Array, _serial, _sift_down, _sort_heap, _worse, jit
from longwave.rows.list_loops import enter
from longwave.rows.row_loops import OWN_ROWS, scale_of, score_rows, stored_number

# Rows of float32 have none.
_NO_SCALES: Array = np.empty(0, dtype=np.float32)
# Votes of those that are not looked for: of the vertex itself, and of whom it knows. Nobody gets as many
# (`approximate.MOST_NEIGHBORS`).
_KNOWN = np.int16(-(1 << 14))


@jit
def _compare(rows: Any, vertex: int, others: Array, count: int, query: Array, products: Array) -> None:
    """Products of one vertex with others. query: (d,) scratch.

    rows: float32 or int8 numbers, scales, and the row of each vertex, as for `score_rows`.
    """
    values, scales, row_of = rows
    own = row_of[vertex] if row_of.shape[0] else vertex
    for c in range(query.shape[0]):
        query[c] = stored_number(values[own, c]) * scale_of(scales, own)
    score_rows(values, scales, row_of, others, query, products, np.int64(0), count)


@jit
def _enter_fresh(ids: Array, similarities: Array, fresh: Array, number: int, value: float) -> None:
    """Put one who is not in it into a list, if it is good enough."""
    place = enter(ids, similarities, number, value)
    if place >= 0:
        for t in range(ids.shape[0] - 1, place, -1):
            fresh[t] = fresh[t - 1]
        fresh[place] = True


@jit
def _enter_all(ids: Array, similarities: Array, fresh: Array, numbers: Array, products: Array, count: int) -> None:
    """Put those into a list that are good enough; none of them is in it."""
    for a in range(count):
        if products[a] >= similarities[similarities.shape[0] - 1]:  # most are not: no call, which is not inlined
            _enter_fresh(ids, similarities, fresh, numbers[a], products[a])


@_serial(nogil=True)
def consider(first: int, last: int, rows: Any, others: Array, ids: Array, similarities: Array, fresh: Array) -> None:
    """Offer each vertex from first to last those of another list of its own, compared by these rows.

    others: (n, w), not wider than the lists.
    """
    width = others.shape[1]
    chosen, products = np.empty(width, dtype=np.int32), np.empty(width, dtype=np.float32)
    query = np.empty(rows[0].shape[1], dtype=np.float32)
    for i in range(first, last):
        own, values, empty = ids[i], similarities[i], ids[i, 0] < 0
        count = np.int64(0)
        for j in others[i]:
            if j >= 0 and (empty or not _lists(own, j)):
                chosen[count] = j
                count += 1
        _compare(rows, i, chosen, count, query, products)
        if not empty:
            _enter_all(own, values, fresh[i], chosen, products, count)
            continue
        for a in range(count):  # all of them, put in order at once
            own[a], values[a], fresh[i, a] = chosen[a], products[a], True
        for start in range(count // 2 - 1, -1, -1):
            _sift_down(values, own, start, count)
        _sort_heap(values[:count], own[:count])


@jit
def _lists(ids: Array, number: int) -> Any:
    """Whether one is in a list."""
    place = 0
    while place < ids.shape[0] and ids[place] != number:
        place += 1
    return place < ids.shape[0]


@_serial(nogil=True)
def meet(
    first: int,
    last: int,
    listed_by: Any,
    ids: Array,
    similarities: Array,
    fresh: Array,
    further: Array,
    further_fresh: Array,
) -> None:
    """Put those who list a vertex into its own list where they belong; the best of all others are its further ones.

    So a vertex that nobody lists, since all that it lists have nearer ones, is still known to these. listed_by: of
    `reverse_lists`. further, further_fresh: (n, m), best first, are filled; −1 behind the last.
    """
    starts, sources, shared, news = listed_by
    width, most = ids.shape[1], further.shape[1]
    values = np.empty(most, dtype=np.float32)
    for i in range(first, last):
        own, known_values, known_fresh = ids[i], similarities[i], fresh[i]
        for e in range(starts[i], starts[i + 1]):
            behind = _worse(shared[e], sources[e], known_values[width - 1], own[width - 1])
            if not behind and not _lists(own, sources[e]):
                _enter_fresh(own, known_values, known_fresh, sources[e], shared[e])
        held = 0
        for e in range(starts[i], starts[i + 1]):
            value = shared[e]
            behind = _worse(value, sources[e], known_values[width - 1], own[width - 1])
            if behind and (held < most or value > values[most - 1]):
                place = held if held < most else most - 1
                while place > 0 and values[place - 1] < value:
                    values[place], further[i, place] = values[place - 1], further[i, place - 1]
                    further_fresh[i, place] = further_fresh[i, place - 1]
                    place -= 1
                values[place], further[i, place], further_fresh[i, place] = value, sources[e], news[e]
                held = min(held + 1, most)
        for place in range(held, most):
            further[i, place] = -1


@_serial(nogil=True)
def find_ways(
    first: int, last: int, ids: Array, fresh: Array, further: Array, further_fresh: Array, ways: Array, ends: Array
) -> None:
    """Where a step from each vertex leads: the first half of `ways` from its list, the rest from its further ones.

    ways: (n, m) is filled, fresh ones first; ends: (n, 2), where the fresh ones end, and where all do.
    """
    half = ways.shape[1] // 2
    for i in range(first, last):
        size = 0
        for wanted in (True, False):
            for t in range(min(half, ids.shape[1])):
                if ids[i, t] >= 0 and fresh[i, t] == wanted:
                    ways[i, size] = ids[i, t]
                    size += 1
            for t in range(min(half, further.shape[1])):
                if further[i, t] >= 0 and further_fresh[i, t] == wanted:
                    ways[i, size] = further[i, t]
                    size += 1
            ends[i, 0 if wanted else 1] = size


@jit
def _follow(ways: Array, vertex: int, stop: int, votes: Array, found: Array, size: int) -> int:
    """A vote for each of those that steps from a vertex lead to; those that had none are found. -> how many are"""
    for e in range(stop):
        j = ways[vertex, e]
        found[size] = j  # written in any case: a branch that nobody can foresee takes longer
        size += int(votes[j] == 0)
        votes[j] += np.int16(1)
    return size


@jit
def _most_voted(found: Array, size: int, votes: Array, shown: Array, chosen: Array) -> Any:
    """Those of most votes, as many as there is room for; of equal ones the first found. Votes are 0 afterwards.

    shown: scratch, zeros, and zeros again afterwards. -> how many
    """
    if size <= chosen.shape[0]:
        for a in range(size):
            chosen[a], votes[found[a]] = found[a], 0
        return np.int64(size)
    top = 0
    for a in range(size):
        shown[votes[found[a]]] += 1
        top = max(top, votes[found[a]])
    room, least = chosen.shape[0], top + 1  # all from `least` on are taken, and `room` of those with one vote less
    while least > 1 and room >= shown[least - 1]:
        least -= 1
        room -= shown[least]
    count = np.int64(0)
    for a in range(size):
        j, own = found[a], votes[found[a]]
        shown[own], votes[j] = 0, 0
        if own >= least or (own == least - 1 and room > 0):
            room -= int(own == least - 1)
            chosen[count] = j
            count += 1
    return count


@_serial(nogil=True)
def descend(
    first: int,
    last: int,
    rows: Any,
    ways: Array,
    ends: Array,
    further: Array,
    further_fresh: Array,
    most: int,
    votes: Array,
    ids: Array,
    similarities: Array,
    fresh: Array,
) -> None:
    """Compare each vertex with those that paths of two steps lead to, if a step is fresh.

    The first step goes to whom a vertex lists and to its further ones, the second along `ways`. Where paths lead to
    more than `most`, those of most paths are taken. votes: (n,) zeros, and zeros again afterwards. The lists from first
    to last are bettered, and what is fresh in them is what came in.
    """
    width = ids.shape[1]
    step, steps_fresh = np.empty(width + further.shape[1], np.int32), np.empty(width + further.shape[1], np.bool_)
    found = np.empty(min(step.shape[0] * ways.shape[1], votes.shape[0]) + 1, dtype=np.int32)
    shown = np.zeros(2 * step.shape[0] + 1, dtype=np.int32)  # by rounding, one may be in a list and among the further
    chosen, products = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32)
    query = np.empty(rows[0].shape[1], dtype=np.float32)
    for i in range(first, last):
        steps = 0
        for t in range(width):
            if ids[i, t] >= 0:
                step[steps], steps_fresh[steps] = ids[i, t], fresh[i, t]
                steps += 1
            fresh[i, t] = False
        for t in range(further.shape[1]):
            if further[i, t] >= 0:
                step[steps], steps_fresh[steps] = further[i, t], further_fresh[i, t]
                steps += 1
        votes[i] = _KNOWN
        for a in range(steps):
            votes[step[a]] = _KNOWN
        size = 0
        for a in range(steps):
            j = step[a]
            size = _follow(ways, j, ends[j, 1 if steps_fresh[a] else 0], votes, found, size)
        count = _most_voted(found, size, votes, shown, chosen)
        votes[i] = 0
        for a in range(steps):
            votes[step[a]] = 0
        _compare(rows, i, chosen, count, query, products)
        _enter_all(ids[i], similarities[i], fresh[i], chosen, products, count)


@_serial(nogil=True)
def settle(places: Array, vectors: Array, row_of: Array, lists: Array, ids: Array, similarities: Array) -> None:
    """The best of some lists by the vectors themselves, as numbers of these, ties by lower number.

    places: (m,) of the lists; lists: (n, width); row_of: (n,) the vector of each place. ids, similarities: (m, k).
    """
    chosen, products = np.empty(lists.shape[1], dtype=np.int32), np.empty(lists.shape[1], dtype=np.float32)
    for r in range(places.shape[0]):
        count = np.int64(0)
        for j in lists[places[r]]:
            if j >= 0:
                chosen[count] = row_of[j]
                count += 1
        score_rows(vectors, _NO_SCALES, OWN_ROWS, chosen, vectors[row_of[places[r]]], products, np.int64(0), count)
        own, values = ids[r], similarities[r]  # here: a view for each call takes longer than the call
        own[:], values[:] = -1, -np.inf
        for a in range(count):
            enter(own, values, chosen[a], products[a])
