"""A symmetric matrix in blocks of rows, and what the blocks ask of each other: the halo.

Block i holds the rows from starts[i] to starts[i + 1]. A product with it needs its own rows of the other factor, and
those rows of other blocks to which an edge leads. Which these are is settled once. Then every block hands out its rows
by lists, and nobody sees more than it asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.cluster.engine import Cluster, Handle
from longwave.types import Array, Sparse


@dataclass(frozen=True, eq=False)
class Blocks:
    """The matrix, spread. matrices: CSR (own rows, own rows + halo) of every block.

    lists: what each block hands out, one list of its rows for each of the blocks in `asking`. needs: the blocks that a
    block asks, ascending. nonzeros: of all blocks. halo: rows that are handed out in one product, over all blocks.
    """

    cluster: Cluster
    starts: NDArray[np.int64]
    matrices: list[Handle]
    lists: list[Handle]
    needs: list[list[int]]
    asking: list[list[int]]
    nonzeros: int
    halo: int

    @property
    def n(self) -> int:
        """Rows of all blocks."""
        return int(self.starts[-1])

    @property
    def count(self) -> int:
        """Blocks."""
        return len(self.matrices)

    def around(self, given: Sequence[Sequence[Handle]]) -> list[list[Handle]]:
        """What every block gets. given: by block, what it hands to each of those that ask it."""
        pieces = [dict(zip(asking, own, strict=True)) for asking, own in zip(self.asking, given, strict=True)]
        return [[pieces[other][block] for other in self.needs[block]] for block in range(self.count)]

    def hand_out(self, rows: Sequence[Handle], columns: slice) -> list[list[Handle]]:
        """Some columns of the rows that are asked for, of every block; as `around` takes them."""
        return [
            self.cluster.submit(chosen, rows[block], lists, columns.start, columns.stop, parts=len(asking))
            if asking
            else []
            for block, (lists, asking) in enumerate(zip(self.lists, self.asking, strict=True))
        ]


def spread(cluster: Cluster, rows: Sequence[Handle], starts: NDArray[np.int64]) -> Blocks:
    """Settle the halo of blocks of rows. rows: CSR (own rows, n) of every block, columns of the whole matrix."""
    count = len(rows)
    made = [cluster.submit(localized, block, number, starts, parts=count + 2) for number, block in enumerate(rows)]
    sizes = np.array(cluster.gather([facts for _, facts, *_ in made]))  # (blocks, blocks + 1)
    asked, nonzeros = sizes[:, :count], sizes[:, count]
    needs = [np.flatnonzero(asked[block]).tolist() for block in range(count)]
    asking = [np.flatnonzero(asked[:, block]).tolist() for block in range(count)]
    lists = [cluster.submit(together, *(made[other][2 + block] for other in asking[block])) for block in range(count)]
    matrices = [matrix for matrix, *_ in made]
    return Blocks(cluster, starts, matrices, lists, needs, asking, int(nonzeros.sum()), int(asked.sum()))


def localized(rows: Sparse, number: int, starts: NDArray[np.int64]) -> list[Any]:
    """A block with its columns renumbered: own rows first, then the halo in ascending order.

    Returns the matrix, the sizes of the halo by block and its nonzeros (blocks + 1,), and what it asks of each block:
    numbers of that block's own rows.
    """
    first, last = starts[number], starts[number + 1]
    inside = (rows.indices >= first) & (rows.indices < last)
    halo, place = np.unique(rows.indices[~inside], return_inverse=True)
    columns = np.empty(len(rows.indices), dtype=np.int32)
    columns[inside] = rows.indices[inside] - first
    columns[~inside] = (last - first) + place
    matrix = sp.csr_array((rows.data, columns, rows.indptr.astype(np.int64)), (last - first, last - first + len(halo)))
    ends = np.searchsorted(halo, starts)
    asked = [(halo[a:b] - start).astype(np.int32) for a, b, start in zip(ends, ends[1:], starts, strict=False)]
    return [matrix, np.array([*map(len, asked), matrix.nnz]), *asked]


def together(*values: Any) -> list[Any]:
    """Several values as one."""
    return list(values)


def chosen(rows: Array, lists: Sequence[NDArray[np.int32]], start: int, stop: int) -> list[Array]:
    """Some columns of the rows of every list."""
    return [np.ascontiguousarray(rows[own, start:stop]) for own in lists]


def owned(matrix: Sparse) -> tuple[Array, Array, Array]:
    """The arrays of a matrix as compiled loops take them: what an engine lends read-only is copied."""
    arrays = matrix.data, matrix.indices, matrix.indptr
    data, indices, indptr = (array if array.flags.writeable else array.copy() for array in arrays)
    return data, indices, indptr
