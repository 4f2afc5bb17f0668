"""The mutual neighbour graph of §2.3 and its normalisation of §2.1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.graph import weights as kernels
from longwave.graph.weights import Kernel
from longwave.rows.sparse import narrow_indices
from longwave.types import Array, Neighbors, Sparse

#: A weight below this does not connect: float32 would make a component of what no wave passes through.
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Graph:
    """The mutual neighbour graph.

    normalized: 𝒲 = D^{-1/2} W D^{-1/2}, CSR (n, n) float32, symmetric, zero diagonal.
    degrees: (n,) the diagonal of D. labels: (n,) connected component of each vertex, 0 the largest. reach: (n,) its
    similarity to its k-th neighbour, mutual or not. scales: (n,) σ of each vertex, for a kernel that has scales.
    """

    normalized: Sparse
    degrees: NDArray[np.float64]
    labels: NDArray[np.int64]
    reach: NDArray[np.float32]
    scales: NDArray[np.float32] | None = None

    @property
    def n_vertices(self) -> int:
        """How many vertices there are."""
        return len(self.labels)

    @cached_property
    def component_sizes(self) -> NDArray[np.int64]:
        """Vertices per component, largest first."""
        return np.bincount(self.labels)

    def adjacency(self) -> Sparse:
        """W itself, from 𝒲 and D."""
        root = sp.diags_array(np.sqrt(self.degrees))
        return sp.csr_array(root @ self.normalized @ root)


def mutual_adjacency(neighbors: Neighbors, *, kernel: Kernel, scales: Array | None = None) -> Sparse:
    """w_ij = min(s(v_i | v_j), s(v_j | v_i)): an edge where each is among the other's neighbours (§2.3).

    The two products may differ in the last bit; the minimum makes W symmetric exactly. Weights of about 0 are no edges.
    scales: (n,) of every vertex, for a kernel that has them.
    """
    n, k = neighbors.ids.shape
    present = neighbors.ids.ravel() >= 0
    rows = np.repeat(np.arange(n), k)[present]
    columns = neighbors.ids.ravel()[present]
    one, other = (None, None) if scales is None else (scales[rows], scales[columns])
    weights = kernels.weights(kernel, neighbors.similarities.ravel()[present], one, other).astype(np.float32)
    weights[weights < SMALLEST] = 0
    directed = sp.csr_array((weights, (rows, columns)), shape=(n, n))
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


def build(neighbors: Neighbors, *, kernel: Kernel, edges: Sparse | None = None) -> Graph:
    """Neighbour lists to graph: mutual adjacency, normalisation, components. Time and memory O(n k).

    edges: further ones, a symmetric CSR (n, n); their weights are added.
    """
    scaled = kernels.scale_neighbor(kernel)
    scales = None if scaled is None else kernels.scales(neighbors.similarities, scaled)
    adjacency = mutual_adjacency(neighbors, kernel=kernel, scales=scales)
    if edges is not None:
        adjacency = sp.csr_array(adjacency + edges, dtype=np.float32)
        adjacency.sort_indices()
        narrow_indices(adjacency)
    normalized, degrees = normalize(adjacency)
    # A vertex with fewer than k others would accept any vector as a neighbour.
    reach = np.where(np.isfinite(neighbors.similarities[:, -1]), neighbors.similarities[:, -1], -1.0)
    return Graph(normalized, degrees, component_labels(adjacency), reach.astype(np.float32), scales)
