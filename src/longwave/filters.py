"""Transfer functions h as values: chosen at query time, evaluated on eigenvalues of 𝒲 in [−1, 1] (§2.2, §4, §5).

A filter is any callable from an array of eigenvalues to an array of the same shape. The classes here are frozen
dataclasses, so they compare, print and can be written as text (``lowpass:0.99``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longwave.checks import number_text
from longwave.errors import FilterError, FilterWarning, InputError, LongwaveError, plural
from longwave.types import Array, Filter


@dataclass(frozen=True)
class LowPass:
    """h_α(λ) = (1 − α) / (1 − αλ), eq. (2): random walk with restart, the paper's filter.

    α = 0 passes everything (x = y); towards 1 only the longest waves are left. Choose it first; 0.99 is the paper's,
    smaller values stay closer to the query's own neighbours.

    >>> LowPass(alpha=0.5)(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.333, 0.5  , 1.   ])
    """

    alpha: float = 0.99

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray((1 - self.alpha) / (1 - self.alpha * eigenvalues))


@dataclass(frozen=True)
class Heat:
    """h(λ) = e^{−time (1 − λ)}: heat that has spread for `time`, the diffusion kernel of §6.

    Falls off faster than `LowPass` beyond its band: choose it where clusters are clean and few.

    >>> Heat(time=2)(np.array([0.0, 1.0])).round(3)
    array([0.135, 1.   ])
    """

    time: float = 10.0

    def __post_init__(self) -> None:
        if not (self.time >= 0 and np.isfinite(self.time)):
            raise InputError(f"time must be at least 0 and finite, got {self.time}")

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray(np.exp(-self.time * (1 - eigenvalues)))


@dataclass(frozen=True)
class Ideal:
    """h(λ) = 1 where λ ≥ cutoff (to 1e-6, the rounding of eigenvalues), else 0: every wave kept or dropped.

    >>> Ideal(cutoff=0.5)(np.array([0.2, 0.5, 1.0]))
    array([0., 1., 1.])
    """

    cutoff: float = 0.9

    def __post_init__(self) -> None:
        if not -1 <= self.cutoff <= 1:
            raise InputError(f"cutoff must be at least -1 and at most 1, got {self.cutoff}")

    def __call__(self, eigenvalues: Array) -> Array:
        return np.where(eigenvalues >= self.cutoff - 1e-6, 1.0, 0.0)


@dataclass(frozen=True)
class Walk:
    """h(λ) = β Σ_{t < steps} (αλ)^t, β = 1 − α: the random walk of eq. (8) from x = 0, stopped after `steps`.

    Paths longer than steps − 1 count nothing: choose it to keep the answer local. Tends to `LowPass(alpha)`.

    >>> Walk(alpha=0.5, steps=2)(np.array([0.0, 1.0]))
    array([0.5 , 0.75])
    """

    alpha: float = 0.99
    steps: int = 10

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)
        if not np.isfinite(self.steps) or self.steps < 1 or int(self.steps) != self.steps:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps}")
        object.__setattr__(self, "steps", int(self.steps))

    def __call__(self, eigenvalues: Array) -> Array:
        coefficients = (1 - self.alpha) * self.alpha ** np.arange(int(self.steps))
        return np.asarray(np.polynomial.polynomial.polyval(eigenvalues, coefficients))


@dataclass(frozen=True)
class Polynomial:
    """h(λ) = Σ c_t λ^t, eq. (5) cut short: any weighting of paths by their length.

    >>> Polynomial([0, 0.5, 0.5])(np.array([0.0, 1.0]))
    array([0., 1.])
    """

    coefficients: Sequence[float]

    def __post_init__(self) -> None:
        values = tuple(float(c) for c in self.coefficients)
        if not values or not np.isfinite(values).all():
            raise InputError(f"coefficients must be one or more finite numbers, got {self.coefficients}")
        object.__setattr__(self, "coefficients", values)

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(eigenvalues, self.coefficients))


def _check_alpha(alpha: float) -> None:
    if not 0 <= alpha < 1:
        raise InputError(f"alpha must be at least 0 and below 1, got {alpha}")


def fingerprint(filter: Filter) -> Array:
    """h at 129 points of [−1, 1]: what tells one filter from another, however it is written. (129,)"""
    return response(filter, np.cos(np.linspace(0, np.pi, 129)))


_REMEDY = (
    "it gets an array of eigenvalues and returns an array of the same shape: write np.where(t > 0.5, 1, 0) for "
    "1 if t > 0.5 else 0, np.exp for math.exp, or wrap a function of one number in np.vectorize"
)


def response(filter: Filter, eigenvalues: Array) -> Array:
    """h(Λ), element by element, checked: a filter of the user's may return anything. (r,) -> (r,) float64."""
    try:
        values = np.asarray(filter(np.asarray(eigenvalues, dtype=np.float64)))
    except LongwaveError:
        raise
    except (TypeError, ValueError) as error:  # what numpy raises where a function takes one number at a time
        raise FilterError(f"the filter {filter!r} failed: {error}; {_REMEDY}") from error
    if values.shape != np.shape(eigenvalues):
        raise FilterError(
            f"the filter {filter!r} returned shape {values.shape} for eigenvalues of shape {np.shape(eigenvalues)}; "
            f"{_REMEDY}"
        )
    if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise FilterError(f"the filter {filter!r} must return finite real numbers on [-1, 1]")
    return values.astype(np.float64)


