"""`Distributed`: the operations of the iterative methods on blocks of rows that live on a cluster.

The methods are those of `spectrum`, unchanged. A tall block is a list of handles, one for each block of rows; this
process sees small matrices alone: c × c numbers that were summed on the way here. Every call makes a new piece of the
block from old ones, so that the engine can make it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.cluster import kernels as k
from longwave.cluster.engine import Cluster, Handle
from longwave.cluster.pieces import Kept
from longwave.cluster.sparse import Blocks
from longwave.errors import ConvergenceError, InputError
from longwave.spectrum.basis import Basis, Part
from longwave.spectrum.blocks import shifted_factor
from longwave.spectrum.operations import Columns, Numbers
from longwave.types import Array

# Columns that are filtered at a time, about: three panels are held beside a block.
PANEL = 128
# Small matrices that one call adds up.
_FAN = 8


@dataclass(frozen=True, eq=False)
class Tall:
    """A tall matrix on the cluster, n × width. rows: a handle for each block of rows.

    given: what blocks ask of each other (`Blocks.hand_out`), of all columns, where it is known already.
    """

    cluster: Cluster
    rows: list[Handle]
    starts: NDArray[np.int64]
    width: int
    given: list[list[Handle]] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, width)"""
        return int(self.starts[-1]), self.width

    def narrowed(self, width: int) -> Tall:
        """The first columns."""
        rows = [self.cluster.submit(k.columns_of, own, np.arange(width)) for own in self.rows]
        return Tall(self.cluster, rows, self.starts, width)

    def row_norms(self) -> NDArray[np.float64]:
        """The l2-norm of every row. (n,)"""
        return np.concatenate(self.cluster.gather([self.cluster.submit(k.row_norms, own) for own in self.rows]))


