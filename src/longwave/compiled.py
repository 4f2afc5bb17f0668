"""The compiled inner loops (numba), imported late because numba takes long to import.

Each function is one loop nest over plain arrays; the callers hold the meaning and the checks.
Compiled code is cached on disk, so the second process starts at once.
"""

from __future__ import annotations

from typing import Any

import numba
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit(inline="always")
def _worse(value_a: float, id_a: int, value_b: float, id_b: int) -> bool:
    """Whether hit a ranks behind hit b: lower value, or the same value and a higher id."""
    return value_a < value_b or (value_a == value_b and id_a > id_b)


@numba.njit
def _sift_down(values: Array, ids: Array, start: int, size: int) -> None:
    """Restore the heap whose root is the worst hit."""
    i = start
    value, hit = values[i], ids[i]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _worse(values[right], ids[right], values[child], ids[child]):
            child = right
        if not _worse(values[child], ids[child], value, hit):
            break
        values[i], ids[i] = values[child], ids[child]
        i = child
    values[i], ids[i] = value, hit


_STRIDE = 64


@numba.njit(fastmath=True)
def _largest(row: Array, start: int, stop: int) -> float:
    """The largest entry of row[start:stop]."""
    best = row[start]
    for c in range(start + 1, stop):
        best = max(best, row[c])
    return best  # type: ignore[no-any-return]


def _update_heaps(scores: Array, values: Array, ids: Array, first_column: int, self_row: int) -> None:
    """Push a tile of scores into one heap per row.

    scores: (rows, tile), columns first_column...; values, ids: (rows, k) heaps with the worst hit at the root.
    self_row: vertex number of the first row, whose own column is passed over; -1 if the rows are queries.
    """
    rows, tile = scores.shape
    k = values.shape[1]
    for r in numba.prange(rows):
        heap_values, heap_ids = values[r], ids[r]
        own = self_row + r - first_column if self_row >= 0 else -1
        for start in range(0, tile, _STRIDE):
            stop = min(start + _STRIDE, tile)
            # A vectorised maximum first: few strides hold anything that enters the heap.
            if _largest(scores[r], start, stop) <= heap_values[0]:
                continue
            for c in range(start, stop):
                # Columns come in ascending order, so an equal score is behind every hit already held.
                if scores[r, c] > heap_values[0] and c != own:
                    heap_values[0], heap_ids[0] = scores[r, c], first_column + c
                    _sift_down(heap_values, heap_ids, 0, k)


update_heaps = numba.njit(parallel=True, cache=True)(_update_heaps)
# One row at a time needs no threads, and starting them costs more than the row.
update_heaps_serial = numba.njit(cache=True)(_update_heaps)


def _sort_heaps(values: Array, ids: Array) -> None:
    """Turn the heaps into lists, best hit first (heap sort, in place)."""
    rows, k = values.shape
    for r in numba.prange(rows):
        for size in range(k - 1, 0, -1):
            values[r, 0], values[r, size] = values[r, size], values[r, 0]
            ids[r, 0], ids[r, size] = ids[r, size], ids[r, 0]
            _sift_down(values[r], ids[r], 0, size)


sort_heaps = numba.njit(parallel=True, cache=True)(_sort_heaps)
sort_heaps_serial = numba.njit(cache=True)(_sort_heaps)


@numba.njit(parallel=True, cache=True, fastmath={"contract", "nsz"})
def multiply(data: Array, indices: Array, indptr: Array, block: Array, out: Array) -> None:
    """Sparse times dense: out = A block. A: CSR (n, m); block: (m, c); out: (n, c)."""
    for i in numba.prange(out.shape[0]):
        row = out[i]
        row[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            weight = data[e]
            source = block[indices[e]]
            for c in range(row.shape[0]):
                row[c] += weight * source[c]


@numba.njit(parallel=True, cache=True, fastmath={"contract", "nsz"})
def chebyshev_step(
    data: Array,
    indices: Array,
    indptr: Array,
    current: Array,
    previous: Array,
    scale: float,
    shift: float,
    back: float,
) -> None:
    """One term of the three-term recurrence in one sweep: previous = scale (A - shift) current - back previous.

    A: CSR (n, n); current, previous: (n, c).
    """
    for i in numba.prange(current.shape[0]):
        row, own = previous[i], current[i]
        for c in range(row.shape[0]):
            row[c] = -(scale * shift) * own[c] - back * row[c]
        for e in range(indptr[i], indptr[i + 1]):
            weight = scale * data[e]
            source = current[indices[e]]
            for c in range(row.shape[0]):
                row[c] += weight * source[c]
