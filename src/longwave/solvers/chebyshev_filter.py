"""A Chebyshev polynomial of 𝒲 applied to y: any smooth h without a basis, the way of graph signal processing (§6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from longwave.errors import FilterError, InputError
from longwave.filters import response
from longwave.solvers.system import System
from longwave.spectrum.blocks import multiply
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class ChebyshevFilter:
    """Any smooth filter on the graph itself, without a basis: x ≈ Σ_j c_j T_j(𝒲) y.

    c are the Chebyshev coefficients of h on [−1, 1]. Choose it where no basis exists, for filters other than `LowPass`.

    tolerance: the largest |h − polynomial| allowed on [−1, 1], which bounds ‖x − h(𝒲) y‖ / ‖y‖. The degree is the
    smallest that keeps it. max_degree: an error is raised where a larger one would be needed. relative: the tolerance
    bounds ‖x − h(𝒲) y‖ / ‖x‖ instead, for every query. Time O(degree · nnz) per query: `LowPass(0.99)` to 1e-6 takes
    about 100 products.
    """

    tolerance: float = 1e-6
    max_degree: int = 1000
    relative: bool = False

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise InputError(f"tolerance must be above 0, got {self.tolerance}")
        if self.max_degree < 1:
            raise InputError(f"max_degree must be at least 1, got {self.max_degree}")

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        y = observation.toarray().T.astype(np.float64)  # (n, q)
        x, degree, gain = self._apply(system, y, filter, self.tolerance)
        if self.relative and self.tolerance / gain.min() > self.tolerance:  # x is smaller than y: look closer
            x, degree, gain = self._apply(system, y, filter, 0.5 * self.tolerance * float(gain.min()))
            errors = np.full(len(gain), self.tolerance)
        else:
            errors = self.tolerance / gain
        return Solution(system.pool(x.T), errors=errors, steps=np.full(y.shape[1], degree))

    def _apply(self, system: System, y: Array, filter: Filter, tolerance: float) -> tuple[Array, int, Array]:
        """The polynomial of 𝒲 times y, its degree, and ‖x‖ / ‖y‖ of every column (1 where y is zero)."""
        x, degree = filtered(system.normalized, y, filter, tolerance=tolerance, max_degree=self.max_degree)
        sizes, given = np.linalg.norm(x, axis=0), np.linalg.norm(y, axis=0)
        gain = np.divide(sizes, given, out=np.ones_like(sizes), where=(given > 0) & (sizes > 0))
        return x, degree, gain


def filtered(matrix: Sparse, y: Array, filter: Filter, *, tolerance: float, max_degree: int) -> tuple[Array, int]:
    """h(𝒲) y by the polynomial, and its degree. (n, q) -> (n, q)"""
    coefficients = chebyshev_coefficients(filter, tolerance=tolerance, max_degree=max_degree)
    previous, current = y, multiply(matrix, y)  # T_0 y, T_1 y
    x: Array = coefficients[0] * previous
    for c in coefficients[1:]:
        x += c * current
        previous, current = current, 2 * multiply(matrix, current) - previous
    return x, len(coefficients) - 1


def chebyshev_coefficients(filter: Filter, *, tolerance: float, max_degree: int) -> Array:
    """The fewest coefficients whose polynomial stays within `tolerance` of h on [−1, 1]."""
    whole: Array = chebyshev.chebinterpolate(lambda t: response(filter, t), max_degree)
    points = np.cos(np.linspace(0, np.pi, 4 * max_degree + 1))
    error = float(np.abs(chebyshev.chebval(points, whole) - response(filter, points)).max())
    if error > tolerance:
        raise FilterError(
            f"{filter!r} is not smooth enough for a polynomial: at degree {max_degree} it is off by {error:.1e}, "
            f"allowed is {tolerance:.1e}; use solver=Spectral(), or raise tolerance or max_degree"
        )
    tails = np.cumsum(np.abs(whole[::-1]))[::-1]  # tails[j] bounds what dropping c_j … c_m changes
    needed = int(np.count_nonzero(tails > tolerance - error))
    return whole[: max(1, needed)]
