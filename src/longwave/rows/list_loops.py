"""The compiled loops of approximate neighbour lists (numba), imported late like `compiled`.

Most calls are one group of vertices, in the calling thread alone and without the interpreter lock, so that groups run
side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from longwave.rows.compiled import _STRIDE, Array, _largest, _serial, _sift_down, _sort_heap, _worse, jit

# Votes of a candidate that is taken whatever the limit; no candidate gets as many.
_ALWAYS = 1 << 30


@_serial(nogil=True)
def reverse_lists(ids: Array, similarities: Array, fresh: Array) -> tuple[Array, Array, Array, Array]:
    """Who lists each vertex, ascending: sources, shared, news[starts[j] : starts[j + 1]].

    ids, similarities, fresh: (n, k); empty places have id -1. shared, news: the similarity, and whether it is fresh.
    """
    n, k = ids.shape
    starts = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        for t in range(k):
            if ids[i, t] >= 0:
                starts[ids[i, t] + 1] += 1
    for j in range(n):
        starts[j + 1] += starts[j]
    free = starts[:-1].copy()
    sources = np.empty(starts[n], dtype=np.int32)
    shared, news = np.empty(starts[n], dtype=np.float32), np.empty(starts[n], dtype=np.bool_)
    for i in range(n):
        for t in range(k):
            j = ids[i, t]
            if j >= 0:
                sources[free[j]], shared[free[j]], news[free[j]] = i, similarities[i, t], fresh[i, t]
                free[j] += 1
    return starts, sources, shared, news


@jit
def enter(ids: Array, similarities: Array, number: int, value: float) -> Any:
    """Put one who is not in it into a list, best first; the last one leaves. -> its place, or −1: not good enough"""
    t = ids.shape[0] - 1
    if not _worse(similarities[t], ids[t], value, number):
        return -1
    while t > 0 and _worse(similarities[t - 1], ids[t - 1], value, number):
        similarities[t], ids[t] = similarities[t - 1], ids[t - 1]
        t -= 1
    similarities[t], ids[t] = value, number
    return t


@_serial(nogil=True)
def take_back(ids: Array, similarities: Array, starts: Array, sources: Array, shared: Array, first: int) -> None:
    """Put those who list a vertex into its own list, where they belong: what one has found serves both.

    ids, similarities: (m, k) lists of the vertices from `first` on, best first; the others as `reverse_lists` gives.
    """
    m, k = ids.shape
    for r in range(m):
        own, values = ids[r], similarities[r]
        for e in range(starts[first + r], starts[first + r + 1]):
            i, value = sources[e], shared[e]
            if _worse(values[k - 1], own[k - 1], value, i) and not (own == i).any():
                enter(own, values, i, value)


@_serial(nogil=True)
def candidates(
    members: Array, near: Array, ids: Array, starts: Array, sources: Array, limit: int, votes: Array, found: Array
) -> Array:
    """Vertices to compare a group with: its neighbours, `near`, and the best of its neighbours' neighbours.

    Always taken: whom the members list, up to k who list each of them, and `near`. A neighbour of a neighbour has as
    many votes as there are paths to it; those of most votes fill up to `limit`. votes: (n,) zeros, and zeros again
    afterwards; found: (n,) scratch.
    """
    k = ids.shape[1]
    count = 0
    for i in members:
        for t in range(k):
            j = ids[i, t]
            if j < 0:
                break
            if votes[j] == 0:
                found[count] = j
                count += 1
            votes[j] += 1
        for e in range(starts[i], min(starts[i + 1], starts[i] + k)):
            j = sources[e]
            if votes[j] == 0:
                found[count] = j
                count += 1
            votes[j] += 1
    hop = count
    paths = np.empty(hop, dtype=np.int32)
    for a in range(hop):
        paths[a] = votes[found[a]]
        votes[found[a]] = _ALWAYS
    for j in near:
        if votes[j] == 0:
            found[count] = j
            count += 1
            votes[j] = _ALWAYS
    always = count
    room = max(0, limit - always)
    if room > 0:
        for a in range(hop):
            for t in range(k):
                j = ids[found[a], t]
                if j < 0:
                    break
                if votes[j] == 0:
                    found[count] = j
                    count += 1
                if votes[j] < _ALWAYS:
                    votes[j] += paths[a]
    last = always  # kept so far
    if count - always <= room:
        last = count
    elif room > 0:
        shown = np.empty(count - always, dtype=np.int32)
        for a in range(always, count):
            shown[a - always] = votes[found[a]]
        least = np.partition(shown, shown.size - room)[shown.size - room]
        equal = room - (shown > least).sum()  # of those with the least votes, the first found
        for a in range(always, count):
            j = found[a]
            if votes[j] > least or (votes[j] == least and equal > 0):
                if votes[j] == least:
                    equal -= 1
                found[a], found[last] = found[last], j
                last += 1
    for a in range(count):
        votes[found[a]] = 0
    return found[:last].copy()


@jit
def _push(scores: Array, numbers: Array, own: int, values: Array, ids: Array) -> None:
    """Push the scores of one row into its heap; ties go to the lower number."""
    for start in range(0, scores.shape[0], _STRIDE):
        stop = min(start + _STRIDE, scores.shape[0])
        if _largest(scores, start, stop) < values[0]:
            continue
        for c in range(start, stop):
            if _worse(values[0], ids[0], scores[c], numbers[c]) and numbers[c] != own:
                values[0], ids[0] = scores[c], numbers[c]
                _sift_down(values, ids, 0, values.shape[0])


@_serial(nogil=True)
def raise_floors(products: Array, values: Array) -> None:
    """Fill empty heaps with what at least as many of a row's products reach, so that few others have to be pushed.

    The columns are dealt out to k + 1 hands. The best of every hand is at least the worst of these, and only one of
    them may be the vertex itself. products: (g, c), with fewer columns nothing is done; values: (g, k).
    """
    hands = values.shape[1] + 1
    if products.shape[1] < hands:
        return
    best = np.empty(hands, dtype=np.float32)
    for r in range(products.shape[0]):
        row = products[r]
        for hand in range(hands):
            best[hand] = row[hand]
        for start in range(hands, row.shape[0] - hands + 1, hands):
            for hand in range(hands):
                best[hand] = max(best[hand], row[start + hand])
        values[r, :] = best.min()


@_serial(nogil=True)
def push_candidates(products: Array, numbers: Array, members: Array, values: Array, ids: Array) -> None:
    """Push products of a group with distinct candidates into one heap per member; nobody is their own neighbour.

    products: (g, c); numbers: (c,) vertices; members: (g,); values, ids: (g, k) heaps with the worst hit at the root.
    """
    for r in range(products.shape[0]):
        _push(products[r], numbers, members[r], values[r], ids[r])


@_serial(nogil=True)
def sort_lists(values: Array, ids: Array) -> None:
    """Turn every heap into a list, best first. values, ids: (g, k)"""
    for r in range(values.shape[0]):
        _sort_heap(values[r], ids[r])
