"""What a filter does to eigenvalues, checked: its gains h(λ), and what is asked about them."""

from __future__ import annotations

import warnings

import numpy as np

from longwave.errors import FilterError, FilterWarning, LongwaveError
from longwave.types import Array, Filter

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


def at_zero(filter: Filter) -> float:
    """h(0): what the filter leaves of a vertex without edges, and of the waves that a basis leaves out."""
    return float(response(filter, np.zeros(1))[0])


def fingerprint(filter: Filter) -> Array:
    """h at 129 points of [−1, 1]: what tells one filter from another, however it is written. (129,)"""
    return response(filter, np.cos(np.linspace(0, np.pi, 129)))


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
