"""`Spectrum`: eigenvalues, the basis U, and how good they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave.filters import LowPass
from longwave.spectrum.basis import Basis
from longwave.types import Array, Filter

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

    def error_bound(self, filter: Filter, *, complement: bool = False) -> float | None:
        """‖h(A)y − x‖ ≤ bound · ‖y‖ for the x of eq. (4), also where pairs are inexact. None: no bound is known.

        What is cut off (`truncation_bound`) and what inexact pairs add. With R = AU − UΛ, RᵀU = 0, U is exact for
        Ã = A − RUᵀ − URᵀ, and ‖h(A) − h(Ã)‖ ≤ √2 ‖R‖_F max|h'| for every h. For h_α the resolvents give less: with
        c = α/(1 − α), a = ‖R h(Λ)‖_F, b = ‖R‖_F and μ the largest eigenvalue left out, the difference e has
        e ≤ c (2 h(μ) a + e (a + h(μ) b)). Where y is copied (§8.1) the error is 1 − h there. μ is an estimate
        (`next_eigenvalue`), here widened by the largest residual. No bound is known where entries of U were dropped,
        nor where it would exceed the largest |h|: then the answer may be all error.
        """
        h: Callable[[Array], Array] = lambda at: np.asarray(filter(np.asarray(at, dtype=np.float64)))  # noqa: E731
        everywhere = h(np.linspace(-1.0, 1.0, 2001))
        if self._has_dropped_entries():
            return None
        widest = float(self.residuals.max(initial=0.0))
        bound = 0.0
        if self.next_eigenvalue is not None:
            wider = min(1.0, self.next_eigenvalue + widest)
            bound = replace(self, next_eigenvalue=wider).truncation_bound(filter, complement=complement)
        total = float(np.linalg.norm(self.residuals))
        inexact = np.sqrt(2) * total * float(np.abs(np.diff(everywhere)).max()) * 1000
        if isinstance(filter, LowPass):
            c, a = filter.alpha / (1 - filter.alpha), float(np.linalg.norm(self.residuals * h(self.eigenvalues)))
            at_cut = 0.0 if self.next_eigenvalue is None else float(h(np.array([wider]))[0])
            left = 1 - c * (a + at_cut * total)
            if left > 0:
                inexact = min(inexact, 2 * c * at_cut * a / left)
        bound += inexact
        if (self.kinds == COPIED).any():
            bound = max(bound, float(np.abs(1 - everywhere).max()))
        return float(bound) if bound < np.abs(everywhere).max() else None

    def _has_dropped_entries(self) -> bool:
        """Whether U is no longer what its row norms were computed of: it was made sparse."""
        now, inside = self.eigenvectors.row_norms(), self.kinds == IN_BASIS
        return bool((np.abs(now - self.row_norms)[inside] > 0.02).any())

    def _repr_html_(self) -> str:
        from longwave.display import spectrum_html

        return spectrum_html(self)
