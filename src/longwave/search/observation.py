"""From query vectors to the observation y of §2.3: which vertices look like the query."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.graph.weights import Kernel
from longwave.types import Array, Neighbors, Sparse

#: How region scores are summed: the paper raises to γ first; the authors' published scripts sum products, then raise.
SUMS = ("similarities", "products")


def observe(
    found: Neighbors,
    query_of: NDArray[np.int64],
    *,
    count: int,
    n_vertices: int,
    kernel: Kernel,
    scales: NDArray[np.float32] | None = None,
    weights: NDArray[np.float32] | None = None,
    cut: int | None = None,
    region_sum: str = "similarities",
) -> Sparse:
    """y_i = Σ_j w_j s(v_i | q_j) over the regions j of a query, then the `cut` largest entries. CSR (queries, n).

    found: lists of every region, (m, at least count), of which the first `count` are observed. query_of: (m,) the query
    of each region, 0 … Q−1. scales: (n,) of the vertices, for a kernel that has scales; those of the regions come from
    their own lists. weights: (m,), 1 by default. With `region_sum` "products", y_i = [Σ_j w_j v_iᵀ q_j]₊^γ instead.
    """
    if region_sum not in SUMS:
        raise InputError(f"region_sum must be one of {', '.join(SUMS)}, got '{region_sum}'")
    summed = region_sum == "products"
    if summed and scales is not None:
        raise InputError(f"region_sum 'products' needs a kernel without scales, such as Power(3), not {kernel!r}")
    ids, products = found.ids[:, :count], found.similarities[:, :count]
    present = ids >= 0
    entries = products if summed else _region_weights(found, ids, products, kernel, scales)
    if weights is not None:
        entries = entries * weights[:, None]
    vertices, values = ids[present], entries[present]
    if len(query_of) == 1:  # one vector: no vertex twice, nothing to sum
        y = _one_row(vertices, kernel(values, None, None) if summed else values, n_vertices)
        return y if cut is None else keep_largest(y, cut)
    where = np.repeat(query_of, ids.shape[1]).reshape(ids.shape)[present], vertices
    y = sp.csr_array((values, where), shape=(int(query_of.max()) + 1, n_vertices), dtype=np.float32)  # sums doubles
    if summed:
        y.data = np.asarray(kernel(y.data, None, None), dtype=np.float32)
    y.eliminate_zeros()
    y.sort_indices()
    return y if cut is None else keep_largest(y, cut)


def _region_weights(
    found: Neighbors, ids: Array, products: Array, kernel: Kernel, scales: NDArray[np.float32] | None
) -> Array:
    """s(v_i | q_j) of every list. (m, count)"""
    known = np.where(ids >= 0, products, -1.0)  # empty places, left out later
    if scales is None:
        return kernels.relative_weights(kernel, known, None, None)
    neighbor = kernels.scale_neighbor(kernel) or kernels.NEIGHBOR
    own = kernels.scales(found.similarities, neighbor)
    return kernels.relative_weights(kernel, known, own[:, None], scales[np.maximum(ids, 0)])


def _one_row(vertices: NDArray[np.int64], entries: Array, n: int) -> Sparse:
    order = np.argsort(vertices)
    order = order[entries[order] != 0]
    data = np.asarray(entries[order], dtype=np.float32)
    return sp.csr_array((data, vertices[order], np.array([0, len(data)])), shape=(1, n))


def keep_largest(observation: Sparse, cut: int) -> Sparse:
    """Keep the `cut` entries of largest magnitude of every row; ties go to the lower vertex."""
    rows = np.repeat(np.arange(observation.shape[0]), np.diff(observation.indptr))
    order = np.lexsort((observation.indices, -np.abs(observation.data), rows))  # by row, then largest first
    place = np.arange(len(order)) - observation.indptr[rows[order]]
    kept = np.sort(order[place < cut])
    return sp.csr_array(
        (observation.data[kept], (rows[kept], observation.indices[kept])),
        shape=observation.shape,
        dtype=np.float32,
    )
