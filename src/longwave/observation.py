"""The observation y of §2.3: which vertices look like the query."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.graph import similarity
from longwave.types import Neighbors, Sparse

#: How region scores are summed: the paper raises to γ first; the authors' published scripts sum products, then raise.
SUMS = ("similarities", "products")


def observe(
    neighbors: Neighbors,
    query_of: NDArray[np.int64],
    *,
    n_vertices: int,
    gamma: float,
    cut: int | None = None,
    region_sum: str = "similarities",
) -> Sparse:
    """y_i = Σ_j s(v_i | q_j) over the regions j of a query, then the `cut` largest entries. CSR (queries, n).

    neighbors: lists of every region, (m, k); query_of: (m,) the query of each region, 0 … Q−1. With `region_sum`
    "products", y_i = [Σ_j v_iᵀ q_j]₊^γ instead.
    """
    if region_sum not in SUMS:
        raise InputError(f"region_sum must be one of {', '.join(SUMS)}, got '{region_sum}'")
    k = neighbors.ids.shape[1]
    present = neighbors.ids.ravel() >= 0
    products = neighbors.similarities.ravel()[present]
    entries = similarity(products, gamma) if region_sum == "similarities" else products
    where = np.repeat(query_of, k)[present], neighbors.ids.ravel()[present]
    y = sp.csr_array((entries, where), shape=(int(query_of.max()) + 1, n_vertices), dtype=np.float32)  # sums doubles
    if region_sum == "products":
        y.data = similarity(y.data, gamma)
    y.eliminate_zeros()
    y.sort_indices()
    return y if cut is None else keep_largest(y, cut)


def keep_largest(observation: Sparse, cut: int) -> Sparse:
    """Keep the `cut` largest entries of every row; ties go to the lower vertex."""
    rows = np.repeat(np.arange(observation.shape[0]), np.diff(observation.indptr))
    order = np.lexsort((observation.indices, -observation.data, rows))  # by row, then largest first
    place = np.arange(len(order)) - observation.indptr[rows[order]]
    kept = np.sort(order[place < cut])
    return sp.csr_array(
        (observation.data[kept], (rows[kept], observation.indices[kept])),
        shape=observation.shape,
        dtype=np.float32,
    )
