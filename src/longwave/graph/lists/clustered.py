"""Approximate k-NN lists for large collections: exact products, but only with the nearest clusters.

The collection is cut into clusters of about two thousand vectors. A whole cluster is compared at once with the members
of the clusters nearest to it, so the work is still dense products at full speed, and grows like n instead of n². How
many clusters are needed for a wanted recall is read off a sample whose true neighbours are computed, before the work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.graph.lists.exact import Heaps, nearest, tiles
from longwave.types import Neighbors, Progress

_CLUSTER_SIZE = 2000
_SAMPLE = 1000
# One tile of products: 128 MB, however large a cluster is.
_TILE_ROWS, _TILE_COLUMNS = 2048, 16384
# Points per centroid that k-means learns from, and its rounds: the clusters only have to be compact, not optimal.
_TRAINING_POINTS, _ROUNDS = 64, 8


@dataclass(frozen=True, eq=False)
class Clusters:
    """members: vertex numbers of each cluster, ascending; order: (c, c) clusters by similarity to each cluster."""

    members: list[NDArray[np.int64]]
    of_vertex: NDArray[np.int64]
    order: NDArray[np.int64]


def cluster(vectors: NDArray[np.float32], *, seed: int = 0) -> Clusters:
    """Spherical k-means by faiss on a sample, then every vector to its nearest centroid."""
    import faiss

    n, dimension = vectors.shape
    count = max(2, n // _CLUSTER_SIZE)
    kmeans = faiss.Kmeans(
        dimension, count, niter=_ROUNDS, seed=seed, spherical=True, max_points_per_centroid=_TRAINING_POINTS
    )
    rng = np.random.default_rng(seed)
    training = vectors[np.sort(rng.choice(n, size=min(n, _TRAINING_POINTS * count), replace=False))]
    kmeans.train(np.ascontiguousarray(training))
    centroids = np.asarray(kmeans.centroids)
    of_vertex = nearest(vectors, centroids, k=1).ids[:, 0]
    by_cluster = np.argsort(of_vertex, kind="stable")
    members = np.split(by_cluster, np.cumsum(np.bincount(of_vertex, minlength=count))[:-1])
    order = np.argsort(-(centroids @ centroids.T), axis=1, kind="stable")
    own = np.arange(count)[:, None]
    order = np.hstack([own, order[order != own].reshape(count, count - 1)])  # a cluster is always its own first
    return Clusters(members, of_vertex, order)


def true_neighbors(vectors: NDArray[np.float32], *, k: int, seed: int = 0) -> tuple[NDArray[np.int64], Neighbors]:
    """A random sample of vertices and their exact neighbours: what recall is measured on. (s,), (s, k)"""
    sample = np.sort(np.random.default_rng(seed).choice(len(vectors), size=min(_SAMPLE, len(vectors)), replace=False))
    found = nearest(vectors[sample], vectors, k=k + 1)
    keep = found.ids != sample[:, None]
    keep[keep.all(axis=1), -1] = False  # the vertex itself was crowded out by duplicates
    shape = len(sample), k
    return sample, Neighbors(found.ids[keep].reshape(shape), found.similarities[keep].reshape(shape))


def recall(lists: Neighbors, sample: NDArray[np.int64], truth: Neighbors) -> float:
    """The share of true neighbours found; one as similar as the k-th true one counts, as ties may fall either way."""
    worst = truth.similarities[:, -1:] - 1e-6
    return float((lists.similarities[sample] >= worst).sum() / truth.similarities.size)


def nearest_others(
    vectors: NDArray[np.float32],
    *,
    k: int,
    target: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Neighbors, float]:
    """Approximate lists, and their recall measured on a sample. Same lists as the exact function, `target` of them.

    Time O(n · probes · 2000 · d), memory O(n k) and one tile.
    """
    if not 0 < target <= 1:
        raise InputError(f"recall must be above 0 and at most 1, got {target}")
    clusters = cluster(vectors, seed=seed)
    sample, truth = true_neighbors(vectors, k=k, seed=seed)
    probes = probes_for(clusters, sample, truth, target=target)
    heaps = Heaps(len(vectors), k)
    for number, members in enumerate(clusters.members):
        near = np.sort(np.concatenate([clusters.members[c] for c in clusters.order[number, :probes]]))
        _search_cluster(vectors, members, near, heaps)
        if progress:
            progress(
                f"neighbours: {probes} of {len(clusters.members)} clusters each", number + 1, len(clusters.members)
            )
    lists = heaps.lists()
    return lists, recall(lists, sample, truth)


def probes_for(clusters: Clusters, sample: NDArray[np.int64], truth: Neighbors, *, target: float) -> int:
    """The fewest clusters that hold `target` of the sample's true neighbours."""
    place = np.argsort(clusters.order[clusters.of_vertex[sample]], axis=1)  # (s, c): place of every cluster
    needed = np.take_along_axis(place, clusters.of_vertex[truth.ids], axis=1)  # (s, k)
    return int(np.quantile(needed, target, method="higher")) + 1


def _search_cluster(
    vectors: NDArray[np.float32], members: NDArray[np.int64], near: NDArray[np.int64], heaps: Heaps
) -> None:
    """Neighbours of one cluster's members among `near` (ascending), written into the heaps of all vertices."""
    if not len(members):
        return
    own = Heaps(len(members), heaps.ids.shape[1])
    place = np.searchsorted(near, members)  # of each member in `near`
    for columns in tiles(len(near), _TILE_COLUMNS):
        others = vectors[near[columns]]
        for rows in tiles(len(members), _TILE_ROWS):
            products = vectors[members[rows]] @ others.T
            here = np.flatnonzero((place[rows] >= columns.start) & (place[rows] < columns.stop))
            products[here, place[rows][here] - columns.start] = -np.inf  # not itself
            own.update(rows, products, first_column=columns.start)
    filled = ~np.isneginf(own.values)
    heaps.values[members] = own.values
    heaps.ids[members] = np.where(filled, near[np.minimum(own.ids, len(near) - 1)], own.ids)
