"""Spectral: eq. (4), two products with a basis made offline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.filters import response, warn_if_not_low_pass
from longwave.solvers.system import System
from longwave.spectrum.spectrum import COPIED, IN_BASIS, ISOLATED, Spectrum
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class Spectral:
    """x = U h(Λ) Uᵀ y, eq. (4); with the complement, x = U (h(Λ) − h(0)) Uᵀ y + h(0) y.

    complement: count the discarded eigenvalues as 0 instead of dropping them. It costs nothing, and at a low
    rank it keeps the query's own neighbours; off, the formula is the printed one. Choose this solver always, but for
    a proof. Time O((|y| + N) r) per query.
    """

    complement: bool = True

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        spectrum = system.require_spectrum("Spectral")
        gains, at_zero = self.gains(spectrum, filter)
        waves = spectrum.eigenvectors.project(observation) * gains  # h(Λ) Uᵀ y: (q, n) @ (n, r) -> (q, r)
        # What y passes on without the basis: only where y is not zero.
        direct = direct_gains(spectrum.kinds[observation.indices], at_zero, complement=self.complement)
        own = sp.csr_array((observation.data * direct, observation.indices, observation.indptr), observation.shape)
        if system.pooling is not None:
            scores = system.pooled_basis.synthesize(waves)  # (q, r) @ (r, N) -> (q, N)
            _add(scores, own @ system.targets_of)
            return Solution(scores)
        scores = spectrum.eigenvectors.synthesize(waves)  # (q, r) @ (r, n) -> (q, n)
        _add(scores, own)
        return Solution(system.pool(scores))

    def gains(self, spectrum: Spectrum, filter: Filter) -> tuple[NDArray[np.float32], float]:
        """What every wave is multiplied with, and h(0). Warns of a filter that a cut basis does not serve. (r,)"""
        if spectrum.next_eigenvalue is not None:
            warn_if_not_low_pass(filter)
        at_zero = float(response(filter, np.zeros(1))[0])
        gains = response(filter, spectrum.eigenvalues) - (at_zero if self.complement else 0.0)
        return gains.astype(np.float32), at_zero


def _add(scores: Array, passed: Sparse) -> None:
    """scores += passed, in place. (q, m), sparse (q, m)"""
    entries = sp.coo_array(passed)
    np.add.at(scores, entries.coords, entries.data)


def direct_gains(kinds: Array, at_zero: float, *, complement: bool) -> Array:
    """What multiplies y_i itself, by the kind of vertex i. (n,) -> (n,)

    In the basis: h(0) with the complement, else 0. Isolated: h(0), its exact value. Copied: 1 (§8.1).
    """
    by_kind = np.zeros(3, dtype=np.float32)
    by_kind[[IN_BASIS, ISOLATED, COPIED]] = at_zero if complement else 0.0, at_zero, 1.0
    return by_kind[kinds]
