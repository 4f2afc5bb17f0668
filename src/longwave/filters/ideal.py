"""`Ideal`: every wave is kept whole or dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.types import Array

# Eigenvalues this little below the cutoff are at it: they are rounded.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Ideal:
    """h(λ) = 1 where λ ≥ cutoff, else 0.

    The answer is what the long waves alone can draw of the query. A sharp edge has its price: scores swing above and
    below 0 around it.

    Choose it to see what a band of waves says by itself. It is no polynomial: `ChebyshevFilter` refuses it.

    >>> Ideal(cutoff=0.5)(np.array([-1.0, 0.0, 0.5, 0.9, 1.0]))
    array([0., 0., 1., 1., 1.])
    """

    cutoff: float = 0.9

    def __post_init__(self) -> None:
        if not -1 <= self.cutoff <= 1:
            raise InputError(f"cutoff must be at least -1 and at most 1, got {self.cutoff}")

    def __call__(self, eigenvalues: Array) -> Array:
        return np.where(eigenvalues >= self.cutoff - _ROUNDING, 1.0, 0.0)

    def _repr_html_(self) -> str:
        from longwave.display import filter_html

        return filter_html(self)
