from dataclasses import dataclass

import numpy as np

from longwave.registry import register


@dataclass(frozen=True)
class Total:
    """Scores, the best made 1, plus `weight` times the similarity to the query."""

    weight: float = 0.5

    def __call__(self, scores, compared, filter):
        best = np.maximum(scores.max(axis=1, keepdims=True), 1e-30)  # (queries, 1)
        return scores / best + self.weight * compared.similarities  # (queries, items)


register("blend", "total", Total)
