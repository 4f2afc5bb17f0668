"""k-NN lists by blocked exact products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.types import Neighbors, Progress

# One tile of products: 1,024 × 8,192 float32 is 32 MB, whatever n. Wide enough for BLAS to run at full speed.
_TILE_ROWS = 1024
_TILE_COLUMNS = 8192


def nearest(
    queries: NDArray[np.float32],
    vectors: NDArray[np.float32],
    *,
    k: int,
    exclude_self: bool = False,
    progress: Progress | None = None,
) -> Neighbors:
    """The k rows of `vectors` with the largest dot product to each row of `queries`, exactly.

    queries: (m, d), vectors: (n, d), unit length. Ties go to the lower row number. With `exclude_self`, queries are
    the vectors themselves and no row is its own neighbour, also where it has duplicates. Where k exceeds what there
    is, the lists are padded with id -1 and similarity -inf. Time O(m n d), memory O(m k) and one tile.
    """
    from longwave import compiled

    m, n = len(queries), len(vectors)
    values = np.full((m, k), -np.inf, dtype=np.float32)
    ids = np.full((m, k), n, dtype=np.int64)
    for start in range(0, m, _TILE_ROWS):
        rows = slice(start, min(start + _TILE_ROWS, m))
        for column in range(0, n, _TILE_COLUMNS):
            products = queries[rows] @ vectors[column : column + _TILE_COLUMNS].T
            compiled.update_heaps(products, values[rows], ids[rows], column, start if exclude_self else -1)
        if progress:
            progress("neighbours", rows.stop, m)
    compiled.sort_heaps(values, ids)
    ids[ids == n] = -1
    return Neighbors(ids, values)
