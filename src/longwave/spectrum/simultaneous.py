"""FSR.approx as printed: stages 1 and 2 of §3.1, simultaneous iteration and a small eigenproblem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from longwave.errors import InputError
from longwave.spectrum.blocks import Block, gram, multiply, narrow, orthonormalize, rayleigh_ritz
from longwave.spectrum.exact import Exact
from longwave.spectrum.method import DEFAULT_RUN, Run, as_spectrum, check_rank, without_edges
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Progress, Sparse


def range_basis(
    multiply: Callable[[Block], Block],
    orthonormalize: Callable[[Block], object],
    start: Block,
    iterations: int,
    progress: Progress | None = None,
) -> Block:
    """Stage 1: Q with orthonormal columns such that Q Qᵀ A ≈ A.

    Repeat for t = 0 … q−1: (a) Q R = B; (b) B = A Q; and return the last Q. start: B⁽⁰⁾ (n, r̂), overwritten.
    """
    block = start
    for t in range(iterations):
        orthonormalize(block)  # (a)
        if progress:
            progress("basis: simultaneous iteration", t + 1, iterations)
        if t < iterations - 1:
            block = multiply(block)  # (b)
    return block


@dataclass(frozen=True)
class Simultaneous:
    """The paper's own method: Gaussian start, `iterations` q rounds of QR and product, `oversampling` p.

    Its range holds the largest |λ|, so the negative end of the spectrum takes a share, and it converges slowly on
    real graphs: choose it to compare with the paper, `Chebyshev` otherwise. Time O(q n (k + r̂) r̂), memory 12 n r̂ bytes,
    r̂ = rank + oversampling.
    """

    rank: int = 1000
    oversampling: int | None = None
    iterations: int = 6

    def __post_init__(self) -> None:
        check_rank(self.rank)
        if self.oversampling is not None and self.oversampling < 0:
            raise InputError(f"oversampling must be at least 0, got {self.oversampling}")
        if self.iterations < 1:
            raise InputError(f"iterations must be at least 1, got {self.iterations}")

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
        n = matrix.shape[0]
        if matrix.nnz == 0:
            return without_edges(matrix, self.rank)
        width = self.width
        if width >= n:  # Q would be square: nothing to approximate
            return Exact(self.rank)(matrix)
        start = np.random.default_rng(run.seed).standard_normal((n, width), dtype=np.float32)
        block = range_basis(lambda b: multiply(matrix, b), orthonormalize, start, self.iterations, run.progress)
        values, residuals = rayleigh_ritz(matrix, block, gram(block))  # stage 2
        return as_spectrum(
            matrix,
            values[: self.rank],
            narrow(block, self.rank),
            next_eigenvalue=float(values[self.rank]) if width > self.rank else float(values[-1]),
            known_residuals=residuals[: self.rank],
        )
