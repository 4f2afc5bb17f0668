"""The random walk that returns to the query now and then, step by step, eq. (8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.solvers.system import System, require_lowpass
from longwave.spectrum.blocks import multiply
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class RandomWalk:
    """A walk that starts again at y with probability 1 − α, a number of steps of it. `LowPass` only.

    x⁽ᵗ⁾ = α𝒲 x⁽ᵗ⁻¹⁾ + (1 − α) y from x⁽⁰⁾ = 0, eq. (8): the Jacobi solver of eq. (1). steps: how many are taken, no
    fewer and no more. They apply the filter `Walk(alpha, steps)`; what is missing falls like α^steps. Choose it to
    compare, or to keep the answer local. Time O(steps · nnz) per query.
    """

    steps: int = 100

    def __post_init__(self) -> None:
        if self.steps < 1 or int(self.steps) != self.steps:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps}")

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        alpha = require_lowpass(filter, "RandomWalk")
        y = observation.toarray().T.astype(np.float64)  # (n, q)
        x: Array = (1 - alpha) * y
        for _ in range(self.steps - 1):
            x = alpha * multiply(system.normalized, x) + (1 - alpha) * y  # eq. (8)
        return Solution(system.pool(x.T), steps=np.full(y.shape[1], self.steps))
