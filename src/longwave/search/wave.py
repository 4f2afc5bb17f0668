"""The answer to one query over all items: what a map of the collection is coloured by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.search.defaults import way
from longwave.search.euclidean import Euclidean
from longwave.search.snapshot import Snapshot
from longwave.types import Filter, Sparse

# The root that `Anchor` takes as well: scores fall over many powers of ten.
_ROOT = 4


def wave(snapshot: Snapshot, y: Sparse, filter: Filter) -> NDArray[np.float32]:
    """(x / max x)^¼ of every item that is there, in the order of `ids`; 0 where nothing arrives. (N,), from 0 to 1

    y: where one query begins, CSR (1, n), as `Index.observe` gives it.
    """
    _, solver = way(snapshot, None, None, None, filter)
    assert not isinstance(solver, Euclidean)
    scores = solver(snapshot.system, y, filter).scores[0]  # (targets,)
    items = snapshot.items
    own = np.maximum(scores[items.target_of(items.live_numbers())], 0)  # below 0 is noise of the basis, or not wanted
    peak = own.max(initial=0)
    return np.asarray((own / peak if peak > 0 else own) ** (1 / _ROOT), dtype=np.float32)
