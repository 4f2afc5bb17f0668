"""What every solver works on, and the signature they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from longwave.basis import Basis
from longwave.errors import FilterError, InputError
from longwave.filters import LowPass
from longwave.types import Array, Filter, Solution, Sparse, Spectrum


@dataclass(frozen=True, eq=False)
class System:
    """The offline result: 𝒲, its spectrum, and the pooling Σ from vertices to items.

    normalized: CSR (n, n). spectrum: None if no basis was computed. pooling: CSR (N, n), None where every vertex is an
    item. pooled: Ū = ΣU (N, r); U itself where there is no pooling. rows: the largest entries of h(𝒲)Σᵀ for one h, CSR
    (n, N), and that filter's fingerprint and name, where they were computed.
    """

    normalized: Sparse
    spectrum: Spectrum | None
    pooling: Sparse | None = None
    pooled: Basis | None = None
    rows: Sparse | None = None
    rows_filter: Array | None = None
    rows_name: str | None = None

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
    def items_of(self) -> Sparse:
        """Σᵀ, CSR (n, N): the items that each vertex belongs to."""
        if self.pooling is None:
            raise InputError("every vertex is an item of its own")
        return self.pooling.T.tocsr()

    def pool(self, scores: Array) -> Array:
        """x̄ = Σx for every row. (q, n) dense or sparse -> (q, N) dense float32."""
        pooled = scores if self.pooling is None else scores @ self.pooling.T
        return np.asarray(pooled.toarray() if hasattr(pooled, "toarray") else pooled, dtype=np.float32)


class Solver(Protocol):
    """A way to evaluate x̄ = Σ h(𝒲) y: call it with the system, y and h."""

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (queries, n) -> scores (queries, N)."""


def require_lowpass(filter: Filter, solver: str) -> float:
    """α, where the filter is h_α; the linear system exists for no other."""
    if not isinstance(filter, LowPass):
        raise FilterError(
            f"{solver} solves the linear system of LowPass(alpha) only, got {filter!r}; "
            "use solver=Spectral() or ChebyshevFilter() for other filters"
        )
    return filter.alpha
