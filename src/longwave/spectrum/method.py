"""What the methods share: their signature, and how raw eigenpairs become a `Spectrum`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.spectrum.basis import Basis
from longwave.spectrum.blocks import Block, panels, residuals
from longwave.spectrum.spectrum import IN_BASIS, Spectrum
from longwave.types import Array, Progress, Sparse


class Checkpoint(Protocol):
    """Where rounds of a long computation are kept (`storage.checkpoints`)."""

    def at(self, name: str) -> Checkpoint:
        """A checkpoint of its own for a part of the work."""

    def latest(self, name: str) -> tuple[int, Mapping[str, Array]] | None:
        """The last round that was kept, and its arrays."""

    def save_round(self, name: str, number: int, arrays: Mapping[str, Array]) -> None:
        """Keep a round instead of the one before it."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a computation may use besides the matrix.

    seed: of its random numbers. progress: told about rounds. checkpoint: where rounds are kept, so that a killed run
    goes on. start: writes columns to begin with, such as an earlier basis, into the first columns of a block (n, c) and
    says how many; speed depends on it, the answer does not.
    """

    seed: int = 0
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    start: Callable[[Block], int] | None = None


DEFAULT_RUN = Run()


class Method(Protocol):
    """A way to compute a (partial) basis: call it with a symmetric matrix, get a `Spectrum`.

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


def fix_signs(eigenvectors: Array) -> None:
    """Make the entry of largest magnitude of every column positive, in place: the same basis in every run."""
    for columns in panels(eigenvectors.shape[1]):
        part = eigenvectors[:, columns]
        peaks = np.abs(part).argmax(axis=0)
        signs = np.sign(part[peaks, np.arange(part.shape[1])])
        part *= np.where(signs == 0, 1, signs).astype(part.dtype)


def without_edges(matrix: Sparse, rank: int) -> Spectrum:
    """The spectrum of a matrix of zeros: every vector is an eigenvector; the first unit vectors are taken."""
    n = matrix.shape[0]
    rank = min(rank, n)
    vectors = np.eye(n, rank, dtype=np.float32)
    return as_spectrum(matrix, np.zeros(rank), vectors, next_eigenvalue=0.0 if rank < n else None)


def as_spectrum(
    matrix: Sparse,
    eigenvalues: Array,
    eigenvectors: Array,
    *,
    next_eigenvalue: float | None,
    known_residuals: NDArray[np.float64] | None = None,
) -> Spectrum:
    """Fix signs, measure residuals and row norms η. eigenvalues: (r,) descending; eigenvectors: (n, r)."""
    fix_signs(eigenvectors)
    basis = Basis.from_dense(eigenvectors)
    measured = residuals(matrix, basis.parts[0].values, eigenvalues) if known_residuals is None else known_residuals
    return Spectrum(
        eigenvalues=np.clip(np.asarray(eigenvalues, dtype=np.float64), -1.0, 1.0),  # rounding, in float32
        eigenvectors=basis,
        residuals=measured,
        row_norms=basis.row_norms(),
        next_eigenvalue=next_eigenvalue,
        kinds=np.full(len(eigenvectors), IN_BASIS, dtype=np.uint8),
    )
