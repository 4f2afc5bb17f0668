"""`Walk`: the random walk of `LowPass`, stopped after some steps (§5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.filters.low_pass import check_alpha
from longwave.types import Array


@dataclass(frozen=True)
class Walk:
    """h(λ) = (1 − α) Σ_{t < steps} (αλ)^t: eq. (8) from x = 0, `steps` times.

    A path through the graph counts by its length t, as α^t; paths of `steps` edges or more count nothing. With more
    steps it tends to `LowPass(alpha)`.

    Choose it to keep the answer local. With few steps it may rise again towards λ = −1, where a cut basis has nothing;
    then search with `solver=ChebyshevFilter()`.

    >>> Walk(alpha=0.5, steps=2)(np.array([-1.0, 0.0, 0.5, 0.9, 1.0]))
    array([0.25 , 0.5  , 0.625, 0.725, 0.75 ])
    """

    alpha: float = 0.99
    steps: int = 10

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if not np.isfinite(self.steps) or self.steps < 1 or int(self.steps) != self.steps:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps}")
        object.__setattr__(self, "steps", int(self.steps))

    def __call__(self, eigenvalues: Array) -> Array:
        coefficients = (1 - self.alpha) * self.alpha ** np.arange(int(self.steps))
        return np.asarray(np.polynomial.polynomial.polyval(eigenvalues, coefficients))

    def _repr_html_(self) -> str:
        from longwave.display import filter_html

        return filter_html(self)
