"""`PowerIteration`: the walk of eq. (8) that never starts again, α = 1 (§5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.types import Array


@dataclass(frozen=True)
class PowerIteration:
    """h(λ) = λ^steps: x⁽ᵗ⁾ = 𝒲 x⁽ᵗ⁻¹⁾ from x⁽⁰⁾ = y, eq. (8) with α = 1.

    Entry (i, j) of 𝒲^t is the sum over all paths of t edges (§5.5). With more steps the answer forgets y: in a
    connected graph that is not bipartite it tends to the root of the degrees. Choose it to see where a query flows to,
    `LowPass` to rank. Even powers pass waves near −1 too, which a cut basis does not hold: a search warns.

    >>> PowerIteration(steps=2)(np.array([-1.0, 0.0, 0.5, 0.9, 1.0]))
    array([1.  , 0.  , 0.25, 0.81, 1.  ])
    """

    steps: int = 10

    def __post_init__(self) -> None:
        if not np.isfinite(self.steps) or self.steps < 1 or int(self.steps) != self.steps:
            raise InputError(f"steps must be a whole number of at least 1, got {self.steps}")
        object.__setattr__(self, "steps", int(self.steps))

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray(np.asarray(eigenvalues, dtype=np.float64) ** self.steps)

    def _repr_html_(self) -> str:
        from longwave.display import filter_html

        return filter_html(self)
