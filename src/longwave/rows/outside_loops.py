"""Targets outside of the graph, for one query: what hands y on, which of them are candidates, and their scores.

Compiled (numba), imported late like `compiled`. ψ is CSR, as (ends, columns, entries). Such targets are numbered from n
on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from longwave.rows.compiled import Array, _serial, jit
from longwave.rows.walk_loops import offer

# Targets outside of the graph that are scored for each that is looked for.
_SPARE = 2


@jit
def handed_on(vertices: Array, y: Array, n: int, psi: Any) -> Any:
    """y + yₐψ: what was observed of targets outside of the graph goes to the vertices that they consist of. Ascending.

    vertices, y: ascending, those from n on are outside. psi: CSR, ends, columns and entries.
    """
    ends, columns, entries = psi
    room = vertices.shape[0]
    for vertex in vertices:
        room += ends[vertex - n + 1] - ends[vertex - n] if vertex >= n else 0
    out, total = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.float32)
    size = np.int64(0)
    for i in range(vertices.shape[0]):
        if vertices[i] < n:
            size = _put(out, total, size, vertices[i], y[i])
            continue
        for e in range(ends[vertices[i] - n], ends[vertices[i] - n + 1]):
            if entries[e] > 0:
                size = _put(out, total, size, columns[e], y[i] * entries[e])
    return out[:size], total[:size]


@jit
def _put(vertices: Array, y: Array, size: int, vertex: int, weight: float) -> int:
    """Add a weight to a short list that ascends. -> its new length"""
    place = size
    while place > 0 and vertices[place - 1] > vertex:
        place -= 1
    if place > 0 and vertices[place - 1] == vertex:
        y[place - 1] += weight
        return size
    for j in range(size, place, -1):
        vertices[j], y[j] = vertices[j - 1], y[j - 1]
    vertices[place], y[place] = vertex, weight
    return size + 1


@_serial(nogil=True)
def hanging_on(
    seen: Array, scores: Array, near: Array, n: int, allowed: Array, attached: Any, total: Array, count: int
) -> Any:
    """Targets outside of the graph that may be among the best, those near to the query among them. (c,)

    A score there is a mean of those of some vertices, so one that is among the best hangs on one that is. Where many
    do, those that could be largest are taken: what was not seen scores no more than the last of the best that were.
    seen, scores: vertices. attached: CSR, the targets that consist of each vertex. total: (a,) the sum of the shares;
    an array as long as this is filled, as the first search has read as much of what was added.
    """
    ends, columns, entries = attached
    room = near.shape[0]
    for vertex in seen:
        room += ends[vertex + 1] - ends[vertex]
    found, most = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.float32)
    place_of = np.full(total.shape[0], -1, dtype=np.int32)
    size = np.int64(0)
    for number in near:
        if number >= n and (allowed.shape[0] == 0 or allowed[number]):
            place_of[number - n] = size
            found[size], most[size] = number - n, np.float32(np.inf)
            size += 1
    best, owners, held = np.empty(count, dtype=np.float32), np.empty(count, dtype=np.int32), np.int64(0)
    for i in range(seen.shape[0]):
        held = offer(best, owners, held, scores[i], i)
    last = best[0] if held else np.float32(0)
    for i in range(seen.shape[0]):
        for e in range(ends[seen[i]], ends[seen[i] + 1]):
            number = columns[e]
            if allowed.shape[0] and not allowed[n + number]:
                continue
            if place_of[number] < 0:
                place_of[number] = size
                found[size], most[size] = number, last * total[number]
                size += 1
            most[place_of[number]] += (scores[i] - last) * entries[e]
    spare = _SPARE * count
    if size <= spare:
        return found[:size] + n
    bounds, places, kept = np.empty(spare, dtype=np.float32), np.empty(spare, dtype=np.int32), np.int64(0)
    for i in range(size):
        kept = offer(bounds, places, kept, most[i], i)
    out = np.empty(kept, dtype=np.int64)
    for i in range(kept):
        out[i] = found[places[i]] + n
    return out


@jit
def entries_of(targets: Array, n: int, shares: Any) -> Any:
    """The vertices that the targets outside of the graph consist of, one target after the other."""
    ends, columns, _ = shares
    size = np.int64(0)
    for target in targets:
        size += ends[target - n + 1] - ends[target - n] if target >= n else 0
    out = np.empty(size, dtype=np.int64)
    size = np.int64(0)
    for target in targets:
        if target >= n:
            for e in range(ends[target - n], ends[target - n + 1]):
                out[size] = columns[e]
                size += 1
    return out


@jit
def put_sums(targets: Array, n: int, shares: Any, scores: Array, out: Array) -> None:
    """out = ψf for the targets outside of the graph. scores: f of `entries_of`."""
    ends, _, entries = shares
    place = np.int64(0)
    for i in range(targets.shape[0]):
        if targets[i] >= n:
            total = np.float32(0)
            for e in range(ends[targets[i] - n], ends[targets[i] - n + 1]):
                total += entries[e] * scores[place]
                place += 1
            out[i] = total
