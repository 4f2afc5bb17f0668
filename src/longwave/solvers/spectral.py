"""`Spectral`: scores by two products with a basis that was made offline, eq. (4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.filters import at_zero, response, warn_if_left_out
from longwave.solvers.system import System
from longwave.spectrum.spectrum import COPIED, IN_BASIS, ISOLATED, Spectrum
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True)
class Spectral:
    """x = U h(Λ) Uᵀ y, eq. (4); with the complement, x = U (h(Λ) − h(0)) Uᵀ y + h(0) y.

    complement: count the discarded eigenvalues as 0 instead of dropping them. It costs nothing, and at a low
    rank it keeps the query's own neighbours; off, the formula is the printed one. Choose this solver, except to
    compare. Time O((|y| + N) r) per query.
    """

    complement: bool = True

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """observation: CSR (q, n) -> scores (q, N)."""
        waves, passed = self._spread(system, observation, filter)
        scores = system.synthesize(waves)  # (q, r) @ (r, N) -> (q, N)
        entries = sp.coo_array(passed)
        np.add.at(scores, entries.coords, entries.data)
        return Solution(scores)

    def serves(self, system: System) -> bool:
        """Whether there is a store over the rows of Ū."""
        return system.second is not None

    def candidates(
        self, system: System, observation: Sparse, filter: Filter, *, count: int, more: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The second search: about the `count` best of Ū z, what y touches itself, what is outside of the graph."""
        assert system.second is not None
        waves, passed = self._spread(system, observation, filter)
        found = system.second.search(waves, count).ids[0]
        outside = np.arange(0 if system.added is None else system.n_targets - system.added.shape[0], system.n_targets)
        groups = [found[found >= 0], passed.indices, more, *([] if system.added is None else [outside])]
        targets = np.unique(np.concatenate(groups)).astype(np.int64)
        scores = system.synthesize(waves, targets)[0]
        np.add.at(scores, np.searchsorted(targets, passed.indices), passed.data)
        return targets, scores

    def _spread(self, system: System, observation: Sparse, filter: Filter) -> tuple[Array, Sparse]:
        """h(Λ)Uᵀy, and what y passes on to targets without the basis. CSR (q, n) -> (q, r), CSR (q, targets)"""
        spectrum = system.require_spectrum("Spectral")
        gains, floor = self.gains(spectrum, filter)
        waves = spectrum.eigenvectors.project(observation) * gains  # (q, n) @ (n, r) -> (q, r)
        direct = direct_gains(spectrum.kinds[observation.indices], floor, complement=self.complement)
        own = sp.csr_array((observation.data * direct, observation.indices, observation.indptr), observation.shape)
        return waves, system.passed(own)

    def gains(self, spectrum: Spectrum, filter: Filter, *, warn: bool = True) -> tuple[NDArray[np.float32], float]:
        """What every wave is multiplied with, and h(0). Warns of a filter that a cut basis does not serve. (r,)"""
        if warn and spectrum.next_eigenvalue is not None:
            warn_if_left_out(filter, spectrum.eigenvalues, spectrum.next_eigenvalue, complement=self.complement)
        floor = at_zero(filter)
        gains = response(filter, spectrum.eigenvalues) - (floor if self.complement else 0.0)
        return gains.astype(np.float32), floor


def direct_gains(kinds: Array, floor: float, *, complement: bool) -> Array:
    """What multiplies y_i itself, by the kind of vertex i. (n,) -> (n,)

    floor: h(0). In the basis: h(0) with the complement, else 0. Isolated: h(0), its exact value. Copied: 1 (§8.1).
    """
    by_kind = np.zeros(3, dtype=np.float32)
    by_kind[[IN_BASIS, ISOLATED, COPIED]] = floor if complement else 0.0, floor, 1.0
    return by_kind[kinds]
