"""`Polynomial`: any weighting of paths by their length (§5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.types import Array


@dataclass(frozen=True)
class Polynomial:
    """h(λ) = Σ_t c_t λ^t: eq. (5), cut short.

    c_t is what a path of t edges counts: c_0 the query's own neighbours, c_1 the neighbours of these, and so on.

    Choose it to say yourself how much each length counts. Even powers alone, as [0, 0, 1], rise again towards λ = −1,
    where a cut basis has nothing; then search with `solver=ChebyshevFilter()`.

    >>> Polynomial([0, 0.5, 0.5])(np.array([-1.0, 0.0, 0.5, 0.9, 1.0])).round(3)
    array([0.   , 0.   , 0.375, 0.855, 1.   ])
    """

    coefficients: Sequence[float]

    def __post_init__(self) -> None:
        values = tuple(float(c) for c in self.coefficients)
        if not values or not np.isfinite(values).all():
            raise InputError(f"coefficients must be one or more finite numbers, got {self.coefficients}")
        object.__setattr__(self, "coefficients", values)

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(eigenvalues, self.coefficients))

    def _repr_html_(self) -> str:
        from longwave.display import filter_html

        return filter_html(self)
