"""The density of states: how many eigenvalues lie above a value, without computing them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.spectrum.blocks import multiply
from longwave.types import Filter, Sparse


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


def density_of_states(matrix: Sparse, *, seed: int = 0, probes: int = _PROBES, steps: int = 60) -> Density:
    """Stochastic Lanczos quadrature: `probes` random vectors, `steps` products each, all at once.

    Every probe gives a Gauss rule for its own spectral measure; their mean is the density. With 16 × 60 the count above
    a value is right to a few per cent from some tens of eigenvalues on. Time O(probes · steps · nnz).
    """
    from scipy.linalg import eigh_tridiagonal

    n = matrix.shape[0]
    steps = min(steps, n)
    current = np.random.default_rng(seed).choice([-1.0, 1.0], size=(n, probes)) / np.sqrt(n)
    previous = np.zeros_like(current)
    alphas, betas = np.zeros((steps, probes)), np.zeros((steps, probes))
    for j in range(steps):
        product = multiply(matrix, current)
        alphas[j] = np.einsum("ij,ij->j", current, product)
        product -= alphas[j] * current + (betas[j - 1] * previous if j else 0)
        betas[j] = np.linalg.norm(product, axis=0)
        previous = current
        current = product / np.where(betas[j] > 1e-10, betas[j], np.inf)  # an exhausted probe goes on with zeros
    values, weights = np.empty((probes, steps)), np.empty((probes, steps))
    for probe in range(probes):
        nodes, vectors = eigh_tridiagonal(alphas[:, probe], betas[:-1, probe])
        values[probe], weights[probe] = nodes[::-1], n * vectors[0, ::-1] ** 2
    return Density(values, weights)
