"""Paths on graphs (§5.5): the strongest of a given length, beside the sum over all of them, which is a matrix power.

With w_ij = e^{−d_ij} the weight of a path is the product of its edges, and the shortest path is the one of largest
weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.types import Sparse

# Two-edge steps that are looked at in one go: about 400 MB.
_STEPS = 1 << 24


class Path(NamedTuple):
    """A way through the graph. vertices: (length + 1,), from source to target. weight: the product of its edges.

    total: the sum of the weights of all paths of that length between the two, of which this is the strongest.
    """

    vertices: NDArray[np.int64]
    weight: float
    total: float


def max_product(matrix: Sparse, length: int) -> Sparse:
    """W^{⊗t}: the power of a matrix with max in place of + (§5.5). CSR (n, n), float64.

    Entry (i, j) is the weight of the strongest path of exactly `length` edges from i to j; vertices may repeat. Weights
    are at least 0. Time and memory grow with the pairs that are `length` edges apart, up to n².
    """
    check_counts(length=length)
    edges = sp.csr_array(matrix, dtype=np.float64)
    power = edges
    for _ in range(length - 1):
        power = _max_times(power, edges)
    return power


def sum_product(matrix: Sparse, length: int) -> Sparse:
    """W^t, the ordinary power: entry (i, j) is the sum of the weights of all paths of `length` edges. CSR (n, n)"""
    check_counts(length=length)
    edges = sp.csr_array(matrix, dtype=np.float64)
    power = edges
    for _ in range(length - 1):
        power = sp.csr_array(power @ edges)
    return power


def strongest_path(matrix: Sparse, source: int, target: int, length: int) -> Path | None:
    """The path of largest weight of exactly `length` edges, or None where there is none. Time O(length · nnz)."""
    check_counts(length=length)
    n = matrix.shape[0]
    for name, vertex in (("source", source), ("target", target)):
        if not 0 <= vertex < n:
            raise InputError(f"{name} must be a vertex from 0 to {n - 1}, got {vertex}")
    edges = sp.csc_array(matrix, dtype=np.float64)  # the edges into every vertex
    into = np.repeat(np.arange(n), np.diff(edges.indptr))
    best, total = np.zeros(n), np.zeros(n)
    best[source] = total[source] = 1.0
    before = []
    for _ in range(length):
        weights = best[edges.indices] * edges.data
        order = np.lexsort((-weights, into))  # by the vertex arrived at, strongest first
        arrived, first = np.unique(into[order], return_index=True)
        came_from, best = np.full(n, -1, dtype=np.int64), np.zeros(n)
        best[arrived] = weights[order[first]]
        came_from[arrived] = edges.indices[order[first]]
        before.append(came_from)
        total = np.asarray(edges.T @ total)
    if best[target] <= 0:
        return None
    way = [target]
    for came_from in reversed(before):
        way.append(int(came_from[way[-1]]))
    return Path(np.array(way[::-1]), float(best[target]), float(total[target]))


def _max_times(left: Sparse, right: Sparse) -> Sparse:
    """max_k a_ik b_kj of every pair, row block by row block."""
    n, counts = left.shape[0], np.diff(right.indptr)
    steps = np.add.reduceat(np.append(counts[left.indices], 0), left.indptr[:-1]) * (np.diff(left.indptr) > 0)
    ends = np.cumsum(steps)
    rows, start = [], 0
    while start < n:
        spent = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, spent + _STEPS, side="right")))
        rows.append(_max_times_rows(sp.csr_array(left[start:stop]), right, counts))
        start = stop
    return sp.csr_array(sp.vstack(rows, format="csr"))


def _max_times_rows(left: Sparse, right: Sparse, counts: NDArray[np.integer]) -> Sparse:
    middle = left.indices
    sizes = counts[middle]
    rows = np.repeat(np.repeat(np.arange(left.shape[0]), np.diff(left.indptr)), sizes)
    first = np.cumsum(sizes) - sizes
    places = np.arange(len(rows)) + np.repeat(right.indptr[middle] - first, sizes)
    columns, weights = right.indices[places], np.repeat(left.data, sizes) * right.data[places]
    pair = rows * np.int64(right.shape[1]) + columns
    order = np.argsort(pair, kind="stable")
    pair, begin = np.unique(pair[order], return_index=True)
    best = np.maximum.reduceat(weights[order], begin) if len(begin) else np.zeros(0)
    where = pair // right.shape[1], pair % right.shape[1]
    return sp.csr_array((best, where), shape=(left.shape[0], right.shape[1]))
