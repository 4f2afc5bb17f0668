"""R-match (Razavian et al.): Euclidean search by regions, without a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.rows.vectors import row_blocks
from longwave.types import Array

# Products held at a time: 2^24 float32 are 64 MB.
_BLOCK = 1 << 24


def rmatch_scores(
    regions: NDArray[np.float32],
    query_of: NDArray[np.int64],
    vectors: NDArray[np.float32],
    item_of: NDArray[np.int64],
) -> Array:
    """s(q, i) = Σ_j max_l q_jᵀ v_l: each region j of the query meets the region l of item i that is most like it.

    regions: (m, d) unit, query_of: (m,) 0 … Q−1; vectors: (n, d) unit, item_of: (n,) 0 … N−1, all present -> (Q, N).
    Time O(m n d); products are made in blocks of whole items, so memory is O(Q N).
    """
    order = np.argsort(item_of, kind="stable")
    counts = np.bincount(item_of)
    ends = np.cumsum(counts)
    scores = np.zeros((int(query_of.max()) + 1, len(counts)), dtype=np.float64)
    # Blocks by the largest item: none is cut.
    for items in row_blocks(len(counts), int(counts.max()) * len(regions), numbers=_BLOCK):
        first = ends[items.start] - counts[items.start]
        products = regions @ vectors[order[first : ends[items.stop - 1]]].T  # (m, rows of these items)
        best = np.maximum.reduceat(products, ends[items] - counts[items] - first, axis=1)  # (m, items)
        np.add.at(scores[:, items], query_of, best)
    return scores
