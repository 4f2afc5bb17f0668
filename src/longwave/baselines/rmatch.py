"""R-match (Razavian et al.): Euclidean search by regions, without a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.baselines.ranker import whole_vectors
from longwave.index import Index
from longwave.rows.vectors import row_blocks, top_k
from longwave.search.queries import Queries
from longwave.types import Array, Hits

# Products held at a time: 2^24 float32 are 64 MB.
_BLOCK = 1 << 24


@dataclass(frozen=True)
class RegionMatch:
    """R-match of Razavian et al. (2014): Σ_j max_i q_jᵀv_i over the regions i of an item, j of the query.

    Time O(n m d) for n regions of the collection and m of the query.
    """

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Match and sum."""
        asked = Queries.make(queries, dimension=index.dimension, groups=query_groups)
        items, vectors = index.items, whole_vectors(index)
        given = np.arange(items.n_given) if items.row_of is None else items.row_of
        item_of = np.arange(len(items)) if items.item_of is None else items.item_of
        scores = rmatch_scores(asked.regions, asked.query_of, vectors[given], item_of)
        places, best = top_k(scores, min(k, len(index)))
        return Hits(index.ids[places], best)


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
