"""The default: Chebyshev-filtered subspace iteration (Zhou & Saad), FSR.approx made accurate.

Stage 1 of the paper multiplies by A, which favours large |λ| and separates neighbouring eigenvalues slowly. Here each
round multiplies by a polynomial of A that is small on the unwanted [lower, cut] and steep above the cut, then takes the
Rayleigh–Ritz step of stage 2, which also tells where to cut next and how good the pairs are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import ConvergenceWarning, InputError
from longwave.filters import LowPass
from longwave.spectrum.blocks import (
    Block,
    multiply,
    narrow,
    order_columns,
    orthonormalize,
    panel_width,
    panels,
    rayleigh_ritz,
)
from longwave.spectrum.density import Density, density_bytes, density_of_states
from longwave.spectrum.exact import MAX_VERTICES, Exact
from longwave.spectrum.method import DEFAULT_RUN, Run, as_spectrum, check_rank, without_edges
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Array, Sparse

# Up to here LAPACK is as fast as the iteration.
_DENSE_VERTICES = 1500
# λ = 1 may be amplified this much over the cut: beyond it, the small end of the block drowns in float32.
_MAX_AMPLIFICATION = 1e6
_MIN_DEGREE, _MAX_DEGREE = 2, 200
# What a sparse product takes for each dense one of as many numbers; measured 8, for the progress bar only.
_SPARSE_PRICE = 8
# The density counts too many eigenvalues above a value: by 11 % at rank 50, 7 at 100, 0 to 3 from 200 to 1,000, on the
# graphs of Fashion-MNIST.
_COUNT_MARGIN = 1.05
# The cut stays away from λ_max, or nothing is left to amplify.
_MAX_CUT = 0.98
# The plain estimate takes every residual to lie at the cut, where the gap is smallest, and is 2.5 to 11 times too big.
# With this factor it is still 1.3 to 5.5 times the true error, on the graphs of Fashion-MNIST, Oxford and USPS at ranks
# from 50 to 500 and tolerances from 1e-2 to 1e-4.
_CALIBRATION = 0.5
# A round that leaves this much of the error has met its limit: float32, or a cluster of eigenvalues that the rank cuts.
# Which of such a cluster are kept does not matter to the ranking; others gain a factor of ten or more in a round.
_STALLED = 0.5
# A larger error than this would be seen in the ranking, and a larger rank helps.
_VISIBLE = 0.02


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

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """Decompose A ≈ U Λ Uᵀ. matrix: CSR (n, n) symmetric with eigenvalues in [−1, 1]."""
        n = matrix.shape[0]
        if matrix.nnz == 0:
            return without_edges(matrix, self.rank)
        width = self.width
        if self._is_dense(n):
            return Exact(self.rank)(matrix)
        density = density_of_states(matrix, seed=run.seed)
        lower = _lower_end(density)
        saved = None if run.checkpoint is None else run.checkpoint.latest("round")
        state = self._first(matrix, run, density) if saved is None else State.unpack(*saved)

        def report(share: float) -> None:
            if run.progress:
                error = f", error {state.error(self.rank):.1e}" if state.round else ""
                run.progress(f"basis: round {state.round + 1}{error}", round(100 * share), 100)

        def apply_filter(block: Block, cut: float, degree: int) -> None:
            work = degree * matrix.nnz * block.shape[1] * _SPARSE_PRICE
            share = work / (work + n * 4 * block.shape[1] * width)
            chebyshev_filter(
                matrix, block, lower=lower, cut=cut, degree=degree, progress=lambda done: report(share * done)
            )

        def ritz(block: Block, products: NDArray[np.float64]) -> tuple[Array, Array]:
            report(0.8)
            return rayleigh_ritz(matrix, block, products)

        rounds = filtered_subspace(
            state,
            apply_filter=apply_filter,
            orthonormalize=orthonormalize,
            rayleigh_ritz=ritz,
            rank=self.rank,
            lower=lower,
            tolerance=self.tolerance,
            max_rounds=self.max_rounds,
        )
        for state in rounds:
            report(0.0)
            if run.checkpoint is not None:
                run.checkpoint.save_round("round", state.round, state.pack())
        error = state.error(self.rank)
        if run.progress:
            run.progress(f"basis: {state.round} rounds, error {error:.1e}", 100, 100)
        if error > self.tolerance and (state.round >= self.max_rounds or error > _VISIBLE):
            warnings.warn(
                f"the basis reached an estimated error of {error:.1e} after {state.round} rounds, "
                f"not the tolerance {self.tolerance:.1e}: try a larger rank, more oversampling, or more max_rounds",
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

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices: the block, two panels, and small matrices in float64."""
        if self._is_dense(n):
            return Exact(self.rank).memory(n)
        width = self.width
        return max(4 * n * (width + 2 * panel_width(width)) + 6 * 8 * width**2, density_bytes(n))

    def work(self, n: int, nonzeros: int, density: Density) -> tuple[float, float]:
        """Expected multiplications and additions of two rounds, the second half locked: sparse, dense.

        n, nonzeros: of the component; density: of its eigenvalues.
        """
        width = self.width
        degree = degree_for(self._first_cut(density), _lower_end(density), top=1.0, gain=_MAX_AMPLIFICATION)
        products = 1.5 * (degree + 2) * width  # columns multiplied by A
        return 2 * nonzeros * products, n * width**2 * (8 + 3) + 2 * 30 * width**3

    def _is_dense(self, n: int) -> bool:
        """Whether LAPACK does it: the component is small, or the block would be most of a square."""
        return n <= _DENSE_VERTICES or (2 * self.width >= n and n <= MAX_VERTICES) or self.width >= n

    def _first_cut(self, density: Density) -> float:
        """About λ_r̂."""
        return min(density.eigenvalue(_COUNT_MARGIN * self.width), _MAX_CUT)

    @property
    def width(self) -> int:
        """r̂: columns of the block."""
        return self.rank + (self.rank // 4 + 20 if self.oversampling is None else self.oversampling)

    def _first(self, matrix: Sparse, run: Run, density: Density) -> State:
        """The state before the first round: random columns, or those that are given and random ones after them."""
        block = np.random.default_rng(run.seed).standard_normal((matrix.shape[0], self.width), dtype=np.float32)
        cut = self._first_cut(density)
        known = 0 if run.start is None else run.start(block)
        if known:
            new = np.flatnonzero(~block[:, :known].any(axis=1))  # vertices unknown to the start: from neighbours
            part = sp.csr_array(matrix[new])
            for columns in panels(known):
                block[new, columns] = multiply(part, block[:, columns])
        if 0 < known < self.width:  # the random columns catch up, so that one round may be enough
            lower = _lower_end(density)
            degree = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
            chebyshev_filter(matrix, block[:, known:], lower=lower, cut=cut, degree=degree)
            orthonormalize(block[:, known:], block[:, :known])
        return State(0, block, np.full(self.width, cut), np.full(self.width, np.inf), cut)


@dataclass(frozen=True, eq=False)
class State:
    """Where the iteration is: rounds done, the block (n, r̂), its Ritz values and residuals (r̂,).

    cut: the best estimate of λ_r̂. errors: the estimates one and two rounds before. Before the first round the values
    are guesses and the residuals infinite.
    """

    round: int
    block: Block
    values: Array
    residuals: Array
    cut: float
    errors: tuple[float, float] = (np.inf, np.inf)

    def error(self, rank: int) -> float:
        """The estimate that the tolerance is compared with."""
        return float(np.sqrt(np.sum(self._shares(rank))))

    def locked(self, rank: int, tolerance: float) -> int:
        """How many leading pairs are good enough: together they take at most half of the tolerance."""
        return int(np.searchsorted(np.cumsum(self._shares(rank)), (tolerance / 2) ** 2))

    def _shares(self, rank: int) -> Array:
        return ranking_errors(self.values[:rank], self.residuals[:rank], max(self.cut, float(self.values[-1])))

    def pack(self) -> dict[str, Array]:
        """The arrays that a checkpoint keeps."""
        numbers = np.array([self.cut, *self.errors])
        return {"block": self.block, "values": self.values, "residuals": self.residuals, "numbers": numbers}

    @classmethod
    def unpack(cls, number: int, arrays: Mapping[str, Array]) -> State:
        """The state of a checkpoint."""
        cut, *errors = arrays["numbers"].tolist()
        return cls(number, arrays["block"], arrays["values"], arrays["residuals"], cut, tuple(errors))


def filtered_subspace(
    state: State,
    *,
    apply_filter: Callable[[Block, float, int], None],
    orthonormalize: Callable[[Block, Block], NDArray[np.float64]],
    rayleigh_ritz: Callable[[Block, NDArray[np.float64]], tuple[Array, Array]],
    rank: int,
    lower: float,
    tolerance: float,
    max_rounds: int,
) -> Iterator[State]:
    """Filter, orthonormalise, Rayleigh–Ritz, until the estimated error is within the tolerance; yields every round.

    Leading pairs that are good enough are locked: the others are filtered without them and kept orthogonal to them. The
    block is overwritten. What a round does follows from the state alone, so a saved state goes on as if nothing had
    happened.
    """
    while state.round < max_rounds and _goes_on(state, rank, tolerance):
        cut, locked = state.cut, 0
        if np.isfinite(state.residuals).all():  # the Ritz value in the middle of the oversampling is safe, and better
            cut = min(max(cut, float(state.values[(rank + len(state.values)) // 2])), _MAX_CUT)
            locked = state.locked(rank, tolerance)
        degree = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
        if state.round:  # no more than what is still missing
            missing = 2 * state.error(rank) / tolerance
            needed = degree_for(cut, lower, top=float(state.values[rank - 1]), gain=missing)
            degree = min(degree, max(_MIN_DEGREE, needed))
        block = state.block[:, locked:]
        apply_filter(block, cut, degree)
        values, residuals = rayleigh_ritz(block, orthonormalize(block, state.block[:, :locked]))
        values = np.concatenate([state.values[:locked], values])
        residuals = np.concatenate([state.residuals[:locked], residuals])
        order = np.argsort(-values, kind="stable")
        if locked and (np.diff(order) < 0).any():  # a pair that had been missed
            order_columns(state.block, order)
        # Ritz values lie below the eigenvalues; if not even λ_r lies above the estimate of λ_r̂, that is wrong.
        cut = max(float(values[order[-1]]), state.cut if values[order[rank - 1]] > state.cut else -1.0)
        errors = state.error(rank), state.errors[0]
        state = State(state.round + 1, state.block, values[order], residuals[order], min(cut, _MAX_CUT), errors)
        yield state


def _goes_on(state: State, rank: int, tolerance: float) -> bool:
    """Whether another round is worth it: the error is too large, and the last round has made it much smaller."""
    if state.round < 2:
        return state.round == 0 or state.error(rank) > tolerance
    return tolerance < state.error(rank) < _STALLED * state.errors[0]


def _lower_end(density: Density) -> float:
    return max(-1.0, float(density.values.min()) - 0.05)


def degree_for(cut: float, lower: float, *, top: float, gain: float) -> int:
    """The degree at which the filter of [lower, cut] amplifies λ = top by `gain`: T_m(t) = cosh(m arccosh t)."""
    center, half = (cut + lower) / 2, (cut - lower) / 2
    rate = np.arccosh(max(1 + 1e-6, (top - center) / half))
    return int(np.clip(np.log(2 * gain) / rate, _MIN_DEGREE, _MAX_DEGREE))


def chebyshev_filter(
    matrix: Sparse,
    block: Block,
    *,
    lower: float,
    cut: float,
    degree: int,
    progress: Callable[[float], None] = lambda done: None,
) -> None:
    """B ← p(A) B in place: p(λ) = T_m((λ − c)/e) / T_m((1 − c)/e), c and e centre and half-width of [lower, cut].

    The scaled three-term recurrence (Zhou & Saad 2007, Alg. 3.1) keeps p(1) = 1 at every step, where the plain one
    overflows float32. progress: told the share done.
    """
    from longwave.rows import compiled

    center, half = (cut + lower) / 2, (cut - lower) / 2

    def step(current: Block, previous: Block, scale: float, back: float) -> None:
        """Previous ← scale (A − c) current − back previous, in one sweep."""
        numbers: Any = [np.float32(number) for number in (scale, center, back)]
        compiled.chebyshev_step(matrix.data, matrix.indices, matrix.indptr, current, previous, *numbers)

    n, width = block.shape
    memory = np.empty((2, n * panel_width(width)), dtype=np.float32)
    for columns in panels(width):
        shape = n, columns.stop - columns.start
        previous, current = (buffer[: shape[0] * shape[1]].reshape(shape) for buffer in memory)
        previous[:] = block[:, columns]
        current[:] = 0
        sigma = sigma_1 = half / (1.0 - center)
        step(previous, current, sigma_1 / half, 0.0)  # current = (σ₁/e) (A − c) previous
        for _ in range(2, degree + 1):
            sigma_next = 1 / (2 / sigma_1 - sigma)
            step(current, previous, 2 * sigma_next / half, sigma * sigma_next)
            previous, current = current, previous
            sigma = sigma_next
        block[:, columns] = current
        progress(columns.stop / width)


def ranking_errors(values: Array, residuals: Array, floor: float) -> Array:
    """Each pair's share in the squared relative error of U h_α(Λ) Uᵀ y, α = 0.99, y random, estimated. (r,) -> (r,)

    A Ritz vector with residual ρ and distance g to the eigenvalues left out, which begin at the floor, deviates by
    about ρ / g; that enters twice, in Uᵀ y and in U z, each time with weight h(λ).
    """
    weights = LowPass(0.99)(values)
    gaps = np.maximum(values - floor, 1e-12)  # of the last pair without oversampling: its residual counts in full
    deviation: NDArray[np.float64] = np.minimum(1.0, residuals / gaps)
    shares: NDArray[np.float64] = _CALIBRATION**2 * 2 * (weights * deviation) ** 2 / np.sum(weights**2)
    return shares
