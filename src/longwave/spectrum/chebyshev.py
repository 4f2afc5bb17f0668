"""`Chebyshev`, the default method for the basis: filtered subspace iteration (Zhou & Saad), FSR.approx made accurate.

Stage 1 of the paper multiplies by A, which favours large |λ| and separates neighbouring eigenvalues slowly. Here each
round multiplies by a polynomial of A that is small on the unwanted [lower, cut] and steep above the cut, then takes the
Rayleigh–Ritz step of stage 2, which also tells where to cut next and how good the pairs are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from longwave.errors import ConvergenceWarning, InputError
from longwave.filters import LowPass
from longwave.spectrum.blocks import panel_width
from longwave.spectrum.density import Density, density_bytes, density_of_states
from longwave.spectrum.exact import MAX_VERTICES, Exact
from longwave.spectrum.method import DEFAULT_RUN, Run, check_rank, from_block, without_edges
from longwave.spectrum.operations import B, Operations
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
# What `ranking_errors` is multiplied with, so that it is never too small: it is then 1.0 to 5.3 times the true error
# where the rounds end. Measured against exact eigenvalues on digits, USPS, Oxford, Fashion-MNIST, fruits on a turntable
# and two graphs of 200 weakly joined groups, at ranks from 30 to 300, tolerances from 1e-2 to 1e-4, and with 5 columns
# of oversampling too. After a first round that is not the last it was up to 10 times.
_CALIBRATION = 1.5
# A round that leaves this much of the error has met its limit: float32, or a cluster of eigenvalues that the rank cuts
# and that no polynomial separates. Other rounds gain a factor of ten or more.
_STALLED = 0.5
# How much the relative error of a search may grow by inexact pairs before anybody needs to know.
_VISIBLE = 0.02
_FILTER = LowPass(0.99)


@dataclass(frozen=True)
class Chebyshev:
    """The `rank` largest eigenpairs, as accurate as a ranking needs them. Choose it always.

    Exceptions: every pair to machine precision is `Lanczos`, the paper's letter is `Simultaneous`.

    tolerance: what inexact pairs may add to the relative error of a search, x = h(A) y with h = h_0.99. Even exact
    pairs leave an error e_r, as the rank is limited. Inexact ones leave e, and rounds go on until the estimate of
    √(e² − e_r²) is within the tolerance, or a round no longer helps. oversampling: columns beyond the rank, a quarter
    of it and 20 by default. max_rounds: at most so many.

    Time per round O(n r̂ (degree k + r̂)), memory 4 n r̂ bytes and two panels, r̂ = rank + oversampling.
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
        if matrix.nnz == 0:
            return without_edges(matrix, self.rank)
        if self._is_dense(matrix.shape[0]):
            return Exact(self.rank)(matrix)
        return self.iterate(run.operations(matrix), run)

    def iterate(self, operations: Operations[B], run: Run = DEFAULT_RUN) -> Spectrum:
        """The iteration, for a matrix of which nothing is known but its operations."""
        density = density_of_states(operations, seed=run.seed)
        lower = _lower_end(density)
        saved = None if run.checkpoint is None else run.checkpoint.latest("round")
        state = self._first(operations, run, density) if saved is None else State.unpack(operations, *saved)

        def report(share: float) -> None:
            if run.progress:
                error = f", error {state.error(self.rank):.1e}" if state.round else ""
                run.progress(f"basis: round {state.round + 1}{error}", round(100 * share), 100)

        rounds = filtered_subspace(
            operations,
            state,
            rank=self.rank,
            lower=lower,
            tolerance=self.tolerance,
            max_rounds=self.max_rounds,
            progress=report,
        )
        for state in rounds:
            report(0.0)
            if run.checkpoint is not None:
                run.checkpoint.save_round("round", state.round, state.pack(operations))
        error = state.error(self.rank)
        if run.progress:
            run.progress(f"basis: {state.round} rounds, error {error:.1e}", 100, 100)
        self._warn(state, density)
        return from_block(
            operations,
            operations.take(state.block, np.arange(self.rank)),
            state.values[: self.rank],
            state.residuals[: self.rank],
            next_eigenvalue=float(state.values[self.rank]),
        )

    def _warn(self, state: State[Any], density: Density) -> None:
        """Say that the tolerance was missed, if more rounds would help or a search would show it, and what to do."""
        error = state.error(self.rank)
        if error <= self.tolerance:
            return
        reached = f"the basis has an estimated error of {error:.1e}, not the tolerance {self.tolerance:.1e}"
        added = added_error(state.values[: self.rank], error, density)
        if state.round >= self.max_rounds and _improves(state, self.rank):
            advice = f"it stopped at max_rounds = {self.max_rounds}: allow more rounds, or a larger tolerance"
        elif added > _VISIBLE:
            advice = (
                f"this adds about {added:.0%} to the error of a search, and more rounds do not help, as the rank parts "
                "eigenvalues that lie together: use a larger rank, or more oversampling"
            )
        else:
            return
        warnings.warn(f"{reached}; {advice}", ConvergenceWarning, stacklevel=4)

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
        """Whether LAPACK is the better choice: the component is small, or the block would have half of its columns."""
        return n <= _DENSE_VERTICES or (2 * self.width >= n and n <= MAX_VERTICES) or self.width >= n

    def _first_cut(self, density: Density) -> float:
        """About λ_r̂."""
        return min(density.eigenvalue(_COUNT_MARGIN * self.width), _MAX_CUT)

    @property
    def width(self) -> int:
        """r̂: columns of the block."""
        return self.rank + (self.rank // 4 + 20 if self.oversampling is None else self.oversampling)

    def _first(self, operations: Operations[B], run: Run, density: Density) -> State[B]:
        """The state before the first round: random columns, or those that are given and random ones after them."""
        block, known = operations.start(self.width, run.seed, run.start)
        cut = self._first_cut(density)
        if 0 < known < self.width:  # the random columns catch up, so that one round may be enough
            lower = _lower_end(density)
            degree = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
            block = operations.filter(block, locked=known, lower=lower, cut=cut, degree=degree, progress=_silent)
            block, _ = operations.orthonormalize(block, locked=known)
        return State(0, block, np.full(self.width, cut), np.full(self.width, np.inf), cut)


def _silent(share: float) -> None:
    """No progress is shown."""


def _part(progress: Callable[[float], None], share: float) -> Callable[[float], None]:
    """The progress of a part of the work that takes this share of the whole."""
    return lambda done: progress(share * done)


@dataclass(frozen=True, eq=False)
class State(Generic[B]):
    """Where the iteration is: rounds done, the block (n, r̂), its Ritz values and residuals (r̂,).

    cut: the best estimate of λ_r̂. errors: the estimates one and two rounds before. Before the first round the values
    are guesses and the residuals infinite.
    """

    round: int
    block: B
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
        last = float(self.values[-1])
        return ranking_errors(self.values[:rank], self.residuals[:rank], cut=max(self.cut, last), last=last)

    def pack(self, operations: Operations[B]) -> dict[str, Array]:
        """The arrays that a checkpoint keeps."""
        numbers = np.array([self.cut, *self.errors])
        small = {"values": self.values, "residuals": self.residuals, "numbers": numbers}
        return {**operations.pack(self.block), **small}

    @classmethod
    def unpack(cls, operations: Operations[B], number: int, arrays: Mapping[str, Array]) -> State[B]:
        """The state of a checkpoint."""
        cut, *errors = arrays["numbers"].tolist()
        block = operations.unpack(arrays)
        return cls(number, block, arrays["values"], arrays["residuals"], cut, tuple(errors))


def filtered_subspace(
    operations: Operations[B],
    state: State[B],
    *,
    rank: int,
    lower: float,
    tolerance: float,
    max_rounds: int,
    progress: Callable[[float], None] = _silent,
) -> Iterator[State[B]]:
    """Filter, orthonormalise, Rayleigh–Ritz, until the estimated error is within the tolerance; yields every round.

    Leading pairs that are good enough are locked: the others are filtered without them and kept orthogonal to them.
    What a round does follows from the state alone, so a saved state goes on as if nothing had happened. progress: told
    the share of the round that is done.
    """
    while state.round < max_rounds and _goes_on(state, rank, tolerance):
        cut, locked, width = state.cut, 0, len(state.values)
        if np.isfinite(state.residuals).all():  # the Ritz value in the middle of the oversampling is safe, and better
            cut = min(max(cut, float(state.values[(rank + width) // 2])), _MAX_CUT)
            locked = state.locked(rank, tolerance)
        degree = degree_for(cut, lower, top=1.0, gain=_MAX_AMPLIFICATION)
        if state.round:  # no more than what is still missing
            missing = 2 * state.error(rank) / tolerance
            needed = degree_for(cut, lower, top=float(state.values[rank - 1]), gain=missing)
            degree = min(degree, max(_MIN_DEGREE, needed))
        sparse, dense = degree * operations.nonzeros * _SPARSE_PRICE, operations.n * 4 * width
        share = sparse / (sparse + dense)  # of the filter in the time of the round
        block = operations.filter(
            state.block,
            locked=locked,
            lower=lower,
            cut=cut,
            degree=degree,
            progress=_part(progress, share),
        )
        block, products = operations.orthonormalize(block, locked=locked)
        progress(0.8)
        block, values, residuals = operations.rayleigh_ritz(block, products, locked=locked)
        values = np.concatenate([state.values[:locked], values])
        residuals = np.concatenate([state.residuals[:locked], residuals])
        order = np.argsort(-values, kind="stable")
        if locked and (np.diff(order) < 0).any():  # a pair that had been missed
            block = operations.take(block, order)
        # Ritz values lie below the eigenvalues; if not even λ_r lies above the estimate of λ_r̂, that is wrong.
        cut = max(float(values[order[-1]]), state.cut if values[order[rank - 1]] > state.cut else -1.0)
        errors = state.error(rank), state.errors[0]
        state = State(state.round + 1, block, values[order], residuals[order], min(cut, _MAX_CUT), errors)
        yield state


def _goes_on(state: State[Any], rank: int, tolerance: float) -> bool:
    """Whether another round is worth it: the error is too large, and the last round has made it much smaller."""
    return state.round == 0 or (state.error(rank) > tolerance and _improves(state, rank))


def _improves(state: State[Any], rank: int) -> bool:
    """Whether the last round made the error much smaller. The first one has nothing to compare with."""
    return state.round < 2 or state.error(rank) < _STALLED * state.errors[0]


def _lower_end(density: Density) -> float:
    return max(-1.0, float(density.values.min()) - 0.05)


def degree_for(cut: float, lower: float, *, top: float, gain: float) -> int:
    """The degree at which the filter of [lower, cut] amplifies λ = top by `gain`: T_m(t) = cosh(m arccosh t)."""
    center, half = (cut + lower) / 2, (cut - lower) / 2
    rate = np.arccosh(max(1 + 1e-6, (top - center) / half))
    return int(np.clip(np.log(2 * gain) / rate, _MIN_DEGREE, _MAX_DEGREE))


def ranking_errors(values: Array, residuals: Array, *, cut: float, last: float) -> Array:
    """What every pair adds to the squared relative error of a search, estimated. values, residuals: (r,) -> (r,)

    A search is x = U g(Λ) Uᵀ y + h(0) y, with g = h − h(0), h = h_0.99 and a random y. Let a Ritz vector be
    cos φ · v + sin φ · w, where v is an eigenvector of λ, and w one of a smaller μ that the block does not hold. Then
    the squared error of x grows by 2 sin²φ g(λ) (g(λ) − g(μ)), to first order in sin²φ. Where μ is near λ this is
    little, however large the angle: w does as well as v. So a rank that cuts a cluster of eigenvalues does no harm by
    itself.

    The residual ρ tells the angle if μ is known: sin φ = ρ / (λ − μ). Eigenvalues that the block does not hold begin at
    the `cut`. What float32 scatters lies all over, and drags down the `last` Ritz value of the block. The gap λ − μ is
    taken as the geometric mean of the distances to both. It is never below ρ, since sin φ ≤ 1. λ lies above the Ritz
    value by up to ρ² / gap. The error is divided by what the basis holds of x, which is a little less than x.
    """
    at_zero = _FILTER(np.zeros(1))[0]
    known = np.minimum(residuals, 1.0)
    between = np.sqrt(np.maximum(values - cut, 0) * np.maximum(values - last, 0))
    gaps = np.maximum(between, np.maximum(known, 1e-12))
    above = np.minimum(values + known**2 / gaps, 1.0)
    here, there = _FILTER(above), _FILTER(np.maximum(above - gaps, -1.0))
    added = 2 * (known / gaps) ** 2 * (here - at_zero) * (here - there)
    shares: NDArray[np.float64] = _CALIBRATION**2 * added / np.sum(_FILTER(values) ** 2)
    return shares


def added_error(values: Array, error: float, density: Density) -> float:
    """By how much inexact pairs make the relative error of a search larger: √(e_r² + error²) − e_r.

    e_r: what exact pairs of this rank leave, by the density of states. values: (r,) those that are kept. The error is
    relative to what the basis holds of h(A)y, the result to all of it.
    """
    rank, at_zero = len(values), _FILTER(np.zeros(1))[0]
    held = float(np.sum(_FILTER(values) ** 2))
    whole = held + density.total(lambda points: _FILTER(points) ** 2, after=rank)
    left = density.total(lambda points: (_FILTER(points) - at_zero) ** 2, after=rank) / whole
    return float(np.sqrt(left + error**2 * held / whole) - np.sqrt(left))
