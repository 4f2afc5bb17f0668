"""`Heat`: how far heat has spread along the graph after some time, the diffusion kernel (§6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.types import Array


@dataclass(frozen=True)
class Heat:
    """h(λ) = e^{−time (1 − λ)}.

    The query is a warm spot, and heat flows along the edges. Short waves die out first; the longer the time, the longer
    the waves that are left. Beyond its band it falls off faster than `LowPass`.

    Choose it where clusters are clean and few.

    >>> Heat(time=2)(np.array([-1.0, 0.0, 0.5, 0.9, 1.0])).round(3)
    array([0.018, 0.135, 0.368, 0.819, 1.   ])
    """

    time: float = 10.0

    def __post_init__(self) -> None:
        if not (self.time >= 0 and np.isfinite(self.time)):
            raise InputError(f"time must be at least 0 and finite, got {self.time}")

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray(np.exp(-self.time * (1 - eigenvalues)))

    def _repr_html_(self) -> str:
        from longwave.display import filter_html

        return filter_html(self)
