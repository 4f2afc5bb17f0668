"""The map of a collection: a place for every item, near to what the graph joins it with."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.layout.plane import place
from longwave.layout.waves import Waves
from longwave.search.snapshot import Snapshot
from longwave.spectrum import Chebyshev
from longwave.types import Sparse

# Waves that are computed for a collection without a basis.
_RANK = 48


def positions(snapshot: Snapshot, known: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """A place for every item that is there, in the order of `ids`, both numbers from −1 to 1. (N, 2)

    known: `graph_positions` of the same graph, which does not change while items are added and removed. Added items lie
    among the vertices that they are expressed by.
    """
    own = graph_positions(snapshot) if known is None else known
    if snapshot.added is not None:
        own = np.concatenate([own, _among(own, snapshot)])
    items = snapshot.items
    return own[items.target_of(items.live_numbers())]


def prepare() -> None:
    """Compile the loops of a map, or load what was compiled: before others wait for this process."""
    ring = sp.csr_array(np.roll(np.eye(9, dtype=np.float32), 1, axis=1))
    place(sp.csr_array(ring + ring.T), lambda vertices: np.zeros((len(vertices), 2)))


def graph_positions(snapshot: Snapshot) -> NDArray[np.float32]:
    """A place for what the graph ranks: its vertices, or the items where these have several. (targets, 2)"""
    matrix, spectrum = snapshot.graph.normalized, snapshot.spectrum
    if spectrum is None:
        spectrum = Chebyshev(rank=min(_RANK, matrix.shape[0]))(matrix)
    basis = spectrum.eigenvectors
    if snapshot.pooling is not None:
        matrix = _between_items(snapshot.pooling, matrix)
        basis = basis.pool(snapshot.pooling) if snapshot.pooled is None else snapshot.pooled
    return place(matrix, Waves.of(basis, spectrum.eigenvalues))


def _between_items(pooling: Sparse, matrix: Sparse) -> Sparse:
    """The graph of items that have several vertices: the sum over all pairs of these. CSR (N, N)"""
    belongs = sp.csr_array((np.ones(pooling.nnz, dtype=np.float32), pooling.indices, pooling.indptr), pooling.shape)
    found = sp.csr_array(belongs @ matrix @ belongs.T)
    found.setdiag(0)
    found.eliminate_zeros()
    return found


def _among(own: NDArray[np.float32], snapshot: Snapshot) -> NDArray[np.float32]:
    """Places of the targets outside of the graph: the mean of those they consist of, by ψ. (a, 2)"""
    assert snapshot.added is not None
    blocks = []
    for block in snapshot.added.blocks:
        psi = block.combined  # (A, n)
        if snapshot.pooling is not None:  # to items, by any of their vertices
            belongs = snapshot.pooling.T
            psi = sp.csr_array(psi @ sp.csr_array(belongs > 0, dtype=np.float32))
        total = np.asarray(psi.sum(axis=1)).ravel()
        blocks.append((psi @ own) / np.where(total > 0, total, 1)[:, None])
    return np.asarray(np.concatenate(blocks), dtype=np.float32)
