"""How many eigenvalues lie above a value, estimated without computing them (the density of states)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.spectrum.operations import B, Operations
from longwave.types import Filter


@dataclass(frozen=True, eq=False)
class Density:
    """Weighted points that stand for all n eigenvalues, one Gauss rule per random vector.

    values: (probes, m) descending; weights: (probes, m), every row sums to n.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]

    def eigenvalue(self, position: float) -> float:
        """The value with about `position` eigenvalues above it: an estimate of λ_position.

        Half of a point's weight lies above it. The rules of several probes have nearly the same points, so each is
        interpolated by itself before the mean is taken.
        """
        above = np.cumsum(self.weights, axis=1) - self.weights / 2
        return float(np.mean([np.interp(position, a, v) for a, v in zip(above, self.values, strict=True)]))

    def total(self, function: Filter, *, after: float = 0.0) -> float:
        """Σ f(λ_i) over all eigenvalues but the `after` largest."""
        left = np.clip(np.cumsum(self.weights, axis=1) - after, 0.0, self.weights)  # what is not among them
        return float(np.sum(left * function(self.values)) / len(self.values))


_PROBES = 16


def density_bytes(n: int) -> int:
    """Bytes that `density_of_states` takes at its peak for n vertices: six arrays of all probes in float64."""
    return 6 * 8 * _PROBES * n


def density_of_states(operations: Operations[B], *, seed: int = 0, probes: int = _PROBES, steps: int = 60) -> Density:
    """Stochastic Lanczos quadrature: `probes` random vectors, `steps` products each, all at once.

    Every probe gives a Gauss rule for its own spectral measure; their mean is the density. With 16 × 60 the count above
    a value is right to a few per cent from some tens of eigenvalues on. Time O(probes · steps · nnz).
    """
    from scipy.linalg import eigh_tridiagonal

    n = operations.n
    steps = min(steps, n)
    previous = current = operations.probes(probes, seed)
    alphas, betas = np.zeros((steps, probes)), np.zeros((steps, probes))
    for j in range(steps):
        back = betas[j - 1] if j else np.zeros(probes)
        following, alphas[j], betas[j] = operations.lanczos_step(current, previous, back)
        previous, current = current, following  # an exhausted probe goes on with zeros
    values, weights = np.empty((probes, steps)), np.empty((probes, steps))
    for probe in range(probes):
        nodes, vectors = eigh_tridiagonal(alphas[:, probe], betas[:-1, probe])
        values[probe], weights[probe] = nodes[::-1], n * vectors[0, ::-1] ** 2
    return Density(values, weights)
