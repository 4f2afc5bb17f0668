"""What the methods share: their signature, and how raw eigenpairs become a `Spectrum`."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.spectrum import blocks
from longwave.spectrum.operations import B, Columns, Local, MakeOperations, Operations
from longwave.spectrum.spectrum import IN_BASIS, Spectrum
from longwave.types import Array, Checkpoint, Progress, Sparse


@dataclass(frozen=True, eq=False)
class Run:
    """What a computation may use besides the matrix.

    seed: of its random numbers. progress: told about rounds. checkpoint: where rounds are kept, so that a killed run
    goes on. start: columns to begin with, such as an earlier basis; they change the speed, not the answer. operations:
    makes the operations of the matrix; another one than `Local` may keep the blocks on other machines.
    """

    seed: int = 0
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    start: Columns | None = None
    operations: MakeOperations = Local


DEFAULT_RUN = Run()


class Method(Protocol):
    """A way to compute a basis, or part of one: call it with a symmetric matrix, get a `Spectrum`.

    The arrays of that spectrum belong to the caller, who may overwrite them.
    """

    @property
    def rank(self) -> int | None:
        """How many eigenpairs are wanted; None for all."""

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices, the matrix not counted."""

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """Decompose A ≈ U Λ Uᵀ, largest algebraic eigenvalues first."""


def check_rank(rank: int | None) -> None:
    """A rank is a whole number of at least 1, or None for all."""
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, Integral) or rank < 1):
        raise InputError(f"rank must be a whole number of at least 1, got {rank!r}; use Exact() for all eigenpairs")


def without_edges(matrix: Sparse, rank: int) -> Spectrum:
    """The spectrum of a matrix of zeros: every vector is an eigenvector; the first unit vectors are taken."""
    n = matrix.shape[0]
    rank = min(rank, n)
    vectors = np.eye(n, rank, dtype=np.float32)
    return from_array(matrix, np.zeros(rank), vectors, next_eigenvalue=0.0 if rank < n else None)


def from_array(matrix: Sparse, eigenvalues: Array, eigenvectors: Array, *, next_eigenvalue: float | None) -> Spectrum:
    """The spectrum of pairs that were computed as arrays: (r,) descending, (n, r). Residuals are measured here."""
    measured = blocks.residuals(matrix, eigenvectors, eigenvalues)
    return from_block(Local(matrix), eigenvectors, eigenvalues, measured, next_eigenvalue=next_eigenvalue)


def from_block(
    operations: Operations[B],
    block: B,
    eigenvalues: Array,
    residuals: NDArray[np.float64],
    *,
    next_eigenvalue: float | None,
) -> Spectrum:
    """The spectrum of a finished block, its eigenvalues (r,) descending and residuals (r,)."""
    basis = operations.basis(block)
    return Spectrum(
        eigenvalues=np.clip(np.asarray(eigenvalues, dtype=np.float64), -1.0, 1.0),  # rounding, in float32
        eigenvectors=basis,
        residuals=residuals,
        row_norms=basis.row_norms(),
        next_eigenvalue=next_eigenvalue,
        kinds=np.full(operations.n, IN_BASIS, dtype=np.uint8),
    )
