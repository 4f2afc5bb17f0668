"""`Operations`: what the iterative methods do with a block of columns, so that the block may live anywhere.

A block is a tall matrix B, n × c: one row for each vertex, one column for each vector that is being computed.
`Chebyshev`, `Simultaneous` and `density_of_states` only hand blocks from one operation to the next. They never look
inside one. `Local` keeps a block as one array of this process; another implementation may keep its rows on many
machines, and the methods stay as they are.

    def on_my_cluster(matrix): return MyOperations(matrix)
    Chebyshev(100)(matrix, Run(operations=on_my_cluster))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.rows.vectors import row_blocks
from longwave.spectrum import blocks
from longwave.spectrum.basis import Basis
from longwave.types import Array, Sparse

B = TypeVar("B")
Numbers = NDArray[np.float64]


class Columns(Protocol):
    """Columns to start from, such as an earlier basis. They are read a few rows at a time."""

    @property
    def width(self) -> int:
        """How many columns there are."""

    def rows(self, chosen: slice) -> NDArray[np.float32]:
        """Some rows of all columns, (rows, width); zeros for a vertex of which nothing is known."""


class Operations(Protocol[B]):
    """All that an iterative method asks for. B is the type of a block; it means nothing to the method.

    An operation may overwrite the block that it is given: the method goes on with the block that comes back. Small
    matrices, c × c, and lists of c numbers are ordinary arrays. `locked` says how many leading columns stay as they
    are; the operation works on the columns after them.
    """

    @property
    def n(self) -> int:
        """Rows of a block: vertices."""

    @property
    def nonzeros(self) -> int:
        """Entries of A; tells how far a round has come."""

    def start(self, width: int, seed: int, given: Columns | None = None) -> tuple[B, int]:
        """A block of `width` columns to begin with, and how many of them were given. The others are Gaussian.

        A vertex of which the given columns know nothing gets what its neighbours have, (A B)_i.
        """

    def multiply(self, block: B) -> B:
        """A B."""

    def filter(
        self, block: B, *, locked: int, lower: float, cut: float, degree: int, progress: Callable[[float], None]
    ) -> B:
        """p(A) B, p the Chebyshev polynomial that is small on [lower, cut] and has p(1) = 1 (`chebyshev_filter`).

        progress: told the share that is done.
        """

    def orthonormalize(self, block: B, *, locked: int) -> tuple[B, Numbers]:
        """Q of B = QR, orthogonal to the locked columns too, and QᵀQ, which is the identity up to rounding."""

    def rayleigh_ritz(self, block: B, products: Numbers, *, locked: int) -> tuple[B, Numbers, Numbers]:
        """The best eigenpairs within the span of B, largest first: vectors, values and residuals ‖A u − λ u‖.

        products: BᵀB, as `orthonormalize` returned it.
        """

    def take(self, block: B, columns: NDArray[np.int64]) -> B:
        """Some columns of B, in the order given."""

    def basis(self, block: B) -> Basis:
        """The block as a finished basis U. The entry of largest magnitude of every column is made positive."""

    def pack(self, block: B) -> Mapping[str, Array]:
        """The block as named arrays, for a checkpoint."""

    def unpack(self, arrays: Mapping[str, Array]) -> B:
        """The block that `pack` made these arrays of."""

    def probes(self, count: int, seed: int) -> B:
        """Random unit vectors with entries ±1/√n, in float64."""

    def lanczos_step(self, current: B, previous: B, back: Numbers) -> tuple[B, Numbers, Numbers]:
        """One step of Lanczos for every column q by itself: the next q, and its α and β.

        p = A q, α = qᵀp, p ← p − α q − back · previous, β = ‖p‖; the next q is p / β, or zero where β is. `current`
        stays as it is. In the first step `back` is zero, and `previous` may be any block.
        """


@dataclass(frozen=True, eq=False)
class Local:
    """Blocks as arrays of this process, n × c float32; all cores, everything in place.

    matrix: A, CSR (n, n), symmetric. One block and two panels of at most a tenth of it are all that is held.
    """

    matrix: Sparse

    @property
    def n(self) -> int:
        """Vertices."""
        return int(self.matrix.shape[0])

    @property
    def nonzeros(self) -> int:
        """Entries of A."""
        return int(self.matrix.nnz)

    def start(self, width: int, seed: int, given: Columns | None = None) -> tuple[Array, int]:
        """Gaussian columns after those that are given."""
        block = np.random.default_rng(seed).standard_normal((self.n, width), dtype=np.float32)
        known = 0 if given is None else min(given.width, width)
        if given is None or not known:
            return block, 0
        for rows in row_blocks(self.n, 1, numbers=blocks.ROWS):
            block[rows, :known] = given.rows(rows)[:, :known]
        new = np.flatnonzero(~block[:, :known].any(axis=1))
        part = sp.csr_array(self.matrix[new])
        for columns in blocks.panels(known):
            block[new, columns] = blocks.multiply(part, block[:, columns])
        return block, known

    def multiply(self, block: Array) -> Array:
        """A B, a new array."""
        return blocks.multiply(self.matrix, block)

    def filter(
        self, block: Array, *, locked: int, lower: float, cut: float, degree: int, progress: Callable[[float], None]
    ) -> Array:
        """p(A) B, in place."""
        active = block[:, locked:]
        blocks.chebyshev_filter(self.matrix, active, lower=lower, cut=cut, degree=degree, progress=progress)
        return block

    def orthonormalize(self, block: Array, *, locked: int) -> tuple[Array, Numbers]:
        """Cholesky-QR, in place."""
        return block, blocks.orthonormalize(block[:, locked:], block[:, :locked])

    def rayleigh_ritz(self, block: Array, products: Numbers, *, locked: int) -> tuple[Array, Numbers, Numbers]:
        """Ritz vectors, in place; `products` is overwritten."""
        values, residuals = blocks.rayleigh_ritz(self.matrix, block[:, locked:], products)
        return block, values, residuals

    def take(self, block: Array, columns: NDArray[np.int64]) -> Array:
        """Some columns, in the memory of the block."""
        if len(columns) == block.shape[1]:
            blocks.order_columns(block, columns)
            return block
        if (columns == np.arange(len(columns))).all():
            return blocks.narrow(block, len(columns))
        return np.ascontiguousarray(block[:, columns])

    def basis(self, block: Array) -> Basis:
        """The same array, with signs fixed."""
        blocks.fix_signs(block)
        return Basis.from_dense(block)

    def pack(self, block: Array) -> Mapping[str, Array]:
        """The array itself."""
        return {"block": block}

    def unpack(self, arrays: Mapping[str, Array]) -> Array:
        """The array itself."""
        return arrays["block"]

    def probes(self, count: int, seed: int) -> Array:
        """Random signs, divided by √n."""
        signs: Array = np.random.default_rng(seed).choice([-1.0, 1.0], size=(self.n, count)) / np.sqrt(self.n)
        return signs

    def lanczos_step(self, current: Array, previous: Array, back: Numbers) -> tuple[Array, Numbers, Numbers]:
        """One product with all probes at once, in float64."""
        product = blocks.multiply(self.matrix, current)
        alpha = np.einsum("ij,ij->j", current, product)
        product -= alpha * current + (back * previous if back.any() else 0)
        beta = np.linalg.norm(product, axis=0)
        return product / np.where(beta > 1e-10, beta, np.inf), alpha, beta


#: Makes the operations of a matrix.
MakeOperations = Callable[[Sparse], Operations[Any]]
