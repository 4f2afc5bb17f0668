"""The second search in sublinear time: candidates from an approximate search over Ū, exact scores for those alone.

h goes into the query, so one structure over the rows of Ū serves every filter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.rows.encoded import products
from longwave.rows.vectors import top_k
from longwave.solvers import Spectral, System
from longwave.solvers.spectral import direct_gains
from longwave.spectrum.basis import Basis, Part
from longwave.stores.faiss import Ann
from longwave.types import Array, Filter


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
    """Targets that may be among the best, ascending, and their scores as `Spectral` has them. -> (c,), (c,)

    searches: over each part of Ū; None for a scan. vertices, y: (m,) where the observation is not zero, ascending, and
    its values there. Candidates are about the `count` best of every component that y touches, all targets that y
    touches itself, all targets in small components that y touches, all that were added to the graph, and `more`. Time
    O(|y| r + c r) and a search for each component touched.
    """
    spectrum, ranked = system.require_spectrum("Spectral"), system.pooled_basis
    gains, at_zero = solver.gains(spectrum, filter)
    basis, n = spectrum.eigenvectors, ranked.n
    direct = direct_gains(spectrum.kinds[vertices], at_zero, complement=solver.complement) * y
    passed = sp.csr_array((direct, vertices, [0, len(vertices)]), shape=(1, basis.n)) @ system.targets_of
    groups = [passed.indices, *([] if more is None else [more])]
    waves = np.zeros(len(gains), dtype=np.float32)  # h(Λ) Uᵀ y
    for (part, columns), target, search in zip(basis.spans(), ranked.parts, searches, strict=True):
        places, present = part.places(vertices)
        if present.any():
            waves[columns] = y[present] @ part.values[places[present]] * gains[columns]
            groups.append(target.rows[_best_rows(target, search, waves[columns], count)])
    small = np.zeros(0, dtype=np.float32)
    ends = basis.sparse.indptr
    if (ends[vertices + 1] > ends[vertices]).any():  # y touches a small component
        waves[basis.n_dense :] = (y @ basis.sparse[vertices]) * gains[basis.n_dense :]
        small = np.zeros(n, dtype=np.float32)
        ranked.add_sparse(waves[basis.n_dense :], small)
        groups.append(np.flatnonzero(small))
    targets = np.unique(np.concatenate(groups)).astype(np.int64)
    inside = targets[targets < n]
    scores = small[inside] if small.size else np.zeros(len(inside), dtype=np.float32)
    _add_parts(ranked, inside, waves, scores)
    if system.pooling is None and system.gains is not None:
        scores *= system.gains[inside]
    if system.added is not None:
        targets = np.concatenate([inside, np.arange(n, system.n_targets)])
        scores = np.concatenate([scores, system.added_basis.synthesize(waves[None, :])[0]])
    np.add.at(scores, np.searchsorted(targets, passed.indices), passed.data)
    return targets, scores


def _add_parts(basis: Basis, rows: NDArray[np.int64], waves: Array, scores: Array) -> None:
    """scores += U z on some rows, by the dense parts that z touches. rows: (c,), waves: (r,), scores: (c,)"""
    for part, columns in basis.spans():
        if waves[columns].any():
            places, present = part.places(rows)
            scores[present] += part.values[places[present]] @ waves[columns]


def _best_rows(part: Part, search: Ann | None, waves: Array, count: int) -> NDArray[np.int64]:
    """About the `count` rows of a part with the largest product with the waves; exactly these without a search."""
    if search is None:
        found = top_k(products(waves[None, :], part.values), min(count, len(part.rows)))[0][0]
    else:
        found = search.search(waves[None, :], min(count, len(part.rows))).ids[0]
    return np.asarray(found[found >= 0], dtype=np.int64)


def ranked_rows(system: System, number: int) -> Array:
    """What the second search looks through: a part of Ū, every row times its vertex's gain. (m, r_l)"""
    part = system.pooled_basis.parts[number]
    if system.pooling is not None or system.gains is None:
        return np.asarray(part.values[:])
    return np.asarray(part.values[:] * system.gains[part.rows, None], dtype=np.float32)


def sample_waves(system: System, number: int, filter: Filter, *, count: int, seed: int) -> NDArray[np.float32]:
    """What the second search will be asked of one part: h(Λ)Uᵀy, y the graph's rows of some vertices. (count, r_l)"""
    spectrum = system.require_spectrum("the second search")
    part, columns = list(spectrum.eigenvectors.spans())[number]
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.choice(len(part.rows), size=min(count, len(part.rows)), replace=False))
    near = sp.csr_array(system.normalized[part.rows[sample]][:, part.rows])
    near += sp.csr_array((np.ones(len(sample), dtype=np.float32), (np.arange(len(sample)), sample)), shape=near.shape)
    touched = np.unique(near.indices)
    gains, _ = Spectral().gains(spectrum, filter)
    waves = np.asarray((near[:, touched] @ part.values[touched]) * gains[columns], dtype=np.float32)
    return waves[waves.any(axis=1)]
