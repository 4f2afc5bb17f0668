"""The second search in sublinear time: candidates from an approximate search over Ū, exact scores for those alone.

h goes into the query, so one structure over the rows of Ū serves every filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.ann import Ann
from longwave.basis import Part
from longwave.compact import products
from longwave.filters import response
from longwave.ranking import Blend, blend_scale
from longwave.solvers import Spectral, System
from longwave.solvers.spectral import direct_gains
from longwave.types import Array, Filter, Sparse
from longwave.vectors import top_k


def candidate_scores(
    system: System,
    searches: Sequence[Ann | None],
    vertices: Array,
    y: Array,
    filter: Filter,
    solver: Spectral,
    *,
    count: int,
    more: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Items that may be among the best, ascending, and their scores as `Spectral` has them. -> (c,), (c,)

    searches: over each part of Ū; None for a scan. vertices, y: (m,) where the observation is not zero, ascending, and
    its values there. Candidates are about the `count` best of every component that y touches, all items that y touches
    itself, all items in small components that y touches, and `more`. Time O(|y| r + c r) and a search for each
    component touched.
    """
    spectrum, pooled = system.require_spectrum("Spectral"), system.pooled_basis
    at_zero = float(response(filter, np.zeros(1))[0])
    gains = (response(filter, spectrum.eigenvalues) - (at_zero if solver.complement else 0.0)).astype(np.float32)
    direct = direct_gains(spectrum.kinds[vertices], at_zero, complement=solver.complement) * y
    if system.pooling is None:
        own, own_scores = vertices, direct
    else:
        shape = 1, system.normalized.shape[0]
        passed = sp.csr_array((direct, vertices, [0, len(vertices)]), shape=shape) @ system.items_of
        own, own_scores = passed.indices, passed.data
    groups = [own, *([] if more is None else [more])]

    waves: list[tuple[Part, Array]] = []  # of the parts that y touches
    for (part, columns), target, search in zip(spectrum.eigenvectors.spans(), pooled.parts, searches, strict=True):
        places, present = part.places(vertices)
        if present.any():
            z = y[present] @ part.values[places[present]] * gains[columns]  # h(Λ) Uᵀ y: (r_l,)
            waves.append((target, z))
            groups.append(target.rows[_best_rows(target, search, z, count)])
    small = np.zeros(0, dtype=np.float32)
    ends = spectrum.eigenvectors.sparse.indptr
    if (ends[vertices + 1] > ends[vertices]).any():  # y touches a small component
        z = (y @ spectrum.eigenvectors.sparse[vertices]) * gains[spectrum.eigenvectors.n_dense :]
        small = np.zeros(pooled.n, dtype=np.float32)
        pooled.add_sparse(z, small)
        groups.append(np.flatnonzero(small))
    items = np.unique(np.concatenate(groups)).astype(np.int64)
    scores = small[items] if small.size else np.zeros(len(items), dtype=np.float32)
    for part, z in waves:
        places, present = part.places(items)
        scores[present] += part.values[places[present]] @ z
    np.add.at(scores, np.searchsorted(items, own), own_scores)
    return items, scores


def _best_rows(part: Part, search: Ann | None, waves: Array, count: int) -> NDArray[np.int64]:
    """About the `count` rows of a part with the largest product with the waves; exactly these without a search."""
    if search is None:
        found = top_k(products(waves[None, :], part.values), min(count, len(part.rows)))[0][0]
    else:
        found = search.search(waves[None, :], min(count, len(part.rows))).ids[0]
    return np.asarray(found[found >= 0], dtype=np.int64)


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


def sample_waves(system: System, number: int, filter: Filter, *, count: int, seed: int) -> NDArray[np.float32]:
    """What the second search will be asked of one part: h(Λ)Uᵀy, y the graph's rows of some vertices. (count, r_l)"""
    spectrum = system.require_spectrum("the second search")
    part, columns = list(spectrum.eigenvectors.spans())[number]
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(len(part.rows), size=min(count, len(part.rows)), replace=False))
    near = sp.csr_array(system.normalized[part.rows[sample]][:, part.rows])
    near += sp.csr_array((np.ones(len(sample), dtype=np.float32), (np.arange(len(sample)), sample)), shape=near.shape)
    touched = np.unique(near.indices)
    at_zero = float(response(filter, np.zeros(1))[0])
    gains = response(filter, spectrum.eigenvalues)[columns] - at_zero
    waves = np.asarray((near[:, touched] @ part.values[touched]) * gains, dtype=np.float32)
    return waves[waves.any(axis=1)]
