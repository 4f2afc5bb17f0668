"""`Spectrum`: eigenvalues, the basis U, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.spectrum.basis import Basis
from longwave.types import Filter

#: What `Spectrum.kinds` says of a vertex.
IN_BASIS, ISOLATED, COPIED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A (partial) Fourier basis of a graph: A ≈ U Λ Uᵀ.

    eigenvalues: (r,). eigenvectors: Basis (n, r). residuals: (r,) ‖A u − λ u‖ of every pair.
    row_norms: (n,) η, the l2-norm of each row of U before sparsification.
    next_eigenvalue: the largest eigenvalue left out (an estimate where the method is approximate); None if none is.
    kinds: (n,) IN_BASIS; ISOLATED (its eigenpair (0, e_i) is implied); COPIED (x_i = y_i is copied).
    """

    eigenvalues: NDArray[np.float64]
    eigenvectors: Basis
    residuals: NDArray[np.float64]
    row_norms: NDArray[np.float32]
    next_eigenvalue: float | None
    kinds: NDArray[np.uint8]

    @property
    def rank(self) -> int:
        """How many eigenpairs are kept."""
        return len(self.eigenvalues)

    def truncation_bound(self, filter: Filter, *, complement: bool = False) -> float:
        """‖h(A) − U h(Λ) Uᵀ‖₂ for exact eigenpairs: what is left out (§4.3).

        For a non-decreasing, non-negative h this is |h(λ_{r+1})|. With the complement term the discarded part is
        h(0) instead of 0, and the bound is the largest |h(λ) − h(0)| left out. λ_{r+1} is `next_eigenvalue`; as
        nothing is known of the discarded eigenvalues but that they lie in [−1, λ_{r+1}], the maximum runs over 2,001
        points of that interval.
        """
        if self.next_eigenvalue is None:
            return 0.0
        left_out = np.linspace(-1.0, self.next_eigenvalue, 2001)
        replaced_by = filter(np.zeros(1))[0] if complement else 0.0
        return float(np.abs(filter(left_out) - replaced_by).max())

    def _repr_html_(self) -> str:
        from longwave.display import spectrum_html

        return spectrum_html(self)
