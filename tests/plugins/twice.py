from dataclasses import dataclass

from longwave.registry import register


@dataclass(frozen=True)
class Twice:
    """h(λ) = ((1 − α) / (1 − αλ))²: the low-pass filter, applied twice."""

    alpha: float = 0.95

    def __call__(self, eigenvalues):
        return ((1 - self.alpha) / (1 - self.alpha * eigenvalues)) ** 2


register("filter", "twice", Twice)
