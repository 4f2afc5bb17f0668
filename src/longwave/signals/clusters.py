"""Clusters of items: k-means of the rows of Φᵀ, each made unit length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.filters import response
from longwave.rows.vectors import normalize
from longwave.search.snapshot import Snapshot
from longwave.signals.carrying import shares
from longwave.types import Array, Filter

# The longest waves that are looked at: more of them changed ARI by less than another start of k-means did, on seven
# labelled sets of 213 to 1,854 items.
_WAVES = 100
# Numbers of clusters that are tried where none is said.
_TRIED = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 56, 68, 80)
# Of the largest modularity, that the number of clusters must reach; the smallest such number is taken. Modularity
# itself prefers parts of clusters: on digits, USPS and JAFFE, of 10 classes each, it is largest at 28 to 40.
_ENOUGH = 0.94
_STARTS = 10


@dataclass(frozen=True, eq=False)
class Clusters:
    """ids: (N,). labels: (N,) from 0, the largest cluster first; −1 for items that no wave and no vector joins to one.

    centers: (k, waves) unit rows. modularity: how much more of the edges' weight lies within clusters than chance has.
    """

    ids: Array
    labels: NDArray[np.int64]
    centers: NDArray[np.float32]
    modularity: float

    def __len__(self) -> int:
        return len(self.centers)


def cluster(snapshot: Snapshot, k: int | None, *, filter: Filter, seed: int) -> Clusters:
    """Clusters along the graph. Parameters as for `Index.cluster`."""
    if k is not None:
        check_counts(k=k)
    points = vertex_points(snapshot, filter)
    inside = np.flatnonzero(points.any(axis=1))
    if k is not None and k > len(inside):
        raise InputError(f"k must be at most {len(inside)}, the vertices that have edges, got {k}")
    labels, centers = _kmeans(points[inside], k, seed) if k is not None else _best(snapshot, points, inside, seed)
    order = np.argsort(-np.bincount(labels, minlength=len(centers)), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    found = np.full(snapshot.n_vertices, -1)
    found[inside] = place[labels]
    quality = modularity(snapshot, found)
    ids = snapshot.items.ids[snapshot.items.live_numbers()]
    return Clusters(ids, _of_items(snapshot, _near(snapshot, found)), centers[order], quality)


def vertex_points(snapshot: Snapshot, filter: Filter) -> NDArray[np.float32]:
    """The rows of Φᵀ, the longest waves alone, each of unit length; 0 for a vertex without edges. (n, waves)"""
    spectrum = snapshot.system.require_spectrum("cluster")
    chosen = np.sort(np.argsort(-spectrum.eigenvalues, kind="stable")[:_WAVES])
    basis, first, parts = spectrum.eigenvectors, 0, []
    for part in basis.parts:
        own = chosen[(chosen >= first) & (chosen < first + part.width)] - first
        block = np.zeros((basis.n, len(own)), dtype=np.float32)
        block[part.rows] = np.asarray(part.values[:])[:, own]
        parts.append(block)
        first += part.width
    rest = chosen[chosen >= basis.n_dense] - basis.n_dense
    parts.append(sp.csc_array(basis.sparse)[:, rest].toarray())
    gains = np.sqrt(np.maximum(response(filter, spectrum.eigenvalues[chosen]), 0)).astype(np.float32)
    return normalize(np.hstack(parts) * gains)


def modularity(snapshot: Snapshot, labels: NDArray[np.int64]) -> float:
    """Σ_c (w_c / w − (d_c / w)²): w_c the weight within cluster c, d_c the degrees of its vertices. labels: (n,)"""
    known = np.flatnonzero(labels >= 0)
    count = int(labels.max(initial=-1)) + 1
    member = sp.csr_array((np.ones(len(known)), (known, labels[known])), shape=(len(labels), count))
    degrees = snapshot.graph.degrees
    within = np.asarray((member.multiply(snapshot.graph.adjacency() @ member)).sum(axis=0)).ravel()
    total = degrees.sum()
    return float((within / total - (member.T @ degrees / total) ** 2).sum()) if total > 0 else 0.0


def _kmeans(points: NDArray[np.float32], k: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    from sklearn.cluster import KMeans

    made = KMeans(k, n_init=_STARTS, random_state=seed).fit(points)
    return made.labels_.astype(np.int64), normalize(made.cluster_centers_.astype(np.float32))


def _best(
    snapshot: Snapshot, points: NDArray[np.float32], inside: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The fewest clusters whose modularity is about as large as that of any number of them."""
    tried = []
    for k in [k for k in _TRIED if 4 * k <= len(inside)] or [1]:
        made = _kmeans(points[inside], k, seed)
        whole = np.full(snapshot.n_vertices, -1)
        whole[inside] = made[0]
        tried.append((modularity(snapshot, whole), made))
    most = max(quality for quality, _ in tried)
    return next(made for quality, made in tried if quality >= _ENOUGH * most)


def _near(snapshot: Snapshot, found: NDArray[np.int64]) -> NDArray[np.int64]:
    """Vertices that no wave reaches take the cluster of the nearest vector that has one. (n,) -> (n,)"""
    lost, kept = np.flatnonzero(found < 0), np.flatnonzero(found >= 0)
    if not snapshot.has_vectors or not len(lost) or not len(kept):
        return found
    lists = snapshot.vertices.search(np.asarray(snapshot.vertices.rows(lost)), min(20, snapshot.n_vertices)).ids
    there = np.where(lists >= 0, found[np.maximum(lists, 0)], -1)
    first = (there >= 0).argmax(axis=1)
    found = found.copy()
    found[lost] = there[np.arange(len(lost)), first]
    return found


def _of_items(snapshot: Snapshot, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of every item the cluster that has most of it; −1 where none has any of it. (n,) -> (N,)"""
    known = np.flatnonzero(vertices >= 0)
    count = max(1, int(vertices.max(initial=0)) + 1)
    member = sp.csr_array((np.ones(len(known)), (known, vertices[known])), shape=(len(vertices), count))
    share = np.asarray((shares(snapshot) @ member).toarray())
    return np.where(share.any(axis=1), share.argmax(axis=1), -1)
