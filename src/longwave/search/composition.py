"""Items as combinations of vertices: what turns something about items into a signal on the graph, and back."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longwave.search.snapshot import Snapshot
from longwave.types import Sparse


def composition(snapshot: Snapshot) -> Sparse:
    """What each of `index.ids` is made of. CSR (N, n), float32.

    An item of one vector is its vertex, which it shares with its copies; an item of several vectors is its row of Σ;
    one that is outside of the graph is ψ. Not balanced.
    """
    n, items = snapshot.n_vertices, snapshot.items
    own = sp.eye_array(n, format="csr", dtype=np.float32) if snapshot.pooling is None else snapshot.pooling
    targets = own
    if snapshot.added is not None:
        targets = sp.vstack([own, *(block.combined for block in snapshot.added.blocks)], format="csr")
    return sp.csr_array(sp.csr_array(targets)[items.target_of(items.live_numbers())], dtype=np.float32)
