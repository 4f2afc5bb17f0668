"""How far a query's hits can be trusted: the chance that they are at least as good as those of Euclidean search.

Edges of the graph are mutual: each end is among the other's nearest. A query that lies on the manifold is met in the
same way by its neighbours; one that does not (a short text among long ones, a picture of something else) has neighbours
that have many others nearer to them. Three numbers tell: how many neighbours count the query among their own, how far
the nearest stands out, and how much of y lies in components it can spread from. A logistic curve turns them into a
probability. Its constants were fitted on sixteen collections, and judged on collections left out (docs/performance.md
has the diagram).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.types import Array, Neighbors, Sparse

#: Neighbours that are asked: five would be too coarse for a single query.
ASKED = 10
# The curve: of `features`, in their order, and what is added.
_SLOPES, _LEVEL = (0.434, 1.773, 0.522), -0.318


class Met(Protocol):
    """What is asked of a graph, or of the few vertices of one that a query touches."""

    @property
    def reach(self) -> NDArray[np.float32]:
        """Similarity of every vertex to its k-th neighbour."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """Component of every vertex."""

    @property
    def component_sizes(self) -> NDArray[np.int64]:
        """Vertices of every component."""

    @property
    def n_vertices(self) -> int:
        """Vertices of the whole graph."""


def reciprocity(found: Neighbors, reach: NDArray[np.float32]) -> NDArray[np.float32]:
    """The share of a vector's nearest vertices that would count it among their own k nearest. Lists (m, c) -> (m,)

    reach: (n,) similarity of every vertex to its k-th neighbour.
    """
    ids, products = found.ids[:, :ASKED], found.similarities[:, :ASKED]
    present = ids >= 0
    met = present & (products >= reach[np.maximum(ids, 0)])
    return np.asarray(met.sum(axis=1) / np.maximum(present.sum(axis=1), 1), dtype=np.float32)


def prominence(found: Neighbors) -> NDArray[np.float32]:
    """How far the nearest stands out: 1 − d₁² / d₁₀², of distances to the 1st and 10th. Lists (m, c) -> (m,)"""
    products = found.similarities[:, :ASKED]
    first = np.where(np.isfinite(products[:, :1]), products[:, :1], 0)  # where nothing is found at all, nothing does
    distances = np.maximum(1 - np.where(np.isfinite(products), products, first), 1e-7)
    return np.asarray(1 - distances[:, 0] / distances.max(axis=1), dtype=np.float32)


def connected_share(observation: Sparse, graph: Met, *, more_than: int) -> NDArray[np.float32]:
    """The share of |y| in components of more than so many vertices. From smaller ones it cannot spread. (q,)"""
    size = np.abs(observation.data)
    large = graph.component_sizes[graph.labels[observation.indices]] > more_than
    rows = np.repeat(np.arange(observation.shape[0]), np.diff(observation.indptr))
    total, kept = (np.bincount(rows, weights=w, minlength=observation.shape[0]) for w in (size, size * large))
    share = np.divide(kept, total, out=np.zeros(len(total)), where=total > 0)
    return share.astype(np.float32)


def features(
    found: Neighbors, query_of: NDArray[np.int64], weights: Array, observation: Sparse, graph: Met
) -> NDArray[np.float32]:
    """What the confidence is made of: reciprocity, prominence, connected share. (q, 3)

    found: lists of every region (m, c); query_of, weights: (m,), the first two are means over the regions of a query;
    observation: y, CSR (q, n).
    """
    size = np.abs(weights)
    total = np.bincount(query_of, weights=size)
    means = [
        np.bincount(query_of, weights=values * size) / total
        for values in (reciprocity(found, graph.reach), prominence(found))
    ]
    share = connected_share(observation, graph, more_than=min(ASKED, graph.n_vertices - 1))
    return np.stack([*means, share], axis=1).astype(np.float32)


def confidence(
    found: Neighbors, query_of: NDArray[np.int64], weights: Array, observation: Sparse, graph: Met
) -> NDArray[np.float32]:
    """The chance that the hits are at least as good as Euclidean search's; 0 where nothing is reached. (q,)

    Parameters as for `features`.
    """
    known = chance(features(found, query_of, weights, observation, graph).T)
    return np.where(np.diff(observation.indptr) > 0, known, 0).astype(np.float32)


def chance(known: Any) -> Any:
    """The curve, of three `features`: numbers, or arrays (q,)."""
    return 1 / (1 + np.exp(-(sum(slope * one for slope, one in zip(_SLOPES, known, strict=True)) + _LEVEL)))