class Remote(Basis):
    """A basis whose only part is a `Tall`."""

    def row_norms(self) -> NDArray[np.float32]:
        """η, computed where the rows are. (n,)"""
        return self.parts[0].values.row_norms().astype(np.float32)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Distributed:
    """`Operations` on a cluster. A: the matrix in blocks of rows. kept: where `pack` puts blocks; None for nowhere.

    Beside A, the cluster holds two blocks of n × c and three panels at the peak; a call holds its share of these.
    """

    matrix: Blocks
    kept: Kept | None = None

    @property
    def n(self) -> int:
        """Vertices."""
        return self.matrix.n

    @property
    def nonzeros(self) -> int:
        """Entries of A."""
        return self.matrix.nonzeros

    def start(self, width: int, seed: int, given: Columns | None = None) -> tuple[Tall, int]:
        """Gaussian columns; every block of rows has random numbers of its own."""
        if given is not None:
            raise InputError("a basis on a cluster begins with random columns; leave out start")
        return self._tall([self._run(k.gaussian, size, width, (seed, i)) for i, size in self._sizes()], width), 0

    def multiply(self, block: Tall) -> Tall:
        """A B, panel by panel."""
        made = [self._on_all(k.product, block, columns) for columns in panels(0, block.width)]
        return self._tall([self._run(k.side_by_side, *own) for own in zip(*made, strict=True)], block.width)

    def filter(
        self, block: Tall, *, locked: int, lower: float, cut: float, degree: int, progress: Callable[[float], None]
    ) -> Tall:
        """p(A) B by the scaled three-term recurrence (`spectrum.blocks.chebyshev_filter`), panel by panel."""
        center, half = (cut + lower) / 2, (cut - lower) / 2
        done: list[list[Handle]] = []
        for columns in panels(locked, block.width):
            sigma = sigma_1 = half / (1.0 - center)
            numbers = sigma_1 / half, center, 0.0
            previous = [self._run(k.panel_of, own, columns.start, columns.stop) for own in block.rows]
            given = self.matrix.hand_out(block.rows, columns)
            current, given = self._terms(previous, None, given, numbers, last=degree == 1)
            for step in range(2, degree + 1):
                sigma_next = 1 / (2 / sigma_1 - sigma)
                numbers = 2 * sigma_next / half, center, sigma * sigma_next
                following, given = self._terms(current, previous, given, numbers, last=step == degree)
                previous, current, sigma = current, following, sigma_next
            del previous, given
            self._wait(current)
            done.append(current)
            progress((columns.stop - locked) / (block.width - locked))
        before = [self._run(k.panel_of, own, 0, locked) for own in block.rows]
        return self._tall([self._run(k.side_by_side, *own) for own in zip(before, *done, strict=True)], block.width)

    def orthonormalize(self, block: Tall, *, locked: int) -> tuple[Tall, Numbers]:
        """Cholesky-QR as `spectrum.blocks.orthonormalize` has it: one shifted pass, one plain; Gram matrices summed."""
        rows, eye = block.rows, np.eye(block.width - locked)
        for attempt in range(4):
            for shifted in (True, False):
                if locked:
                    rows = self._each(k.removed, rows, locked, self._sum(k.inner, rows, locked))
                products = self._sum(k.gram, rows, locked)
                norms = np.sqrt(np.diag(products)) if shifted else np.ones(len(eye))
                norms[norms == 0] = 1.0
                factor = shifted_factor(products / np.outer(norms, norms), shifted=shifted)
                rows = self._each(k.solved, rows, locked, norms, factor)
            products = self._sum(k.gram, rows, locked)
            lost = np.flatnonzero(np.abs(products - eye).max(axis=0) > 0.1)
            if not len(lost):
                return self._tall(rows, block.width), products
            rows = [self._run(k.redrawn, own, lost + locked, (attempt, i)) for i, own in enumerate(rows)]
        raise ConvergenceError(f"{len(lost)} of {len(eye)} columns of the basis could not be orthonormalised")

    def rayleigh_ritz(self, block: Tall, products: Numbers, *, locked: int) -> tuple[Tall, Numbers, Numbers]:
        """BᵀAB summed over the blocks, one small eigenproblem here, B V and the residuals there."""
        from scipy.linalg import eigh

        projected = np.hstack(
            [self._sum_of(self._on_all(k.projected, block, c, locked)) for c in panels(locked, block.width)]
        )
        values, vectors = eigh((projected + projected.T) / 2, products, driver="gvd")
        values, vectors = values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1], dtype=np.float32)
        turned = self._tall(self._each(k.transformed, block.rows, locked, vectors), block.width)
        squares = [
            self._sum_of(self._on_all(k.squared_residuals, turned, c, values[c.start - locked : c.stop - locked]))
            for c in panels(locked, block.width)
        ]
        return turned, values, np.sqrt(np.concatenate(squares))

    def take(self, block: Tall, columns: NDArray[np.int64]) -> Tall:
        """Some columns."""
        return self._tall([self._run(k.columns_of, own, columns) for own in block.rows], len(columns))

    def basis(self, block: Tall) -> Basis:
        """The block, signs fixed by the largest entry of every column over all rows. It stays where it is."""
        import scipy.sparse as sp

        peaks = np.stack(self.matrix.cluster.gather([self._run(k.peaks, own) for own in block.rows]))
        best = peaks[np.abs(peaks).argmax(axis=0), np.arange(block.width)]
        signs = np.where(best < 0, -1, 1).astype(np.float32)
        fixed = self._tall(self._each(k.scaled, block.rows, signs), block.width)
        return Remote(self.n, (Part(np.arange(self.n), fixed),), sp.csr_array((self.n, 0), dtype=np.float32))

    def pack(self, block: Tall) -> Mapping[str, Array]:
        """Files that the workers write; the arrays here only name them."""
        if self.kept is None:
            raise InputError("rounds on a cluster are kept in a folder that all machines see; give workdir")
        return {"pieces": np.array(self.kept.save(block.rows)), "width": np.array([block.width])}

    def unpack(self, arrays: Mapping[str, Array]) -> Tall:
        """The block of these files."""
        if self.kept is None:
            raise InputError("rounds on a cluster are kept in a folder that all machines see; give workdir")
        return self._tall(self.kept.load(str(arrays["pieces"]), self.matrix.count), int(arrays["width"][0]))

    def probes(self, count: int, seed: int) -> Tall:
        """Random signs, divided by √n."""
        rows = [self._run(k.signs, size, count, (seed, i), self.n) for i, size in self._sizes()]
        return self._tall(rows, count)

    def lanczos_step(self, current: Tall, previous: Tall, back: Numbers) -> tuple[Tall, Numbers, Numbers]:
        """One product with all probes at once, in float64; α and β are summed over the blocks."""
        matrix, submit = self.matrix, self.matrix.cluster.submit
        given = matrix.hand_out(current.rows, slice(0, current.width)) if current.given is None else current.given
        own = zip(matrix.matrices, current.rows, matrix.around(given), strict=True)
        products, shares = zip(*(submit(k.probed, a, rows, *near, parts=2) for a, rows, near in own), strict=True)
        alpha = sum(matrix.cluster.gather(shares))
        terms = zip(products, current.rows, previous.rows, strict=True)
        made = [submit(k.minus, product, alpha, here, back, before, parts=2) for product, here, before in terms]
        beta = np.sqrt(sum(matrix.cluster.gather([share for _, share in made])))
        factors = 1 / np.where(beta > 1e-10, beta, np.inf)
        blocks = zip(made, matrix.lists, matrix.asking, strict=True)
        new = [submit(k.handed, left, factors, lists, parts=1 + len(asking)) for (left, _), lists, asking in blocks]
        rows, given = [first for first, *_ in new], [rest for _, *rest in new]
        return Tall(matrix.cluster, rows, matrix.starts, current.width, given), alpha, beta

    def _terms(
        self,
        current: Sequence[Handle],
        previous: Sequence[Handle] | None,
        given: list[list[Handle]],
        numbers: tuple[float, float, float],
        *,
        last: bool,
    ) -> tuple[list[Handle], list[list[Handle]]]:
        """One term of the recurrence in every block: the new panel, and what the others will ask of it."""
        new, handed = [], []
        for block, pieces in enumerate(self.matrix.around(given)):
            before = None if previous is None else previous[block]
            parts = 1 + (0 if last else len(self.matrix.asking[block]))
            arguments = self.matrix.matrices[block], self.matrix.lists[block], current[block], before, *numbers, last
            first, *rest = self.matrix.cluster.submit(k.term, *arguments, *pieces, parts=parts)
            new.append(first)
            handed.append(rest)
        return new, handed

    def _on_all(self, function: Callable[..., Any], block: Tall, columns: slice, *arguments: Any) -> list[Handle]:
        """A function of every block's rows and of its product A B on some columns."""
        given = self.matrix.around(self.matrix.hand_out(block.rows, columns))
        own = zip(self.matrix.matrices, block.rows, given, strict=True)
        span = columns.start, columns.stop
        return [
            self._run(function, matrix, rows, *span, len(arguments), *arguments, *near) for matrix, rows, near in own
        ]

    def _each(self, function: Callable[..., Any], rows: Sequence[Handle], *arguments: Any) -> list[Handle]:
        """A function of every block's rows, and of small arrays that all of them get."""
        cluster = self.matrix.cluster
        shared = [cluster.put(value) if isinstance(value, np.ndarray) else value for value in arguments]
        return [self._run(function, own, *shared) for own in rows]

    def _sum(self, function: Callable[..., Any], rows: Sequence[Handle], *arguments: Any) -> Any:
        return self._sum_of([self._run(function, own, *arguments) for own in rows])

    def _sum_of(self, handles: list[Handle]) -> Any:
        """The sum of small arrays, eight at a time, so that one arrives here and not one for each block."""
        while len(handles) > 1:
            handles = [self._run(k.added, *handles[i : i + _FAN]) for i in range(0, len(handles), _FAN)]
        return np.array(self.matrix.cluster.gather(handles)[0])

    def _wait(self, handles: Sequence[Handle]) -> None:
        """Until these are there: no more than one panel is under way."""
        self.matrix.cluster.gather([self._run(k.nothing, own) for own in handles])

    def _run(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        return self.matrix.cluster.submit(function, *arguments)

    def _sizes(self) -> list[tuple[int, int]]:
        return list(enumerate(np.diff(self.matrix.starts).tolist()))

    def _tall(self, rows: list[Handle], width: int) -> Tall:
        return Tall(self.matrix.cluster, rows, self.matrix.starts, width)


def panels(first: int, last: int) -> list[slice]:
    """Panels of about equal width: as many calls are made for a narrow one as for a wide one."""
    if last <= first:
        return []
    ends = np.linspace(first, last, max(1, round((last - first) / PANEL)) + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]
