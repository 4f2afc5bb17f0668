"""k-NN lists by blocked exact products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.rows.encoded import Rows, products
from longwave.types import Neighbors, Progress

# One tile of products: 2,048 × 4,096 float32 are 32 MB, whatever n. Wide enough for BLAS to run at full speed.
_TILE_ROWS = 2048
_TILE_COLUMNS = 4096


class Heaps:
    """The best k hits of every row so far, filled tile by tile, columns in ascending order."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.values = np.full((n_rows, k), -np.inf, dtype=np.float32)
        # An empty place has an id behind every real one, so that a real hit of equal value comes first.
        self.ids = np.full((n_rows, k), np.iinfo(np.int64).max, dtype=np.int64)

    def update(self, rows: slice, products: NDArray[np.float32], *, first_column: int, self_row: int = -1) -> None:
        """Push products, (rows, tile). self_row: vertex number of the first row, whose own column does not count."""
        from longwave.rows import compiled

        compiled.update_heaps(products, self.values[rows], self.ids[rows], first_column, self_row)

    def lists(self) -> Neighbors:
        """Sort, best first; empty places get id -1."""
        from longwave.rows import compiled

        compiled.sort_heaps(self.values, self.ids)
        self.ids[np.isneginf(self.values)] = -1
        return Neighbors(self.ids, self.values)


def nearest(queries: NDArray[np.float32], vectors: NDArray[np.float32] | Rows, *, k: int) -> Neighbors:
    """The k rows of `vectors` with the largest dot product to each row of `queries`, exactly.

    queries: (m, d), vectors: (n, d), unit length. Ties go to the lower row number. Where k exceeds n, the lists are
    padded with id -1 and similarity -inf. Time O(m n d), memory O(m k) and one tile.
    """
    heaps = Heaps(len(queries), k)
    for rows in tiles(len(queries), _TILE_ROWS):
        for columns in tiles(len(vectors), _TILE_COLUMNS):
            heaps.update(rows, products(queries[rows], vectors[columns]), first_column=columns.start)
    return heaps.lists()


def nearest_others(vectors: NDArray[np.float32], *, k: int, progress: Progress | None = None) -> Neighbors:
    """The k nearest *other* rows of every row, exactly; no row is its own neighbour, also where it has duplicates.

    Every product v_iᵀv_j is computed once and serves both rows. Otherwise as `nearest`. Time O(n² d / 2).
    """
    from longwave.rows import compiled

    n = len(vectors)
    heaps = Heaps(n, k)
    squares = tiles(n, _TILE_COLUMNS)
    done, total = 0, len(squares) * (len(squares) + 1) // 2
    for number, rows in enumerate(squares):
        for columns in squares[number:]:
            products = vectors[rows] @ vectors[columns].T
            heaps.update(rows, products, first_column=columns.start, self_row=rows.start)
            if columns != rows:
                mirrored = np.empty(products.shape[::-1], dtype=np.float32)
                compiled.transpose(products, mirrored)
                heaps.update(columns, mirrored, first_column=rows.start)
            done += 1
            if progress:
                progress("neighbours", done, total)
    return heaps.lists()


def tiles(n: int, size: int) -> list[slice]:
    """Cut n rows into slices of `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
