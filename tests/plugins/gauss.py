from dataclasses import dataclass

import numpy as np

from longwave.registry import register


@dataclass(frozen=True)
class Gauss:
    """w = exp(−d² / 2 width²), d the distance of two unit vectors: d² / 2 = 1 − their dot product."""

    width: float = 0.3
    neighbor = None  # no local scale; a number asks for the distance to that neighbour, as `one` and `other`

    def __call__(self, products, one, other):
        return np.exp((products - 1) / self.width**2)


register("kernel", "gauss", Gauss)
