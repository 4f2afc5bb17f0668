"""Random projections of h(𝒲), the alternative that §6 names: filtered noise in place of a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.errors import FilterError
from longwave.filters import fingerprint, response
from longwave.solvers.chebyshev_filter import filtered
from longwave.solvers.system import System
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class RandomProjection:
    """x ≈ X Xᵀ y, X = h(𝒲)^½ G / √m with a Gaussian G (n, m): E[X Xᵀ] = h(𝒲).

    §6 compares it with a single round of stage 1: the noise is multiplied once, by one fixed function of 𝒲, and nothing
    is orthonormalised. So its error falls like 1/√m only, and X is of one h alone, while a basis serves every h. Choose
    it to compare with `Spectral` at the same number of columns.

    dimensions: m. seed: of G. X is made at the first call and kept with the system for that h: about 100 products with
    𝒲 for each column and `LowPass(0.99)`; 8 n m bytes. Needs h ≥ 0.
    """

    dimensions: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(dimensions=self.dimensions)

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        columns = self.columns(system, filter)
        return Solution(system.pool((observation @ columns) @ columns.T))

    def columns(self, system: System, filter: Filter) -> NDArray[np.float64]:
        """X. (n, m)"""
        key = f"projection {self.dimensions} {self.seed} {fingerprint(filter).tobytes().hex()}"
        if key not in system.kept:
            noise = np.random.default_rng(self.seed).standard_normal((system.normalized.shape[0], self.dimensions))
            made, _ = filtered(system.normalized, noise, _Root(filter), tolerance=1e-6, max_degree=1000)
            system.kept[key] = made / np.sqrt(self.dimensions)
        kept: Array = system.kept[key]
        return kept


@dataclass(frozen=True)
class _Root:
    """The root of a filter that is nowhere negative."""

    of: Filter

    def __call__(self, eigenvalues: Array) -> Array:
        gains = response(self.of, eigenvalues)
        if (gains < 0).any():
            raise FilterError(f"a projection needs h >= 0 on [-1, 1], but {self.of!r} falls to {gains.min():.3g}")
        return np.sqrt(gains)
