"""The compiled loops of a layout in the plane; as those of `compiled`, which see."""

from __future__ import annotations

import numpy as np

from longwave.rows.compiled import Array, _serial

# Nearer than this vertices are not pushed apart any harder, and no push is longer than this many units.
_NEAR, _LONGEST = np.float32(0.01), np.float32(4)


@_serial(nogil=True, fastmath=True)
def spread(
    indptr: Array,
    indices: Array,
    weights: Array,
    first: Array,
    last: Array,
    places: Array,
    rounds: int,
    samples: int,
    push: float,
    home: float,
) -> None:
    """Pull neighbours together and push others apart, vertex after vertex, in place. places: (n, 2) float32.

    A neighbour at distance d pulls with w / (1 + d²), and each of some others of the same component, which lies in the
    rows from first[i] to last[i], pushes with push / (d² (1 + d²)). What is far from 0 is pulled there a little, with
    home times its distance. Steps become shorter from round to round. The others are drawn by a generator of numbers
    that always starts the same.
    """
    state = np.uint64(0x9E3779B97F4A7C15)
    for turn in range(rounds):
        step = np.float32(1 - turn / rounds)
        for i in range(places.shape[0]):
            x, y = places[i, 0], places[i, 1]
            across, up = np.float32(-home) * x, np.float32(-home) * y
            for e in range(indptr[i], indptr[i + 1]):
                dx, dy = x - places[indices[e], 0], y - places[indices[e], 1]
                pull = weights[e] / (1 + dx * dx + dy * dy)
                across -= pull * dx
                up -= pull * dy
            for _ in range(samples):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                j = first[i] + np.int64((state >> np.uint64(11)) % np.uint64(last[i] - first[i]))
                dx, dy = x - places[j, 0], y - places[j, 1]
                square = dx * dx + dy * dy
                away = np.float32(push) / ((_NEAR + square) * (1 + square))
                across += min(_LONGEST, max(-_LONGEST, away * dx))
                up += min(_LONGEST, max(-_LONGEST, away * dy))
            places[i, 0] = x + step * across
            places[i, 1] = y + step * up


@_serial(nogil=True)
def mark_largest(indptr: Array, data: Array, k: int, kept: Array) -> None:
    """Which entries are among the k largest of their row; equal ones the earlier first. data, kept: (nnz,)"""
    for i in range(indptr.shape[0] - 1):
        row, marks = data[indptr[i] : indptr[i + 1]], kept[indptr[i] : indptr[i + 1]]
        if len(row) <= k:
            marks[:] = True
            continue
        least = np.partition(row, len(row) - k)[len(row) - k]
        left = k
        for e in range(len(row)):
            if row[e] > least:
                marks[e] = True
                left -= 1
        for e in range(len(row)):
            if row[e] == least and left > 0:
                marks[e] = True
                left -= 1


@_serial(nogil=True)
def pack(radii: Array, centers: Array) -> None:
    """Discs around the first one, as near to it as they fit, without overlap. radii: (m,), descending. centers: (m, 2)

    Places are tried along a spiral, on a grid of cells that know which discs lie in them. Where a disc found no room a
    later one finds none either, unless it is smaller by a tenth: it goes on from there.
    """
    total = 0.0
    for r in radii:
        total += r * r
    cell = max(4 * radii[-1], np.sqrt(total) / 256)
    side = int(4 * (np.sqrt(total) + 2 * radii[0]) / cell) + 8
    heads = np.full((side, side), -1, dtype=np.int64)  # the last disc in each cell; `links` has those before it
    count = 0
    for r in radii:
        across = int(2 * r / cell) + 3
        count += across * across
    links = np.empty((count, 2), dtype=np.int64)
    used = 0
    turn, before = 0.0, radii[0]
    for i in range(len(radii)):
        r = radii[i]
        if r < 0.9 * before:
            turn, before = 0.0, r
        x, y = 0.0, 0.0
        while i > 0:
            # An Archimedean spiral whose arms lie a radius apart, in steps of half a radius.
            away = r * turn / (2 * np.pi)
            x, y = away * np.cos(turn), away * np.sin(turn)
            left, right = int((x - r) / cell + side / 2), int((x + r) / cell + side / 2)
            low, high = int((y - r) / cell + side / 2), int((y + r) / cell + side / 2)
            free = True
            for a in range(max(0, left), min(side - 1, right) + 1):
                for b in range(max(0, low), min(side - 1, high) + 1):
                    at = heads[a, b]
                    while at >= 0 and free:
                        j = links[at, 0]
                        dx, dy, least = x - centers[j, 0], y - centers[j, 1], r + radii[j]
                        free = dx * dx + dy * dy >= least * least
                        at = links[at, 1]
                    if not free:
                        break
                if not free:
                    break
            if free:
                break
            turn += min(0.5, 0.5 * r / max(away, r))
        centers[i, 0], centers[i, 1] = x, y
        for a in range(max(0, int((x - r) / cell + side / 2)), min(side - 1, int((x + r) / cell + side / 2)) + 1):
            for b in range(max(0, int((y - r) / cell + side / 2)), min(side - 1, int((y + r) / cell + side / 2)) + 1):
                links[used, 0], links[used, 1] = i, heads[a, b]
                heads[a, b] = used
                used += 1
