"""Conjugate gradients on 𝓛_α x = y, eq. (1): plain (the method the paper replaced) and hybrid (with the basis)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.errors import ConvergenceWarning, InputError
from longwave.filters import LowPass, response
from longwave.solvers.system import System, require_lowpass
from longwave.spectrum.blocks import multiply
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class ConjugateGradient:
    """The exact answer, on the graph itself: solve 𝓛_α x = y, 𝓛_α = (I − α𝒲)/(1 − α). `LowPass` only.

    Choose it as the truth to compare with, or for a graph too large for a basis.

    tolerance: stop when ‖y − 𝓛_α x‖ ≤ tolerance · ‖x‖, which bounds the relative error, since λ_min(𝓛_α) = 1.
    max_steps: at most so many. Time O(nnz) per step and query; the steps grow like √((1 + α)/(1 − α)).
    """

    tolerance: float = 1e-6
    max_steps: int = 1000

    def __post_init__(self) -> None:
        _check(self.tolerance, self.max_steps)

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        alpha = require_lowpass(filter, "ConjugateGradient")
        return _solve(system, observation, alpha, None, self.tolerance, self.max_steps)


@dataclass(frozen=True)
class Hybrid:
    """The spectral answer, corrected by conjugate gradients until it is as exact as asked. `LowPass` only.

    Choose it for an exact ranking from a basis of low rank. tolerance, max_steps: as in `ConjugateGradient`.

    The spectral operator with the complement, M = U (h(Λ) − h(0)) Uᵀ + h(0) I, is the preconditioner: for exact
    eigenpairs it removes the kept part of the spectrum, and the condition number falls from
    (1 − αλ_min)/(1 − α) to (1 − αλ_min)/(1 − αλ_{r+1}). The residual is that of the true system, so approximate
    eigenpairs cost steps, never accuracy. Time O(nnz + n r) per step and query.
    """

    tolerance: float = 1e-3
    max_steps: int = 200

    def __post_init__(self) -> None:
        _check(self.tolerance, self.max_steps)

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        alpha = require_lowpass(filter, "Hybrid")
        spectrum = system.require_spectrum("Hybrid")
        at_zero = 1 - alpha
        gains = response(LowPass(alpha), spectrum.eigenvalues) - at_zero

        def precondition(r: Array) -> Array:  # (n, q) -> (n, q)
            waves = spectrum.eigenvectors.project(r.T.astype(np.float32))
            return spectrum.eigenvectors.synthesize(waves * gains.astype(np.float32)).T + at_zero * r

        return _solve(system, observation, alpha, precondition, self.tolerance, self.max_steps)


def _check(tolerance: float, max_steps: int) -> None:
    if not tolerance >= 0:
        raise InputError(f"tolerance must be at least 0, got {tolerance}")
    if max_steps < 1:
        raise InputError(f"max_steps must be at least 1, got {max_steps}")


def _solve(
    system: System,
    observation: Sparse,
    alpha: float,
    precondition: Callable[[Array], Array] | None,
    tolerance: float,
    max_steps: int,
) -> Solution:
    def laplacian(x: Array) -> Array:  # 𝓛_α x
        return multiply(system.normalized, x, scale=-alpha / (1 - alpha), own=1 / (1 - alpha))

    y = observation.toarray().T.astype(np.float64)  # (n, q)
    x, errors, steps = preconditioned(laplacian, y, precondition, tolerance, max_steps)
    late = int((errors > tolerance).sum())
    if late and tolerance > 0:
        warnings.warn(
            f"{late} of {len(errors)} queries stopped after {steps.max()} steps at a relative error of up to "
            f"{errors.max():.1e}, not {tolerance:.1e}; raise max_steps, or the rank of the basis",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Solution(system.pool(x.T), errors=errors, steps=steps)


def preconditioned(
    apply: Callable[[Array], Array],
    y: NDArray[np.float64],
    precondition: Callable[[Array], Array] | None,
    tolerance: float,
    max_steps: int,
) -> tuple[Array, NDArray[np.float64], NDArray[np.int64]]:
    """Preconditioned conjugate gradients for A x = y, one column per query, from x = M y; None is M = I.

    A column stops when ‖r‖ ≤ tolerance · ‖x‖. Returns x (n, q), ‖r‖ / ‖x‖ and the steps taken (q,). Columns that
    are done leave the work.
    """
    answer = np.array(y if precondition is None else precondition(y), order="C")
    residual = y - apply(answer)
    errors, steps = _relative(_dots(residual, residual), answer), np.zeros(y.shape[1], dtype=np.int64)
    active = np.flatnonzero(errors > tolerance)
    x, r = answer[:, active], residual[:, active]
    z = r if precondition is None else precondition(r)
    p, rz = np.array(z, order="C"), _dots(r, z)
    for _ in range(max_steps):
        if not active.size:
            break
        step = apply(p)
        length = rz / _dots(p, step)
        x += length * p
        step *= length
        r -= step
        z = r if precondition is None else precondition(r)
        rz_next = _dots(r, z)
        p *= rz_next / rz
        p += z
        rz = rz_next
        steps[active] += 1
        errors[active] = _relative(rz if precondition is None else _dots(r, r), x)
        going = (errors[active] > tolerance) & (rz > 0)
        if not going.all():
            answer[:, active] = x
            active, x, r, p, rz = active[going], x[:, going], r[:, going], p[:, going], rz[going]
    answer[:, active] = x
    return answer, errors, steps


def _dots(left: Array, right: Array) -> NDArray[np.float64]:
    """The inner product of every pair of columns. (n, q), (n, q) -> (q,)"""
    if left.shape[1] == 1:  # as vectors, in half of the time
        return np.array([np.einsum("i,i->", left[:, 0], right[:, 0])], dtype=np.float64)
    return np.asarray(np.einsum("ij,ij->j", left, right), dtype=np.float64)


def _relative(squares: NDArray[np.float64], x: Array) -> NDArray[np.float64]:
    """‖r‖ / ‖x‖ of every column; ‖r‖ where x is zero. squares: (q,) ‖r‖²."""
    size = np.sqrt(_dots(x, x))
    return np.asarray(np.sqrt(squares) / np.where(size > 0, size, 1.0), dtype=np.float64)
