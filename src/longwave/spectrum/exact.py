"""`Exact`: all eigenpairs, or the r largest, by dense decomposition: the truth, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.spectrum.method import DEFAULT_RUN, Run, check_rank, from_array
from longwave.spectrum.spectrum import Spectrum
from longwave.threads import one_lapack_thread
from longwave.types import Array, Sparse

# 20,000 vertices take 3 arrays of 3.2 GB in float64 and about an hour on two cores.
MAX_VERTICES = 20_000


@dataclass(frozen=True)
class Exact:
    """All eigenpairs (`rank=None`: FSR.exact), or the `rank` largest (FSR.rank-r), by LAPACK in float64.

    Choose it as a reference, or for a few thousand vertices. Time O(n³), memory 24 n² bytes.
    """

    rank: int | None = None

    def __post_init__(self) -> None:
        check_rank(self.rank)

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices."""
        return 24 * n * n

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """Decompose A = U Λ Uᵀ. matrix: CSR (n, n) symmetric; `run` changes nothing here."""
        n = matrix.shape[0]
        if n > MAX_VERTICES:
            raise InputError(
                f"Exact needs {24 * n * n / 2**30:.0f} GiB for a component of {n:,} vertices, and is meant for at most "
                f"{MAX_VERTICES:,}; use Chebyshev(rank=...) or Lanczos(rank=...)"
            )
        rank = n if self.rank is None else min(self.rank, n)
        # One pair more than asked for: it is the λ_{r+1} of the truncation bound.
        first = max(0, n - rank - 1)
        values, vectors = largest_pairs(matrix.toarray().astype(np.float64), n - first)
        return from_array(
            matrix,
            values[:rank].copy(),
            np.ascontiguousarray(vectors[:, :rank], dtype=np.float32),
            next_eigenvalue=float(values[rank]) if rank < n else None,
        )


def largest_pairs(dense: NDArray[np.float64], count: int) -> tuple[Array, Array]:
    """The `count` largest eigenpairs of a symmetric matrix, largest first, by LAPACK. (n, n) -> (c,), (n, c)

    The driver that computes some pairs only gives up on matrices with an eigenvalue repeated hundreds of times, as
    complete graphs have; the one for all pairs does not.
    """
    from scipy.linalg import eigh

    n = len(dense)
    with one_lapack_thread(n):
        if count < n:
            try:
                values, vectors = eigh(dense, subset_by_index=(n - count, n - 1), check_finite=False)
                return values[::-1], vectors[:, ::-1]
            except np.linalg.LinAlgError:
                pass
        values, vectors = eigh(dense, driver="evd", overwrite_a=True, check_finite=False)
    return values[::-1][:count], vectors[:, ::-1][:, :count]
