"""The compiled loops of the search along links (numba), imported late like `compiled`.

Links are rows near to a row, in different directions: from any row a few steps lead to the rows nearest to a query.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from longwave.rows.compiled import Array, _serial, _sift_down, _threaded, jit
from longwave.rows.row_loops import OWN_ROWS, fetch, product, put_in_order, scale_of, score_rows

# The best of all entries, from which a search begins.
_STARTS = 8
# Links of the row that may be next, which are asked for beforehand.
_CHAIN = 48
# How many times as many rows are compared again where the first ones might not be all.
_WIDER = 8


@_threaded(lambda rows, ids, *_: ids.size * rows.shape[1], fastmath={"reassoc", "contract", "nsz"})
def spread_links(rows: Array, ids: Array, products: Array, slack: float, out: Array) -> None:
    """Of every list, the rows that lie in different directions. rows: (n, d); ids, products: (n, k), best first.

    One is passed over where another that is kept leads there: u is nearer to it than the row itself, by the slack. Of
    squared distances, d²(u, w) < (1 − slack) d²(u, v). out: (n, m), filled with −1; the kept ones come first.
    """
    for v in numba.prange(ids.shape[0]):
        kept = 0
        for j in range(ids.shape[1]):
            u = ids[v, j]
            if u < 0 or u == v:
                continue
            nearer = products[v, j] + np.float32(slack) * (np.float32(1) - products[v, j])
            apart = True
            for other in range(kept):
                if product(rows[u], rows[out[v, other]]) > nearer:
                    apart = False
                    break
            if apart:
                out[v, kept] = u
                kept += 1
                if kept == out.shape[1]:
                    break


@_serial()
def both_ways(links: Array, most: int) -> Any:
    """Every link also backwards, nearest first, up to `most` of a row. (n, m), −1 behind -> CSR ends (n + 1,), links"""
    n = links.shape[0]
    both, sizes = np.empty((n, most), dtype=np.int32), np.zeros(n, dtype=np.int64)
    for v in range(n):
        for j in range(links.shape[1]):
            if links[v, j] < 0:
                break
            both[v, j] = links[v, j]
            sizes[v] = j + 1
    for j in range(links.shape[1]):
        for v in range(n):
            u = links[v, j]
            if u < 0 or sizes[u] == most:
                continue
            known = False
            for i in range(sizes[u]):
                known = known or both[u, i] == v
            if not known:
                both[u, sizes[u]] = v
                sizes[u] += 1
    ends = np.zeros(n + 1, dtype=np.int64)
    for v in range(n):
        ends[v + 1] = ends[v] + sizes[v]
    flat = np.empty(ends[n], dtype=np.int32)
    for v in range(n):
        for i in range(sizes[v]):
            flat[ends[v] + i] = both[v, i]
    return ends, flat


@_serial()
def unreached(ends: Array, links: Array, entries: Array, most: int) -> Any:
    """Further entries, at most so many, such that the links lead from some entry to every row."""
    n = ends.shape[0] - 1
    seen, waiting, more = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32), np.empty(most, dtype=np.int32)
    size, found = 0, 0
    for row in entries:
        seen[row] = True
        waiting[size] = row
        size += 1
    for start in range(n + 1):
        while size > 0:
            size -= 1
            here = waiting[size]
            for e in range(ends[here], ends[here + 1]):
                if not seen[links[e]]:
                    seen[links[e]] = True
                    waiting[size] = links[e]
                    size += 1
        if start == n or found == most:
            break
        if not seen[start]:
            seen[start] = True
            waiting[0], size = start, 1
            more[found] = start
            found += 1
    return more[:found]


@jit
def _best_rows(values: Array, scales: Array, query: Array, count: int) -> Any:
    """The rows with the largest products with a query, in no order, and the least product. count: n at most"""
    best, found = np.full(count, -np.inf, dtype=np.float32), np.zeros(count, dtype=np.int32)
    for row in range(values.shape[0]):  # one after the other, as they lie
        score = product(values[row], query) * scale_of(scales, row)
        if score > best[0]:  # the worst of the best is at the root of the heap
            best[0], found[0] = score, row
            _sift_down(best, found, np.int64(0), count)
    return found, best[0]


@_serial(nogil=True)
def nearest_coded(
    codes: Array,
    code_scales: Array,
    values: Array,
    scales: Array,
    queries: Array,
    biased: Array,
    means: Array,
    error: float,
    count: int,
    ids: Array,
    products: Array,
) -> None:
    """The rows nearest to every query: the `count` best by their codes, compared as they are. ids, products: (q, k).

    codes, code_scales: (n, d) int8 and (n,), of all rows less their mean. values, scales: the rows; biased: the queries
    for these. means: (q,) products with the mean. error: that no product of a code with a unit vector is farther off.
    Where a row that was not compared could be nearer, more are compared; where that is not enough, all rows. Products
    are NaN where those of the rows are.
    """
    n, k = values.shape[0], ids.shape[1]
    for q in range(queries.shape[0]):
        tried = count
        while True:
            if tried < n:
                found, least = _best_rows(codes, code_scales, queries[q], tried)
            else:
                found, least = _best_rows(values, scales, biased[q], k)
            best = np.empty(found.shape[0], dtype=np.float32)
            score_rows(values, scales, OWN_ROWS, found, biased[q], best, np.int64(0), found.shape[0])
            for value in best:
                least = least if value == value else -np.inf  # not a number: the rows are damaged
            put_in_order(best, found)
            if tried >= n or best[k - 1] >= least + means[q] + error:
                break
            tried = _WIDER * tried if tried == count else n
        for i in range(k):  # fewer than k products are numbers: rows are damaged
            ids[q, i], products[q, i] = found[i], best[i] if least > -np.inf else np.nan


@jit
def _follow(
    values: Array,
    scales: Array,
    ends: Array,
    links: Array,
    starts: Array,
    query: Array,
    effort: int,
    stamps: Array,
    stamp: int,
) -> Any:
    """Best first along the links: always on from the best row not yet left, until the `effort` best are. -> best first

    stamps: of the rows that were seen.
    """
    best, found = np.empty(effort, dtype=np.float32), np.empty(effort, dtype=np.int32)
    left = np.zeros(effort, dtype=np.bool_)
    room, line = starts.shape[0], 64 // values.itemsize
    fresh, scores = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
    size: Any = np.int64(0)
    place: Any = np.int64(0)
    count: Any = np.int64(0)
    for row in starts:
        if stamps[row] != stamp:
            stamps[row] = stamp
            fresh[count] = row
            count += 1
    while True:
        score_rows(values, scales, OWN_ROWS, fresh, query, scores, np.int64(0), count)
        for i in range(count):
            score = scores[i]
            if size == effort and score <= best[size - 1]:
                continue
            low, high = 0, size  # where it belongs: behind all that are as good
            while low < high:
                middle = (low + high) >> 1
                if best[middle] >= score:
                    low = middle + 1
                else:
                    high = middle
            for j in range(size if size < effort else effort - 1, low, -1):
                best[j], found[j], left[j] = best[j - 1], found[j - 1], left[j - 1]
            best[low], found[low], left[low] = score, fresh[i], False
            fetch(ends, fresh[i])
            size = min(size + 1, effort)
            place = min(place, low)
        while place < size and left[place]:
            place += 1
        if place == size:
            return found[:size], best[:size]
        left[place] = True
        here = found[place]
        first, last = ends[here], ends[here + 1]
        for e in range(first, last):
            fetch(stamps, links[e])
        if place + 1 < size:  # perhaps the next
            after = ends[found[place + 1]]
            for e in range(after, after + _CHAIN, 16):
                fetch(links, e)
        if last - first > room:
            room = last - first
            fresh, scores = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float32)
        count = np.int64(0)
        for e in range(first, last):
            row = links[e]
            if stamps[row] != stamp:
                stamps[row] = stamp
                fresh[count] = row
                count += 1
                for c in range(0, min(values.shape[1], 8 * line), line):
                    fetch(values[row], c)


@_serial(nogil=True)
def nearest_linked(
    values: Array,
    scales: Array,
    steps: Array,
    step_scales: Array,
    ends: Array,
    links: Array,
    entries: Array,
    codes: Array,
    code_scales: Array,
    queries: Array,
    stepping: Array,
    biased: Array,
    coded: bool,
    effort: int,
    stamps: Array,
    stamp: int,
    ids: Array,
    products: Array,
) -> None:
    """The rows nearest to every query: the best of all entries by their codes, and from there along the links.

    values, scales: the rows. steps, step_scales: what the way goes by, if `coded` the same in a byte a number, else the
    rows again. ends, links: of the rows. entries: (e,) rows to begin at; codes, code_scales: (e, d) int8 and (e,), of
    these. stepping, biased: the queries for the steps and for the rows. effort: rows that are kept on the way. stamps:
    (n,), none of them `stamp` or the q that follow. ids, products: (q, k) are filled.
    """
    for q in range(queries.shape[0]):
        starts = entries[_best_rows(codes, code_scales, queries[q], min(_STARTS, entries.shape[0]))[0]]
        found, best = _follow(steps, step_scales, ends, links, starts, stepping[q], effort, stamps, stamp + q)
        whole = True
        if coded:
            score_rows(values, scales, OWN_ROWS, found, biased[q], best, np.int64(0), found.shape[0])
            for value in best:
                whole = whole and value == value
            put_in_order(best, found)
        for i in range(ids.shape[1]):
            ids[q, i], products[q, i] = (found[i], best[i]) if i < found.shape[0] else (-1, -np.inf)
        if not whole:  # rows are damaged
            products[q, 0] = np.nan
