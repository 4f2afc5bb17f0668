"""For one chosen h: the largest entries of every row of Σ h(𝒲), computed offline; a query is a sum of a few of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import FilterError, InputError
from longwave.filters import fingerprint
from longwave.rows.sparse import narrow_indices
from longwave.rows.vectors import row_blocks, top_k
from longwave.solvers.system import Solver, System
from longwave.types import Array, Filter, Progress, Solution, Sparse


@dataclass(frozen=True)
class Precomputed:
    """x̄ = Σ_j y_j (Σ h(𝒲))_j over the stored rows; items that no row reaches score 0.

    The rows are those of `Index.precompute`, each the answer to an impulse on one vertex, cut to its largest entries at
    the end, after the whole graph has been used (Yang et al., AAAI 2019). Choose it where one h is used for long and
    the fastest answer is wanted. Time O(|y| · entries) per query, memory 8 bytes an entry.
    """

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        return Solution(np.asarray((observation @ require_rows(system, filter)).toarray(), dtype=np.float32))

    def serves(self, system: System) -> bool:
        """Always: the rows themselves tell which targets they reach."""
        return True

    def candidates(
        self, system: System, observation: Sparse, filter: Filter, *, count: int, more: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """All targets that the rows of y reach. y: CSR (1, n) -> (c,), (c,)"""
        reached, values = summed_rows(require_rows(system, filter), observation.indices, observation.data)
        targets = np.union1d(reached, more).astype(np.int64)
        scores = np.zeros(len(targets), dtype=np.float32)
        scores[np.searchsorted(targets, reached)] = values
        return targets, scores


def require_rows(system: System, filter: Filter) -> Sparse:
    """The stored rows of this filter, or an error that says how to get them."""
    if system.stored is None:
        raise InputError("Precomputed needs stored rows; make them with index = index.precompute(filter=...)")
    if not np.allclose(fingerprint(filter), system.stored.fingerprint, rtol=1e-6, atol=1e-9):
        raise FilterError(
            f"the stored rows are those of {system.stored.name}, not of {filter!r}; search with that filter, or "
            "use solver=Spectral() for any other"
        )
    return system.stored.matrix


def summed_rows(rows: Sparse, vertices: Array, y: Array) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The items that the rows of some vertices reach, ascending, and their scores. vertices, y: (m,) -> (c,), (c,)"""
    spans = [slice(rows.indptr[v], rows.indptr[v + 1]) for v in vertices]
    if not spans:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    reached = np.concatenate([rows.indices[span] for span in spans])
    values = np.concatenate([weight * rows.data[span] for weight, span in zip(y, spans, strict=True)])
    places, where = np.unique(reached, return_inverse=True)
    return places.astype(np.int64), np.bincount(where, weights=values).astype(np.float32)


def largest_entries(
    system: System, solver: Solver, filter: Filter, *, top: int, progress: Progress | None = None
) -> Sparse:
    """The `top` largest entries of every row of h(𝒲) Σᵀ, by a solver. CSR (n, N); takes the time of n queries."""
    n = system.normalized.shape[0]

    def rows() -> Iterator[Sparse]:
        for block in row_blocks(n, max(n, system.n_targets), numbers=1 << 25):
            count = block.stop - block.start
            where = np.arange(count), np.arange(block.start, block.stop)
            pulses = sp.csr_array((np.ones(count, dtype=np.float32), where), shape=(count, n))
            scores = solver(system, pulses, filter).scores
            items, values = top_k(scores, top)
            ends = np.arange(0, items.size + 1, items.shape[1])
            part = sp.csr_array((values.ravel(), items.ravel().astype(np.int32), ends), shape=(count, scores.shape[1]))
            part.eliminate_zeros()
            part.sort_indices()
            yield part
            if progress:
                progress("rows", block.stop, n)

    stacked = sp.csr_array(sp.vstack(list(rows())), dtype=np.float32)
    narrow_indices(stacked)
    return stacked
