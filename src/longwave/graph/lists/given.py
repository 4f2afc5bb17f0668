"""k-NN lists from elsewhere: an index or a database that the user already has."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.types import Neighbors

_CHECKED = 200


def check_lists(vectors: NDArray[np.float32], ids: ArrayLike, similarities: ArrayLike | None = None) -> Neighbors:
    """Make `Neighbors` of lists of row numbers, (n, k), and their dot products; -1 marks an empty place.

    A vertex in its own list is taken out. Without similarities they are computed. With them, 200 rows are compared with
    the vectors, so that distances, or lists of other vectors, do not pass for similarities.
    """
    n = len(vectors)
    numbers = np.asarray(ids)
    if numbers.ndim != 2 or len(numbers) != n or numbers.dtype.kind not in "iu" or numbers.shape[1] == 0:
        raise InputError(
            f"lists must hold row numbers, ({n}, k) as there are {n} vectors, got {numbers.shape} {numbers.dtype}"
        )
    wrong = (numbers < -1) | (numbers >= n)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"lists hold {numbers[row, column]} in row {row}; "
            f"row numbers run from 0 to {n - 1}, -1 marks an empty place"
        )
    if similarities is None:
        products = _products(vectors, numbers, np.arange(n))
    else:
        products = np.asarray(similarities, dtype=np.float32)
        if products.shape != numbers.shape:
            raise InputError(f"similarities must have the shape of the ids, {numbers.shape}, got {products.shape}")
        _compare(vectors, numbers, products)
    return _tidy(numbers.astype(np.int64), products)


def _products(vectors: NDArray[np.float32], ids: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    out = np.empty(ids[rows].shape, dtype=np.float32)
    for start in range(0, len(rows), 1024):
        part = rows[start : start + 1024]
        out[start : start + 1024] = np.einsum("id,ikd->ik", vectors[part], vectors[ids[part]])
    return out


def _compare(vectors: NDArray[np.float32], ids: NDArray[np.int64], given: NDArray[np.float32]) -> None:
    rows = np.unique(np.linspace(0, len(vectors) - 1, _CHECKED).astype(np.int64))
    off = np.abs(np.where(ids[rows] >= 0, _products(vectors, ids, rows) - given[rows], 0.0))
    if not off.max() < 0.02:  # float16 and product quantisation stay well within; distances do not
        place, column = (int(i) for i in np.argwhere(~(off < 0.02))[0])
        row = int(rows[place])
        actual = float(vectors[row] @ vectors[ids[row, column]])
        raise InputError(
            f"similarities must be dot products of unit vectors: row {row} says {given[row, column]:.4g} for vector "
            f"{ids[row, column]}, it is {actual:.4g}; give the row numbers alone and they are computed"
        )


def _tidy(ids: NDArray[np.int64], similarities: NDArray[np.float32]) -> Neighbors:
    """Take out the vertex itself and repeated entries, then sort: best first, ties by lower id, empty places last."""
    rows = np.arange(len(ids))[:, None]
    by_id = np.argsort(ids, axis=1, kind="stable")
    ids, similarities = np.take_along_axis(ids, by_id, 1), np.take_along_axis(similarities, by_id, 1)
    repeated = np.zeros_like(ids, dtype=bool)
    repeated[:, 1:] = ids[:, 1:] == ids[:, :-1]
    empty = (ids < 0) | (ids == rows) | repeated
    ids, similarities = np.where(empty, -1, ids), np.where(empty, -np.inf, similarities).astype(np.float32)
    order = np.argsort(-similarities, axis=1, kind="stable")
    return Neighbors(np.take_along_axis(ids, order, 1), np.take_along_axis(similarities, order, 1))


def of_other_items(lists: Neighbors, item_of: NDArray[np.int64], *, k: int) -> Neighbors:
    """The first k neighbours that belong to another item. lists: (n, c) -> (n, k), empty places last.

    Of the 10 nearest regions of a region of the Oxford photographs 78 % are overlapping regions of the same one.
    """
    near = np.maximum(lists.ids, 0)
    empty = (lists.ids < 0) | (item_of[near] == item_of[:, None])
    order = np.argsort(empty, axis=1, kind="stable")[:, :k]
    gone = np.take_along_axis(empty, order, 1)
    ids, products = np.take_along_axis(lists.ids, order, 1), np.take_along_axis(lists.similarities, order, 1)
    return Neighbors(np.where(gone, -1, ids), np.where(gone, -np.inf, products).astype(np.float32))
