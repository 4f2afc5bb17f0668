"""The mutual neighbour graph of §2.3 and its normalisation of §2.1."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.basis import narrow_indices
from longwave.types import Array, Graph, Neighbors, Sparse


def similarity(products: Array, gamma: float) -> Array:
    """s(v, z) = [vᵀz]₊^γ (§2.3), element by element."""
    return np.maximum(products, 0) ** gamma


def mutual_adjacency(neighbors: Neighbors, *, gamma: float) -> Sparse:
    """w_ij = min(s(v_i | v_j), s(v_j | v_i)): an edge where each is among the other's neighbours (§2.3).

    The two products may differ in the last bit; the minimum makes W symmetric exactly. Edges of similarity 0 are none.
    """
    n, k = neighbors.ids.shape
    present = neighbors.ids.ravel() >= 0
    rows = np.repeat(np.arange(n), k)[present]
    weights = similarity(neighbors.similarities.ravel()[present], gamma).astype(np.float32)
    directed = sp.csr_array((weights, (rows, neighbors.ids.ravel()[present])), shape=(n, n))
    adjacency = sp.csr_array(directed.minimum(directed.T))
    adjacency.eliminate_zeros()
    adjacency.sort_indices()
    narrow_indices(adjacency)
    return adjacency


def normalize(adjacency: Sparse) -> tuple[Sparse, NDArray[np.float64]]:
    """𝒲 = D^{-1/2} W D^{-1/2}, D = diag(W 1), with 0/0 = 0 (§2.1). Returns 𝒲 and the diagonal of D."""
    degrees = np.asarray(adjacency.sum(axis=1, dtype=np.float64)).ravel()
    scale = np.zeros_like(degrees)
    np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
    rows = np.repeat(np.arange(len(degrees)), np.diff(adjacency.indptr))
    # One product of the two scales: symmetric to the last bit.
    data = (adjacency.data * (scale[rows] * scale[adjacency.indices])).astype(np.float32)
    normalized = sp.csr_array((data, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    return normalized, degrees


def component_labels(adjacency: Sparse) -> NDArray[np.int64]:
    """The connected component of each vertex, numbered by size: 0 is the giant one (ties by first vertex)."""
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(adjacency, directed=False)
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[labels], dtype=np.int64)


def build(neighbors: Neighbors, *, gamma: float) -> Graph:
    """Neighbour lists to graph: mutual adjacency, normalisation, components. Time and memory O(n k)."""
    adjacency = mutual_adjacency(neighbors, gamma=gamma)
    normalized, degrees = normalize(adjacency)
    # A vertex with fewer than k others has room for anyone.
    reach = np.where(np.isfinite(neighbors.similarities[:, -1]), neighbors.similarities[:, -1], -1.0)
    return Graph(normalized, degrees, component_labels(adjacency), reach.astype(np.float32))
