"""`Simultaneous`: the paper's own method as printed, stages 1 and 2 of §3.1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.spectrum.exact import Exact
from longwave.spectrum.method import DEFAULT_RUN, Run, check_rank, from_block, without_edges
from longwave.spectrum.operations import B, Operations
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Array, Progress, Sparse


def range_basis(
    operations: Operations[B], start: B, rounds: int, progress: Progress | None = None
) -> tuple[B, NDArray[np.float64]]:
    """Stage 1: Q with orthonormal columns such that Q Qᵀ A ≈ A. Returns Q (n, r̂), and QᵀQ as rounding left it.

    Repeat for t = 0 … q−1: (a) Q R = B; (b) B = A Q; and return the last Q. start: B⁽⁰⁾ (n, r̂), used up.
    """
    block = start
    for t in range(rounds):
        block, products = operations.orthonormalize(block, locked=0)  # (a)
        if progress:
            progress("basis: simultaneous iteration", t + 1, rounds)
        if t < rounds - 1:
            block = operations.multiply(block)  # (b)
    return block, products


def largest_outside(matrix: Sparse, basis: Array) -> float:
    """The largest eigenvalue of A on what is orthogonal to U: at most ‖A − UUᵀA‖, the range error of §4.3.

    basis: U (n, r). By Lanczos to three digits, about 50 products; 1 where that does not converge.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    def outside(x: Array) -> Array:
        return np.asarray(x - basis @ (basis.T @ x), dtype=np.float32)

    shape = matrix.shape
    operator = LinearOperator(shape, matvec=lambda x: outside(matrix @ outside(x.ravel())), dtype=np.float32)
    start = outside(np.random.default_rng(0).standard_normal(shape[0]))
    try:
        return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0])
    except ArpackError:
        return 1.0


@dataclass(frozen=True)
class Simultaneous:
    """The paper's own method: Gaussian start, q `rounds` of QR and product, `oversampling` p.

    Its range holds the largest |λ|, so the negative end of the spectrum takes a share, and it converges slowly on
    real graphs: choose it to compare with the paper, `Chebyshev` otherwise. Time O(q n (k + r̂) r̂), memory 12 n r̂ bytes,
    r̂ = rank + oversampling.
    """

    rank: int = 1000
    oversampling: int | None = None
    rounds: int = 6

    def __post_init__(self) -> None:
        check_rank(self.rank)
        if self.oversampling is not None and self.oversampling < 0:
            raise InputError(f"oversampling must be at least 0, got {self.oversampling}")
        if self.rounds < 1:
            raise InputError(f"rounds must be at least 1, got {self.rounds}")

    @property
    def width(self) -> int:
        """r̂: columns of the block."""
        return self.rank + (self.rank // 10 + 10 if self.oversampling is None else self.oversampling)

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices: three blocks, and small matrices in float64."""
        width = min(self.width, n)
        return 12 * n * width + 6 * 8 * width**2

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """Decompose A ≈ U Λ Uᵀ. matrix: CSR (n, n) symmetric."""
        if matrix.nnz == 0:
            return without_edges(matrix, self.rank)
        if self.width >= matrix.shape[0]:  # Q would be square: nothing to approximate
            return Exact(self.rank)(matrix)
        found = self.iterate(run.operations(matrix), run)
        # The block may have missed eigenvalues, of which its own Ritz values tell nothing.
        missed = largest_outside(matrix, found.eigenvectors.parts[0].values)
        return replace(found, next_eigenvalue=max(missed, found.next_eigenvalue or -1.0))

    def iterate(self, operations: Operations[B], run: Run = DEFAULT_RUN) -> Spectrum:
        """Both stages, for a matrix of which nothing is known but its operations."""
        start, _ = operations.start(self.width, run.seed)
        block, products = range_basis(operations, start, self.rounds, run.progress)  # stage 1
        block, values, residuals = operations.rayleigh_ritz(block, products, locked=0)  # stage 2
        return from_block(
            operations,
            operations.take(block, np.arange(self.rank)),
            values[: self.rank],
            residuals[: self.rank],
            next_eigenvalue=float(values[min(self.rank, self.width - 1)]),
        )
