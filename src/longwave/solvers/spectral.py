"""Spectral: eq. (4), two products with a basis made offline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from longwave.filters import response, warn_if_not_low_pass
from longwave.solvers.system import System
from longwave.types import COPIED, IN_BASIS, ISOLATED, Array, Filter, Solution, Sparse


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
        if spectrum.next_eigenvalue is not None:
            warn_if_not_low_pass(filter)
        at_zero = float(response(filter, np.zeros(1))[0])
        gains = response(filter, spectrum.eigenvalues) - (at_zero if self.complement else 0.0)
        waves = spectrum.eigenvectors.project(observation)  # Uᵀ y: (q, n) @ (n, r) -> (q, r)
        scores = system.pooled_basis.synthesize(waves * gains.astype(np.float32))  # (q, r) @ (r, N) -> (q, N)
        # What y passes on without the basis: only where y is not zero.
        direct = direct_gains(spectrum.kinds[observation.indices], at_zero, complement=self.complement)
        if direct.any():
            own = sp.csr_array((observation.data * direct, observation.indices, observation.indptr), observation.shape)
            passed = sp.coo_array(own if system.pooling is None else own @ system.items_of)
            np.add.at(scores, passed.coords, passed.data)
        return Solution(scores)


def direct_gains(kinds: Array, at_zero: float, *, complement: bool) -> Array:
    """What multiplies y_i itself, by the kind of vertex i. (n,) -> (n,)

    In the basis: h(0) with the complement, else 0. Isolated: h(0), its exact value. Copied: 1 (§8.1).
    """
    by_kind = np.zeros(3, dtype=np.float32)
    by_kind[[IN_BASIS, ISOLATED, COPIED]] = at_zero if complement else 0.0, at_zero, 1.0
    return by_kind[kinds]
