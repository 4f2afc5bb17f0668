"""Items as combinations of vertices: what turns something about items into a signal on the graph, and back."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.search.snapshot import Snapshot
from longwave.types import Sparse


def composition(snapshot: Snapshot, numbers: NDArray[np.int64] | None = None) -> Sparse:
    """What items are made of: of each of `index.ids`, or of those of these numbers. CSR (N, n), float32.

    An item of one vector is its vertex, which it shares with its copies; an item of several vectors is its row of Σ;
    one that is outside of the graph is ψ. Not balanced.
    """
    n, items = snapshot.n_vertices, snapshot.items
    targets = items.target_of(items.live_numbers() if numbers is None else numbers)
    if snapshot.pooling is None and snapshot.added is None:
        shape = len(targets), n
        return sp.csr_array((np.ones(len(targets), dtype=np.float32), targets, np.arange(len(targets) + 1)), shape)
    own = sp.eye_array(n, format="csr", dtype=np.float32) if snapshot.pooling is None else snapshot.pooling
    blocks = () if snapshot.added is None else snapshot.added.blocks
    every = sp.vstack([own, *(block.combined for block in blocks)], format="csr")
    return sp.csr_array(sp.csr_array(every)[targets], dtype=np.float32)
