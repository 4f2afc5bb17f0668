"""Gauss–Seidel on 𝓛_α x = y, eq. (1): the mean field method of §5.3, one vertex after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longwave.errors import InputError
from longwave.solvers.system import System, require_lowpass
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class GaussSeidel:
    """Sweeps over the vertices: x_i ← α Σ_j 𝒲_ij x_j + (1 − α) y_i, each with the newest values. `LowPass` only.

    steps: sweeps from x = 0, no fewer and no more. A sweep minimises the energy of eq. (9) vertex by vertex, so it
    never rises; `RandomWalk` (Jacobi) changes all vertices at once and `ConjugateGradient` needs fewer steps than
    either. Choose it to compare. Time O(steps · nnz) per query.
    """

    steps: int = 100

    def __post_init__(self) -> None:
        if self.steps < 1 or int(self.steps) != self.steps:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps}")

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        from scipy.sparse.linalg import spsolve_triangular

        alpha = require_lowpass(filter, "GaussSeidel")
        matrix = alpha * system.normalized.astype(np.float64)
        before = sp.csr_array(sp.eye_array(matrix.shape[0]) - sp.tril(matrix, k=-1))  # vertices that a sweep has passed
        after = sp.csr_array(sp.triu(matrix, k=1))
        y = (1 - alpha) * observation.toarray().T.astype(np.float64)  # (n, q)
        x: Array = np.zeros_like(y)
        for _ in range(self.steps):
            x = spsolve_triangular(before, after @ x + y, lower=True, unit_diagonal=True)
        return Solution(system.pool(x.T), steps=np.full(y.shape[1], self.steps))
