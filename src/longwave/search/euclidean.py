"""`Euclidean`: plain nearest-neighbour search, which every comparison begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.registry import register
from longwave.stores.store import ScannedStore
from longwave.types import Array, Sparse


@dataclass(frozen=True)
class Euclidean:
    """Plain nearest neighbours: dot product of unit vectors, summed over query regions, pooled like x.

    Given as a solver, it ranks without the graph; the baseline of every comparison. Time O(n d) per query.
    """


register("solver", "euclidean", Euclidean)


def euclidean_scores(
    queries: Array, vectors: ScannedStore, pooling: Sparse | None, weights: Array | None = None
) -> Array:
    """s = Σ (w ∘ V q): pooled similarity of every target. queries: (q, d), regions of a query summed -> (q, N).

    weights: (n,) of every vector before pooling; None for 1.
    """
    products = vectors.products(queries)  # (q, n)
    if weights is not None:
        products = products * weights
    return products if pooling is None else np.asarray(products @ pooling.T)
