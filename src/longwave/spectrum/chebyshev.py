"""The default: Chebyshev-filtered subspace iteration (Zhou & Saad), FSR.approx made accurate.

Stage 1 of the paper multiplies by A, which favours large |λ| and separates neighbouring eigenvalues slowly. Here each
round multiplies by a polynomial of A that is small on the unwanted [lower, cut] and steep above the cut, then takes the
Rayleigh–Ritz step of stage 2, which also tells where to cut next and how good the pairs are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.checkpoint import Checkpoint
from longwave.errors import ConvergenceWarning, InputError
from longwave.filters import LowPass
from longwave.spectrum.blocks import Block, narrow, orthonormalize, panels, rayleigh_ritz
from longwave.spectrum.density import density_of_states
from longwave.spectrum.exact import MAX_VERTICES, Exact
from longwave.spectrum.method import as_spectrum, check_rank, without_edges
from longwave.types import Array, Progress, Sparse, Spectrum

# Up to here LAPACK is as fast as the iteration.
_DENSE_VERTICES = 1500
# λ = 1 may be amplified this much over the cut: beyond it, the small end of the block drowns in float32.
_MAX_AMPLIFICATION = 1e6
_MIN_DEGREE, _MAX_DEGREE = 2, 200
# Measured against `eigsh` on Fashion-MNIST (n = 16,733, rank 500), the plain estimate is 1.1 to 1.4 times too small.
_SAFETY = 1.5
# A round that leaves this much of the error has met its limit: float32, or a multiple eigenvalue that the rank cuts.
_STALLED = 0.9


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

    def __call__(
        self,
        matrix: Sparse,
        *,
        seed: int = 0,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Spectrum:
        """Decompose A ≈ U Λ Uᵀ. matrix: CSR (n, n) symmetric with eigenvalues in [−1, 1]."""
        n = matrix.shape[0]
        if matrix.nnz == 0:
            return without_edges(matrix, self.rank)
        width = self.rank + (self.rank // 4 + 20 if self.oversampling is None else self.oversampling)
        if n <= _DENSE_VERTICES or (2 * width >= n and n <= MAX_VERTICES) or width >= n:
            return Exact(self.rank)(matrix, seed=seed, progress=progress)
        density = density_of_states(matrix, seed=seed)
        lower = max(-1.0, density.values[-1] - 0.05)
        saved = None if checkpoint is None else checkpoint.latest("round")
        if saved is None:
            start = np.random.default_rng(seed).standard_normal((n, width), dtype=np.float32)
            state = State(0, start, np.full(width, density.eigenvalue(width)), np.full(width, np.inf))
        else:
            arrays = saved[1]
            previous_error = float(arrays.pop("previous_error"))
            state = State(saved[0], **arrays, previous_error=previous_error)
        rounds = filtered_subspace(
            state,
            apply_filter=lambda b, cut, degree: chebyshev_filter(matrix, b, lower=lower, cut=cut, degree=degree),
            orthonormalize=orthonormalize,
            rayleigh_ritz=lambda b: rayleigh_ritz(matrix, b),
            rank=self.rank,
            lower=lower,
            tolerance=self.tolerance,
            max_rounds=self.max_rounds,
        )
        for state in rounds:
            if progress:
                progress(
                    f"basis: round {state.round}, error {state.error(self.rank):.1e}", state.round, self.max_rounds
                )
            if checkpoint is not None:
                arrays = {"block": state.block, "values": state.values, "residuals": state.residuals}
                arrays["previous_error"] = np.array(state.previous_error)
                checkpoint.save_round("round", state.round, arrays)
        error = state.error(self.rank)
        if error > self.tolerance:
            warnings.warn(
                f"the basis reached an estimated error of {error:.1e} after {state.round} rounds, "
                f"not the tolerance {self.tolerance:.1e}; "
                "where the rank cuts a multiple eigenvalue apart that is as far as it goes: try another rank, "
                "more oversampling or max_rounds, or accept it",
                ConvergenceWarning,
                stacklevel=2,
            )
        return as_spectrum(
            matrix,
            state.values[: self.rank],
            narrow(state.block, self.rank),
            next_eigenvalue=float(state.values[self.rank]),
            known_residuals=state.residuals[: self.rank],
        )


@dataclass(frozen=True, eq=False)
class State:
    """Where the iteration is: rounds done, the block (n, r̂), its Ritz values and residuals (r̂,).

    previous_error: the estimate one round before. Before the first round the block is random, the values an estimate
    of λ_r̂ and the residuals infinite.
    """

    round: int
    block: Block
    values: Array
    residuals: Array
    previous_error: float = np.inf

    def error(self, rank: int) -> float:
        """The estimate that the tolerance is compared with."""
        return ranking_error(self.values, self.residuals, rank)


def filtered_subspace(
    state: State,
    *,
    apply_filter: Callable[[Block, float, int], None],
    orthonormalize: Callable[[Block], None],
    rayleigh_ritz: Callable[[Block], tuple[Array, Array]],
    rank: int,
    lower: float,
    tolerance: float,
    max_rounds: int,
) -> Iterator[State]:
    """Filter, orthonormalise, Rayleigh–Ritz, until the estimated error is within the tolerance; yields every round.

    The block is overwritten. What a round does follows from the state alone, so a saved state goes on as if nothing had
    happened.
    """
    while state.round < max_rounds and tolerance < state.error(rank) < _STALLED * state.previous_error:
        cut = min(float(state.values[-1]), 0.98)  # away from λ_max, or nothing is left to amplify
        degree = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
        if state.round:  # later rounds need no more than what is still missing
            missing = 2 * state.error(rank) / tolerance
            degree = min(degree, max(8, degree_for(cut, lower, top=float(state.values[rank - 1]), gain=missing)))
        apply_filter(state.block, cut, degree)
        orthonormalize(state.block)
        values, residuals = rayleigh_ritz(state.block)
        state = State(state.round + 1, state.block, values, residuals, state.error(rank))
        yield state


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
