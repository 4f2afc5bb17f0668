"""`System`: what every solver works on, and the signature that all solvers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import FilterError, InputError
from longwave.filters import LowPass
from longwave.spectrum.basis import Basis
from longwave.spectrum.spectrum import Spectrum
from longwave.stores.store import Store
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The largest entries of every row of h(𝒲)Σᵀ for one h. matrix: CSR (n, targets). fingerprint, name: of that h."""

    matrix: Sparse
    fingerprint: Array
    name: str


@dataclass(frozen=True, eq=False)
class System:
    """The offline result: 𝒲, its spectrum, and how the scores of vertices become those of what is ranked, the targets.

    normalized: CSR (n, n). spectrum: None if no basis was computed. pooling: Σ, CSR (N₀, n), where items have groups of
    vectors; None where every vertex is a target. pooled: Ū = ΣU (N₀, r); U itself where there is no pooling. gains:
    (n,) what the score of every vertex is multiplied with, where there is no pooling; None for 1. added: CSR (a, n),
    targets outside of the graph as combinations of vertices, behind those of the graph. stored: rows of h(𝒲)Σᵀ for one
    h, where they were computed. second: a store over the rows of Ū, by number of the target, where there is one.
    outside: makes the coordinates of the added targets, block by block; None to make them of `added`.
    kept: what solvers have computed of this system once and for all.
    """

    normalized: Sparse
    spectrum: Spectrum | None
    pooling: Sparse | None = None
    pooled: Basis | None = None
    gains: NDArray[np.float32] | None = None
    added: Sparse | None = None
    stored: StoredRows | None = None
    second: Store | None = None
    outside: Callable[[], tuple[Basis, ...]] | None = None
    kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def require_spectrum(self, what: str) -> Spectrum:
        """The spectrum, or an error that says how to get one."""
        if self.spectrum is None:
            raise InputError(
                f"{what} needs a basis and this index was built without; build with spectrum=Chebyshev(rank=...), "
                "or use solver=ConjugateGradient()"
            )
        return self.spectrum

    @cached_property
    def pooled_basis(self) -> Basis:
        """Ū = ΣU, computed offline by `index`, or here if it was not."""
        spectrum = self.require_spectrum("Ū")
        if self.pooled is not None:
            return self.pooled
        return spectrum.eigenvectors if self.pooling is None else spectrum.eigenvectors.pool(self.pooling)

    @cached_property
    def added_bases(self) -> tuple[Basis, ...]:
        """The coordinates of the added targets: their combinations of rows of U. Blocks of (a, r)"""
        spectrum = self.require_spectrum("added items")
        if self.outside is not None:
            return self.outside()
        return () if self.added is None else (spectrum.eigenvectors.pool(self.added),)

    @cached_property
    def targets_of(self) -> Sparse:
        """From vertices to targets, CSR (n, targets): the transpose of all of `pool`."""
        n = self.normalized.shape[0]
        if self.pooling is not None:
            own = self.pooling.T
        else:
            own = sp.diags_array(np.ones(n, dtype=np.float32) if self.gains is None else self.gains)
        return sp.csr_array(own if self.added is None else sp.hstack([own, self.added.T]), dtype=np.float32)

    @property
    def n_targets(self) -> int:
        """What is ranked."""
        inside = self.normalized.shape[0] if self.pooling is None else self.pooling.shape[0]
        return int(inside + (0 if self.added is None else self.added.shape[0]))

    def synthesize(self, waves: Array, targets: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Ū z of all targets, or of some (ascending). (q, r) -> (q, targets), or (q, c)"""
        ranked = self.pooled_basis
        if targets is None and self.pooling is None:
            return self.pool(ranked.synthesize(waves))
        inside = None if targets is None else targets[targets < ranked.n]
        scores = ranked.synthesize(waves, inside)
        if self.gains is not None and self.pooling is None:
            scores *= self.gains[inside]
        if self.added is None:
            return scores
        start, found = ranked.n, [scores]
        for own in self.added_bases:
            some = None if targets is None else targets[(targets >= start) & (targets < start + own.n)] - start
            found.append(own.synthesize(waves, some))
            start += own.n
        return np.hstack(found)

    def passed(self, own: Sparse) -> Sparse:
        """What vertices hand to their targets without the graph. CSR (q, n) -> CSR (q, targets)"""
        if self.pooling is not None or self.added is not None:
            return sp.csr_array(own @ self.targets_of)
        data = own.data if self.gains is None else own.data * self.gains[own.indices]
        return sp.csr_array((data, own.indices, own.indptr), shape=own.shape)

    def pool(self, scores: Array) -> NDArray[np.float32]:
        """Scores of vertices to scores of targets. (q, n) -> (q, targets), float32."""
        if self.pooling is not None:
            own = np.asarray(scores @ self.pooling.T, dtype=np.float32)
        else:
            own = np.asarray(scores if self.gains is None else scores * self.gains, dtype=np.float32)
        if self.added is None:
            return own
        return np.hstack([own, np.asarray(scores @ self.added.T, dtype=np.float32)])


class Solver(Protocol):
    """A way to evaluate x̄ = Σ h(𝒲) y: call it with the system, y and h. A solver of your own needs no more."""

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (queries, n) -> scores (queries, targets)."""


@runtime_checkable
class SublinearSolver(Protocol):
    """A solver that can also score a few candidates instead of all targets."""

    def serves(self, system: System) -> bool:
        """Whether this system has what candidates are found with."""

    def candidates(
        self, system: System, observation: Sparse, filter: Filter, *, count: int, more: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Targets that may be among the best `count`, ascending, and `more`; their scores. y: CSR (1, n) -> (c,), (c,)

        Scores are those of a call, and every target left out has a score of at most 0 or is behind `count` others.
        """


def require_lowpass(filter: Filter, solver: str) -> float:
    """α, where the filter is h_α; the linear system exists for no other."""
    if not isinstance(filter, LowPass):
        raise FilterError(
            f"{solver} solves the linear system of LowPass(alpha) only, got {filter!r}; "
            "use solver=Spectral() or ChebyshevFilter() for other filters"
        )
    return filter.alpha
