"""What a filter does to eigenvalues, checked: its gains h(λ), and what is asked about them."""

from __future__ import annotations

import warnings

import numpy as np

from longwave.errors import FilterError, FilterWarning, LongwaveError
from longwave.types import Array, Filter

# Of what the filter passes at most, that may be left out without a word. A low-pass filter at a low rank stays below,
# with h(λ_{r+1}) = 0.55 for example; one that passes everything, or more of short waves than of long ones, does not.
_MUCH = 0.9
_REMEDY = (
    "it gets an array of eigenvalues and returns an array of the same shape: write np.where(t > 0.5, 1, 0) for "
    "1 if t > 0.5 else 0, np.exp for math.exp, or wrap a function of one number in np.vectorize"
)


def response(filter: Filter, eigenvalues: Array) -> Array:
    """h(Λ), element by element, checked: a filter of your own may return anything. (r,) -> (r,) float64."""
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


def left_out(filter: Filter, eigenvalues: Array, next_eigenvalue: float, *, complement: bool) -> float:
    """The largest |h| on [−1, λ_{r+1}], which a cut basis drops, in units of the largest on the eigenvalues it keeps.

    With the complement h(0) stands for what is dropped, and the difference to it is what is missed. Judged on 257
    points; infinite where nothing is kept.
    """
    lost = response(filter, np.linspace(-1.0, next_eigenvalue, 257)) - (at_zero(filter) if complement else 0.0)
    kept = float(np.abs(response(filter, eigenvalues)).max(initial=0.0))
    most = float(np.abs(lost).max())
    return most / kept if kept > 0 else (np.inf if most > 0 else 0.0)


def warn_if_left_out(filter: Filter, eigenvalues: Array, next_eigenvalue: float, *, complement: bool) -> None:
    """Warn where a cut basis drops waves that the filter would pass about as well as those it keeps (§4.3)."""
    share = left_out(filter, eigenvalues, next_eigenvalue, complement=complement)
    if share > _MUCH:
        warnings.warn(
            f"{filter!r} is up to {share:.0%} as large on the eigenvalues below {next_eigenvalue:.3g}, which this "
            "basis leaves out, as on those it keeps, and the answer lacks that much; use solver=ChebyshevFilter(), "
            "which needs no basis, or a larger rank",
            FilterWarning,
            stacklevel=2,
        )
