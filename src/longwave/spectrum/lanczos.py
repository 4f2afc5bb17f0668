"""`Lanczos`: the r largest eigenpairs by ARPACK, the standard solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.errors import ConvergenceError
from longwave.spectrum.exact import Exact
from longwave.spectrum.method import DEFAULT_RUN, Run, check_rank, from_array, without_edges
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Sparse


@dataclass(frozen=True)
class Lanczos:
    """The `rank` largest *algebraic* eigenpairs to `tolerance` (0: machine precision) by scipy's `eigsh`.

    Choose it for up to a few hundred pairs at full precision; `Chebyshev` is several times faster at the accuracy
    ranking needs. A Krylov space of one vector finds a repeated eigenvalue late or not at all, so keep `components` at
    "blocks": a connected component has the eigenvalue 1 once. Time grows with rank² n and the number of restarts;
    memory 28 n · rank bytes.
    """

    rank: int = 1000
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        check_rank(self.rank)

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices: ARPACK's 2 r vectors and r results, and r of ours."""
        return 28 * n * min(self.rank, n)

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """Decompose A ≈ U Λ Uᵀ. matrix: CSR (n, n) symmetric."""
        from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

        n = matrix.shape[0]
        if matrix.nnz == 0:
            return without_edges(matrix, self.rank)
        if self.rank + 1 >= n:  # ARPACK cannot give all pairs
            return Exact(self.rank)(matrix)
        start = np.random.default_rng(run.seed).standard_normal(n)
        try:
            # "LA", never the default "LM": on a k-NN graph the negative end would eat half of the basis.
            values, vectors = eigsh(
                matrix.astype(np.float64), k=self.rank + 1, which="LA", v0=start, tol=self.tolerance
            )
        except ArpackNoConvergence as error:
            raise ConvergenceError(
                f"ARPACK found {len(error.eigenvalues)} of {self.rank + 1} eigenpairs; "
                "use Chebyshev(rank=...) or a larger tolerance"
            ) from error
        except ArpackError as error:
            raise ConvergenceError(f"ARPACK failed: {error}; use Chebyshev(rank=...)") from error
        order = np.argsort(-values)
        kept = order[: self.rank]
        return from_array(
            matrix,
            values[kept],
            np.ascontiguousarray(vectors[:, kept], dtype=np.float32),
            next_eigenvalue=float(values[order[self.rank]]),
        )
