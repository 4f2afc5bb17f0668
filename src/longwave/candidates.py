"""The second search in sublinear time: candidates from an approximate search over Ū, exact scores for those alone.

h goes into the query, so one structure over the rows of Ū serves every filter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.ann import Ann
from longwave.filters import response
from longwave.ranking import Blend, blend_scale
from longwave.solvers import Spectral, System
from longwave.solvers.spectral import direct_gains
from longwave.types import Array, Filter, Sparse


def candidate_scores(
    system: System,
    rows: Ann,
    vertices: Array,
    y: Array,
    filter: Filter,
    solver: Spectral,
    *,
    count: int,
    more: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Items that may be among the best, ascending, and their scores as `Spectral` has them. -> (c,), (c,)

    vertices, y: (m,) where the observation is not zero, and its values there.

    Candidates are about the `count` best by Ū z, all items that y touches itself, all items in the small components
    that y touches, and `more`. Time O(|y| r + c r) and one search.
    """
    spectrum, pooled = system.require_spectrum("Spectral"), system.pooled_basis
    n_dense, ends = pooled.dense.shape[1], spectrum.eigenvectors.sparse.indptr
    at_zero = float(response(filter, np.zeros(1))[0])
    gains = (response(filter, spectrum.eigenvalues) - (at_zero if solver.complement else 0.0)).astype(np.float32)
    waves = y @ spectrum.eigenvectors.dense[vertices] * gains[:n_dense]  # h(Λ) Uᵀ y: (r,)

    direct = direct_gains(spectrum.kinds[vertices], at_zero, complement=solver.complement) * y
    if system.pooling is None:
        own, own_scores = vertices, direct
    else:
        shape = 1, system.normalized.shape[0]
        passed = sp.csr_array((direct, vertices, [0, len(vertices)]), shape=shape) @ system.items_of
        own, own_scores = passed.indices, passed.data
    small = np.zeros(0, dtype=np.float32)
    if (ends[vertices + 1] > ends[vertices]).any():  # y touches a small component
        small_waves = (y @ spectrum.eigenvectors.sparse[vertices]) * gains[n_dense:]
        if small_waves.any():
            small = np.zeros(len(pooled.dense), dtype=np.float32)
            pooled.add_sparse(small_waves, small)
    parts = [own, np.flatnonzero(small), *([] if more is None else [more])]
    if waves.any():
        found = rows.search(waves[None, :], count).ids[0]
        parts.append(found[found >= 0])
    places = np.unique(np.concatenate(parts)).astype(np.int64)
    scores = pooled.dense[places] @ waves
    if small.size:
        scores += small[places]
    np.add.at(scores, np.searchsorted(places, own), own_scores)
    return places, scores.astype(np.float32, copy=False)


def blend_candidates(
    scores: NDArray[np.float32],
    query: NDArray[np.float32],
    vectors: Any,
    rows: NDArray[np.int64],
    pooling: Sparse | None,
    row_norms: Array | None,
    *,
    blend: Blend,
    filter: Filter,
) -> NDArray[np.float32]:
    """FSRw for some items: only their own vectors are read. scores: (c,); query: (d,), regions summed.

    rows: (m,) the vectors of these items; pooling: CSR (c, m) from those to the items, None where they are the same.
    """
    similarities = candidate_similarities(query, vectors, rows, pooling)
    scale = float(blend_scale(blend, filter, scores[None, :], similarities[None, :])[0, 0])
    if row_norms is not None and not blend.everywhere:
        similarities = candidate_similarities(query, vectors, rows, pooling, 1 - row_norms[rows])
    return np.asarray(scores + blend.weight * scale * similarities, dtype=np.float32)


def candidate_similarities(
    query: Array, vectors: Any, rows: NDArray[np.int64], pooling: Sparse | None, weights: Array | float = 1.0
) -> Array:
    """Euclidean similarity of some items, by their own vectors. As `blend_candidates`; weights: (m,) of the vectors."""
    products = (vectors[rows] @ query) * weights  # (m,)
    return np.asarray(products if pooling is None else pooling @ products)


def best(places: NDArray[np.int64], scores: Array, k: int) -> tuple[NDArray[np.int64], Array]:
    """The k best candidates, ties by lower place. places: ascending."""
    order = np.argsort(-scores, kind="stable")[:k]
    return places[order], scores[order]


def sample_waves(system: System, filter: Filter, *, count: int, seed: int) -> NDArray[np.float32]:
    """What the second search will be asked: h(Λ)Uᵀy, y the graph's own rows for some vertices. (count, r)"""
    spectrum = system.require_spectrum("the second search")
    n = system.normalized.shape[0]
    sample = np.sort(np.random.default_rng(seed).choice(n, size=min(count, n), replace=False))
    y = sp.csr_array(system.normalized[sample]) + sp.csr_array(
        (np.ones(len(sample), dtype=np.float32), (np.arange(len(sample)), sample)), shape=(len(sample), n)
    )
    n_dense = spectrum.eigenvectors.dense.shape[1]
    at_zero = float(response(filter, np.zeros(1))[0])
    gains = response(filter, spectrum.eigenvalues)[:n_dense] - at_zero
    waves = np.asarray((y @ spectrum.eigenvectors.dense) * gains, dtype=np.float32)
    return waves[waves.any(axis=1)]
