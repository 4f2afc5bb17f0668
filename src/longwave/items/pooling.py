"""From the scores of regions to the score of their item: Σ of §3.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.types import Sparse

#: Weights of an item's regions from their vectors: (items, m, d) -> (items, m), for items of m regions each.
Weights: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.float64]]


def sum_weights(regions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sum pooling: every region counts 1."""
    return np.ones(regions.shape[:2])


def gmp_weights(regions: NDArray[np.float32], *, regularization: float = 1.0) -> NDArray[np.float64]:
    """Generalised max-pooling (Murray & Perronnin): w = (V Vᵀ + λI)^{-1} 1, V an item's own regions, λ = 1.

    Regions that look alike share their weight, so a repeated background does not outvote a small object.
    """
    tall = regions.astype(np.float64)
    products = tall @ tall.transpose(0, 2, 1)  # (items, m, m)
    m = regions.shape[1]
    ones = np.ones((len(regions), m, 1))
    return np.asarray(np.linalg.solve(products + regularization * np.eye(m), ones)[:, :, 0], dtype=np.float64)


POOLINGS: dict[str, Weights] = {"gmp": gmp_weights, "sum": sum_weights}


def check_pooling(pooling: str) -> None:
    """Raise unless the pooling has this name."""
    if pooling not in POOLINGS:
        raise InputError(f"pooling must be one of {', '.join(POOLINGS)}, got '{pooling}'")


def pooling_matrix(vectors: NDArray[np.float32], item_of: NDArray[np.int64], *, pooling: str) -> Sparse:
    """Σ, CSR (N, n): row i holds the weights of the regions of item i.

    vectors: (n, d); item_of: (n,) item number of each vector, 0 … N−1, all present. Items are batched by their number
    of regions. Time O(n m (d + m²)) for m regions each.
    """
    check_pooling(pooling)
    counts = np.bincount(item_of)
    order = np.argsort(item_of, kind="stable")  # regions by item
    starts = np.cumsum(counts) - counts
    weights = np.empty(len(vectors))
    for m in np.unique(counts):
        members = order[starts[counts == m][:, None] + np.arange(m)]  # (items, m)
        for chunk in np.array_split(members, max(1, members.size * vectors.shape[1] >> 24)):
            weights[chunk] = POOLINGS[pooling](vectors[chunk])
    columns = np.arange(len(vectors))
    return sp.csr_array((weights.astype(np.float32), (item_of, columns)), shape=(len(counts), len(vectors)))
