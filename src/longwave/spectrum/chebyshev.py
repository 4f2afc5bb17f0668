"""The default: Chebyshev-filtered subspace iteration (Zhou & Saad), FSR.approx made accurate.

Stage 1 of the paper multiplies by A, which favours large |λ| and separates neighbouring eigenvalues slowly. Here each
round multiplies by a polynomial of A that is small on the unwanted [lower, cut] and steep above the cut, then takes the
Rayleigh–Ritz step of stage 2, which also tells where to cut next and how good the pairs are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import ConvergenceWarning, InputError
from longwave.filters import LowPass
from longwave.spectrum.blocks import Block, orthonormalize, panels, rayleigh_ritz
from longwave.spectrum.density import density_of_states
from longwave.spectrum.exact import MAX_VERTICES, Exact
from longwave.spectrum.method import as_spectrum, check_rank
from longwave.types import Array, Progress, Sparse, Spectrum

# Up to here LAPACK is as fast as the iteration.
_DENSE_VERTICES = 1500
# λ = 1 may be amplified this much over the cut: beyond it, the small end of the block drowns in float32.
_MAX_AMPLIFICATION = 1e6
_MIN_DEGREE, _MAX_DEGREE = 8, 40
# Measured against `eigsh` on Fashion-MNIST (n = 16,733, rank 500), the plain estimate is 1.1 to 1.4 times too small.
_SAFETY = 1.5


@dataclass(frozen=True)
class Chebyshev:
    """The `rank` largest eigenpairs to a stated accuracy of the *ranking*.

    tolerance: relative 2-norm error of h_α(A) y, α = 0.99, y a random vector, against the exact rank-r answer,
    estimated from the residuals; rounds go on until it is reached. Choose it always, unless you need every
    pair to machine precision (`Lanczos`) or the paper's letter (`Simultaneous`). Time per round O(n r̂ (degree k + r̂)),
    memory 4 n r̂ bytes and two panels, r̂ = rank + oversampling.
    """

    rank: int = 1000
    oversampling: int | None = None
    tolerance: float = 1e-3
    max_rounds: int = 12

    def __post_init__(self) -> None:
        check_rank(self.rank)
        if self.oversampling is not None and self.oversampling < 1:
            raise InputError(f"oversampling must be at least 1, got {self.oversampling}")
        if not self.tolerance > 0:
            raise InputError(f"tolerance must be above 0, got {self.tolerance}; use Lanczos for machine precision")
        if self.max_rounds < 1:
            raise InputError(f"max_rounds must be at least 1, got {self.max_rounds}")

    def __call__(self, matrix: Sparse, *, seed: int = 0, progress: Progress | None = None) -> Spectrum:
        """Decompose A ≈ U Λ Uᵀ. matrix: CSR (n, n) symmetric with eigenvalues in [−1, 1]."""
        n = matrix.shape[0]
        width = self.rank + (self.rank // 4 + 20 if self.oversampling is None else self.oversampling)
        if n <= _DENSE_VERTICES or (2 * width >= n and n <= MAX_VERTICES) or width >= n:
            return Exact(self.rank)(matrix, seed=seed, progress=progress)
        density = density_of_states(matrix, seed=seed)
        block = np.random.default_rng(seed).standard_normal((n, width), dtype=np.float32)
        values, residuals, error = filtered_subspace(
            block,
            apply_filter=lambda b, cut, degree: chebyshev_filter(
                matrix, b, lower=max(-1.0, density.values[-1] - 0.05), cut=cut, degree=degree
            ),
            orthonormalize=orthonormalize,
            rayleigh_ritz=lambda b: rayleigh_ritz(matrix, b),
            rank=self.rank,
            cut=density.eigenvalue(width),
            lower=max(-1.0, density.values[-1] - 0.05),
            tolerance=self.tolerance,
            max_rounds=self.max_rounds,
            progress=progress,
        )
        if error > self.tolerance:
            warnings.warn(
                f"the basis reached an estimated error of {error:.1e} after {self.max_rounds} rounds, "
                f"not the tolerance {self.tolerance:.1e}; raise max_rounds or oversampling, or accept it",
                ConvergenceWarning,
                stacklevel=2,
            )
        return as_spectrum(
            matrix,
            values[: self.rank],
            np.ascontiguousarray(block[:, : self.rank]),
            next_eigenvalue=float(values[self.rank]),
            known_residuals=residuals[: self.rank],
        )


def filtered_subspace(
    block: Block,
    *,
    apply_filter: Callable[[Block, float, int], None],
    orthonormalize: Callable[[Block], None],
    rayleigh_ritz: Callable[[Block], tuple[Array, Array]],
    rank: int,
    cut: float,
    lower: float,
    tolerance: float,
    max_rounds: int,
    progress: Progress | None = None,
) -> tuple[Array, Array, float]:
    """Filter, orthonormalise, Rayleigh–Ritz, until the estimated error is within the tolerance.

    block: (n, r̂) start, overwritten by Ritz vectors. Returns Ritz values (r̂,), residuals (r̂,) and the estimate.
    """
    cut = min(cut, 0.98)  # away from λ_max, or nothing is left to amplify
    degree = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
    for round_ in range(1, max_rounds + 1):
        apply_filter(block, cut, degree)
        orthonormalize(block)
        values, residuals = rayleigh_ritz(block)
        error = ranking_error(values, residuals, rank)
        if progress:
            progress(f"basis: round {round_}, error {error:.1e}", round_, max_rounds)
        if error <= tolerance:
            break
        # From the second round on, the smallest Ritz value is the better cut.
        cut = min(float(values[-1]), 0.98)
        most = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
        needed = degree_for(cut, lower, top=float(values[rank - 1]), gain=2 * error / tolerance)
        degree = max(_MIN_DEGREE, min(most, needed))
    return values, residuals, error


def degree_for(cut: float, lower: float, *, top: float, gain: float) -> int:
    """The degree at which the filter of [lower, cut] amplifies λ = top by `gain`: T_m(t) = cosh(m arccosh t)."""
    center, half = (cut + lower) / 2, (cut - lower) / 2
    rate = np.arccosh(max(1 + 1e-6, (top - center) / half))
    return int(np.clip(np.log(2 * gain) / rate, _MIN_DEGREE, _MAX_DEGREE))


def chebyshev_filter(matrix: Sparse, block: Block, *, lower: float, cut: float, degree: int) -> None:
    """B ← p(A) B in place: p(λ) = T_m((λ − c)/e) / T_m((1 − c)/e), c and e centre and half-width of [lower, cut].

    The scaled three-term recurrence (Zhou & Saad 2007, Alg. 3.1) keeps p(1) = 1 at every step, where the plain one
    overflows float32.
    """
    from longwave import compiled

    center, half = (cut + lower) / 2, (cut - lower) / 2

    def step(current: Block, previous: Block, scale: float, back: float) -> None:
        """Previous ← scale (A − c) current − back previous, in one sweep."""
        numbers: Any = [np.float32(number) for number in (scale, center, back)]
        compiled.chebyshev_step(matrix.data, matrix.indices, matrix.indptr, current, previous, *numbers)

    for columns in panels(block.shape[1]):
        previous = np.ascontiguousarray(block[:, columns])
        current = np.zeros_like(previous)
        sigma = sigma_1 = half / (1.0 - center)
        step(previous, current, sigma_1 / half, 0.0)  # current = (σ₁/e) (A − c) previous
        for _ in range(2, degree + 1):
            sigma_next = 1 / (2 / sigma_1 - sigma)
            step(current, previous, 2 * sigma_next / half, sigma * sigma_next)
            previous, current = current, previous
            sigma = sigma_next
        block[:, columns] = current


def ranking_error(values: Array, residuals: Array, rank: int) -> float:
    """Estimated relative error of U h_α(Λ) Uᵀ y, α = 0.99, y random, against exact eigenpairs.

    A Ritz vector with residual ρ and distance g to the nearest eigenvalue left out deviates by about ρ / g; that enters
    twice, in Uᵀ y and in U z, each time with weight h(λ).
    """
    weights = LowPass(0.99)(values[:rank])
    # Without oversampling the gap of the last pair is unknown: then its residual counts in full.
    gaps = np.maximum(values[:rank] - values[-1], 1e-12)
    deviation: NDArray[np.float64] = np.minimum(1.0, residuals[:rank] / gaps)
    return float(_SAFETY * np.sqrt(2 * np.sum((weights * deviation) ** 2) / np.sum(weights**2)))
