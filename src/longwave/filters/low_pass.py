"""`LowPass`: the paper's filter, a random walk that now and then starts again at the query (§2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.types import Array


@dataclass(frozen=True)
class LowPass:
    """h_α(λ) = (1 − α) / (1 − αλ), eq. (2).

    Long waves, λ near 1, pass whole; the shorter a wave, the less of it passes. The larger α, the longer the waves that
    are left, and the further a search reaches along the graph. α = 0 passes everything: the answer is what the search
    began with.

    Choose it first. 0.99 is the paper's; smaller values stay closer to the query's own neighbours.

    >>> LowPass(alpha=0.5)(np.array([-1.0, 0.0, 0.5, 0.9, 1.0])).round(3)
    array([0.333, 0.5  , 0.667, 0.909, 1.   ])
    """

    alpha: float = 0.99

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    def __call__(self, eigenvalues: Array) -> Array:
        return np.asarray((1 - self.alpha) / (1 - self.alpha * eigenvalues))

    def _repr_html_(self) -> str:
        from longwave.display import filter_html

        return filter_html(self)


def check_alpha(alpha: float) -> None:
    """α is the chance that a walk goes on: from 0, below 1."""
    if not 0 <= alpha < 1:
        raise InputError(f"alpha must be at least 0 and below 1, got {alpha}")
