"""A graph in the plane: long waves say where clusters lie, forces along the edges draw them, components are packed.

The two longest waves alone show little: they single out small groups far away, and all else is a blob in the middle.
Many of them together, each vertex divided by its length, put every cluster in a direction of its own, and two principal
directions of that are where the layout begins. Then neighbours pull at each other and others push, as in t-SNE and
UMAP; the harder the pull, the nearer these come to the waves themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from longwave.types import Array, Sparse

#: Two coordinates in which some vertices of one component begin. (m,) -> (m, 2)
Start: TypeAlias = Callable[[NDArray[np.int64]], Array]

# Neighbours of each vertex that pull, the strongest; others of which a sample pushes, each round; how hard.
_PULLING, _SAMPLES, _PUSH = 15, 5, 0.5
# What a vertex is pulled to the middle with, times its distance from there: far groups do not drift away.
_HOME = 0.002
# Rounds of small graphs, and of those with more vertices than the last number.
_ROUNDS, _FEWER, _MANY = 300, 150, 20_000
# Half of the side of the square in which 1,000 vertices and more begin, in units of the forces.
_BEGIN = 10.0
# Vertices from which on a component has waves worth to begin with; smaller ones begin on a circle.
_LEAST = 8
# Radius of a component's disc, and of the empty rim around it, by the root of its vertices.
_ROOM = 1.15


@dataclass(frozen=True, eq=False)
class Ordered:
    """Vertices by component, the largest first. order: (n,) vertices. component: (n,) of each of these. sizes: (c,)."""

    order: NDArray[np.int64]
    component: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, matrix: Sparse) -> Ordered:
        """The components of a graph. CSR (n, n)"""
        _, found = connected_components(matrix, directed=False)
        sizes = np.bincount(found)
        rank = np.empty(len(sizes), dtype=np.int64)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
        order = np.argsort(rank[found], kind="stable")
        return cls(order, rank[found][order], np.sort(sizes)[::-1])

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where every component begins, and the end. (c + 1,)"""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def centered(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Places with the middle of every component at 0. (n, 2)"""
        middle = np.stack([np.bincount(self.component, weights=places[:, axis]) for axis in (0, 1)], axis=1)
        return places - (middle / self.sizes[:, None])[self.component]

    def largest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest value of every component. (n,) -> (c,)"""
        return np.maximum.reduceat(values, self.ends[:-1])


def place(matrix: Sparse, start: Start) -> NDArray[np.float32]:
    """A place for every vertex of a graph, both numbers from −1 to 1. matrix: W or 𝒲, CSR (n, n). -> (n, 2)

    Always the same for the same graph. Time O(n).
    """
    from longwave.rows import layout_loops

    known = Ordered.of(matrix)
    pulling = _pulling(sp.csr_array(matrix[known.order][:, known.order]))
    places = _begun(known, start)
    layout_loops.spread(
        pulling.indptr.astype(np.int64),
        pulling.indices.astype(np.int64),
        pulling.data.astype(np.float32),
        known.ends[known.component],
        known.ends[known.component + 1],
        places,
        _ROUNDS if len(places) <= _MANY else _FEWER,
        _SAMPLES,
        _PUSH,
        _HOME,
    )
    packed = _packed(known, places.astype(np.float64))
    low, high = packed.min(axis=0), packed.max(axis=0)
    out = np.empty((len(packed), 2), dtype=np.float32)
    out[known.order] = (2 * packed - low - high) / max(float((high - low).max()), 1e-9)
    return np.clip(out, -1, 1)


def _pulling(matrix: Sparse) -> Sparse:
    """Edges to the strongest neighbours of every vertex, with weights that sum to about 1. CSR (n, n)"""
    from longwave.rows import layout_loops

    kept = np.zeros(matrix.nnz, dtype=np.bool_)
    layout_loops.mark_largest(matrix.indptr, matrix.data, _PULLING, kept)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[kept]
    total = np.bincount(rows, weights=matrix.data[kept], minlength=matrix.shape[0])
    share = np.asarray(matrix.data[kept] / total[rows], dtype=np.float32)
    one = sp.csr_array((share, (rows, matrix.indices[kept])), shape=matrix.shape)
    return sp.csr_array((one + one.T) / 2)


def _begun(known: Ordered, start: Start) -> NDArray[np.float32]:
    """Where the forces begin: every component around 0, no two vertices at one place. (n, 2), ordered"""
    own, ends = np.zeros((len(known.order), 2)), known.ends
    for number in range(int(np.count_nonzero(known.sizes >= _LEAST))):
        span = slice(ends[number], ends[number + 1])
        own[span] = start(known.order[span])
    own = known.centered(own)
    reach = _BEGIN * np.minimum(1, np.sqrt(known.sizes / 1000))
    own *= (reach / np.maximum(known.largest(np.abs(own).max(axis=1)), 1e-12))[known.component, None]
    turn = np.arange(len(own)) * np.pi * (3 - np.sqrt(5))  # the golden angle: a direction of its own for each
    return np.asarray(own + 0.05 * np.stack([np.cos(turn), np.sin(turn)], axis=1), dtype=np.float32)


def _packed(known: Ordered, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every component in a disc whose area is as its vertices are many, the largest in the middle. (n, 2), ordered"""
    from longwave.rows import layout_loops

    own, radii = known.centered(places), np.sqrt(known.sizes.astype(np.float64))
    away = np.hypot(own[:, 0], own[:, 1])
    own *= (radii / np.maximum(known.largest(away), 1e-9))[known.component, None]
    own[known.sizes[known.component] == 1] = 0
    centers = np.zeros((len(radii), 2))
    layout_loops.pack(_ROOM * radii, centers)
    return own + centers[known.component]