def is_nondecreasing(filter: Filter) -> bool:
    """Whether h never falls on [−1, 1], judged on 1,001 points."""
    values = response(filter, np.linspace(-1, 1, 1001))
    return bool((np.diff(values) >= -1e-9 * np.abs(values).max()).all())


def warn_if_not_low_pass(filter: Filter) -> None:
    """Warn where a truncated basis drops what the filter would keep (§4.3)."""
    if not is_nondecreasing(filter):
        warnings.warn(
            f"{filter!r} is not non-decreasing on [-1, 1]: a truncated basis drops the small eigenvalues, "
            "and its error is |h| there; use solver=ChebyshevFilter(), which needs no basis",
            FilterWarning,
            stacklevel=2,
        )


_PARSERS: dict[str, tuple[Callable[..., Filter], str]] = {
    "lowpass": (lambda alpha=0.99: LowPass(alpha), "lowpass:ALPHA"),
    "heat": (lambda time=10.0: Heat(time), "heat:TIME"),
    "ideal": (lambda cutoff=0.9: Ideal(cutoff), "ideal:CUTOFF"),
    "walk": (lambda alpha=0.99, steps=10.0: Walk(alpha, steps), "walk:ALPHA,STEPS"),
    "polynomial": (lambda *c: Polynomial(c), "polynomial:C0,C1,..."),
}


def text_of(filter: Filter) -> str:
    """A filter as text, read again by `parse`; an error for a function of the user's.

    >>> text_of(LowPass(0.9))
    'lowpass:0.9'
    """
    kinds: dict[type, str] = {LowPass: "lowpass", Heat: "heat", Ideal: "ideal", Walk: "walk", Polynomial: "polynomial"}
    if type(filter) not in kinds:
        raise InputError(
            f"an index keeps LowPass, Heat, Ideal, Walk or Polynomial as its own filter, not {filter!r}; "
            "give that to search"
        )
    values: list[Any] = list(vars(filter).values())
    numbers = values[0] if isinstance(filter, Polynomial) else values
    return f"{kinds[type(filter)]}:{','.join(number_text(number) for number in numbers)}"


def parse(text: str) -> Filter:
    """Read a filter from text, as the command line gives it.

    >>> parse("lowpass:0.9")
    LowPass(alpha=0.9)
    """
    name, _, rest = text.partition(":")
    forms = ", ".join(form for _, form in _PARSERS.values())
    if name not in _PARSERS:
        raise InputError(f"unknown filter '{text}'; use one of {forms}")
    make, form = _PARSERS[name]
    try:
        numbers = [float(part) for part in rest.split(",")] if ":" in text else []
    except ValueError:
        raise InputError(f"filter '{text}' must look like {form} with numbers") from None
    try:
        return make(*numbers)
    except TypeError:
        raise InputError(f"filter '{text}' has {plural(len(numbers), 'parameter')}; it must look like {form}") from None
