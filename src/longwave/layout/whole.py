"""The map of a collection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.search.snapshot import Snapshot


def positions(snapshot: Snapshot) -> NDArray[np.float32]:
    """A place for every item that is there, in the order of `ids`, both numbers from −1 to 1. (N, 2)"""
    basis = snapshot.system_basis
    own = basis.some_rows(np.arange(snapshot.n_vertices))[:, 1:3]
    scale = np.abs(own).max(axis=0, initial=1e-9)
    items = snapshot.items
    rows, owner = items.rows_of(items.live_numbers())
    first = np.zeros(len(snapshot), dtype=np.int64)
    first[owner] = rows
    return np.asarray(own[np.minimum(first, len(own) - 1)] / scale, dtype=np.float32)
