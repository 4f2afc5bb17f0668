"""Queries that come from elsewhere, to measure the recall of a search before anybody has asked it.

A row that looks for its neighbours flatters a search: links were chosen for it, and it lies where the collection does.
Real queries need not: a box of a photograph, another camera, a question among documents. Held-out pictures of
Fashion-MNIST are found better than these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.rows.vectors import normalize


def strange_queries(rows: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Some rows, each with noise of its own length, as unit vectors. (n, d) -> (count, d)"""
    some = rows[rng.choice(len(rows), size=count, replace=False)]
    return normalize(some + rng.standard_normal(some.shape, dtype=np.float32) / np.float32(np.sqrt(rows.shape[1])))
