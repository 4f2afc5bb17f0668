"""Vectors: checked at the edge, made unit length, multiplied in blocks, ranked with stable ties."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import CorruptIndexError, DataWarning, InputError
from longwave.rows.encoded import plain

Floats = NDArray[np.floating[Any]]

# Rows checked or converted at a time: 2^22 numbers are 32 MB in float64, small beside any collection.
_BLOCK_NUMBERS = 1 << 22
# Numbers of queries between which other threads may have the interpreter: a quarter of a millisecond.
_TURN = 1 << 17

# What to do with arrays of other kinds than numbers: texts, and whatever numpy calls an object.
_REMEDIES = {
    "U": "; read a file first, such as with numpy.load",
    "O": "; a column of arrays becomes 2-D with numpy.stack(list(column)), and None must be dropped first",
}


def row_blocks(n_rows: int, n_columns: int, *, numbers: int = _BLOCK_NUMBERS) -> list[slice]:
    """Cut n_rows into slices of at most `numbers` entries each (at least one row)."""
    step = max(1, numbers // max(1, n_columns))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def check_vectors(vectors: ArrayLike, *, name: str = "vectors", dimension: int | None = None) -> NDArray[Any]:
    """Return the array as it is, (n, d) of real numbers, or raise an error that names what is wrong.

    Memory-mapped arrays stay on disk; the check for NaN reads them once in blocks.
    """
    if isinstance(vectors, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill or drop the masked values first")
    try:
        array = np.asarray(vectors)
    except ValueError as error:
        raise InputError(f"{name} must be 2-D with rows of one length: {error}") from error
    except (TypeError, RuntimeError) as error:  # such as a tensor that keeps gradients, or holds bfloat16
        raise InputError(
            f"{name} cannot become a numpy array: {error}; for a tensor of torch give "
            f"{name}.detach().float().cpu().numpy()"
        ) from error
    if array.dtype.kind not in "fiub":
        remedy = _REMEDIES.get(array.dtype.kind, "")
        raise InputError(f"{name} must hold real numbers (float16/32/64 or integers), got dtype {array.dtype}{remedy}")
    if array.ndim == 1 and dimension is not None:
        array = array[None, :]  # one query
    if array.ndim != 2:
        raise InputError(f"{name} must be 2-D, one vector per row, got shape {array.shape}; reshape to (n, d)")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InputError(f"{name} is empty: shape {array.shape}; at least one row and one column are needed")
    if dimension is not None and array.shape[1] != dimension:
        raise InputError(
            f"{name} has {array.shape[1]} dimensions but the index has {dimension}; describe both with the same encoder"
        )
    if array.dtype.kind == "f":
        for block in row_blocks(*array.shape):
            finite = np.isfinite(array[block])
            if not finite.all():
                row, column = (int(i) for i in np.argwhere(~finite)[0])
                value = array[block][row, column]
                raise InputError(
                    f"{name} holds {value} at row {block.start + row}, column {column}; "
                    "all values must be finite: drop or repair that row"
                )
    return array


def normalize(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Divide each row by its l2-norm; a zero row stays zero. (n, d) any real dtype -> (n, d) float32.

    Each row is first divided by its largest entry, so neither huge nor tiny values over- or underflow.
    """
    out = np.empty(vectors.shape, dtype=np.float32)
    for block in row_blocks(*vectors.shape):
        rows = vectors[block].astype(np.float64)
        peak = np.abs(rows).max(axis=1, keepdims=True)
        np.divide(rows, peak, out=rows, where=peak > 0)
        norm = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norm, out=rows, where=norm > 0)
        out[block] = rows
    return out


def unit_vectors(vectors: ArrayLike, *, name: str = "vectors", checked: bool = False) -> NDArray[np.float32]:
    """Check and normalise the vectors of a collection; zero rows are kept, with a warning. checked: done already."""
    unit = normalize(np.asarray(vectors) if checked else check_vectors(vectors, name=name))
    zero = np.flatnonzero(~unit.any(axis=1))
    if zero.size:
        warnings.warn(
            f"{zero.size} of {len(unit)} rows of {name} are all zero (the first is row {zero[0]}); "
            "they have no neighbours and can only be found last: consider dropping them",
            DataWarning,
            stacklevel=3,
        )
    return unit


def unit_queries(queries: ArrayLike, *, dimension: int, name: str = "queries") -> NDArray[np.float32]:
    """Check and normalise queries; a zero query has no direction and is refused."""
    from longwave.rows import query_loops

    usual = type(queries) is np.ndarray and queries.dtype.kind == "f" and queries.shape[-1:] == (dimension,)
    rows = np.atleast_2d(queries) if usual else check_vectors(queries, name=name, dimension=dimension)
    if rows.ndim == 2 and len(rows):
        rows = plain(rows, np.float32 if rows.dtype == np.float32 else np.float64)
        out = np.empty(rows.shape, dtype=np.float32)
        if all(query_loops.unit_rows(rows[some], out[some]) < 0 for some in row_blocks(*rows.shape, numbers=_TURN)):
            return out
    unit = normalize(check_vectors(queries, name=name, dimension=dimension))  # says what is wrong
    zero = np.flatnonzero(~unit.any(axis=1))
    if zero.size:
        raise InputError(f"row {zero[0]} of {name} is all zero; a query needs a direction: drop that row")
    return unit


def top_k(scores: Floats, k: int) -> tuple[NDArray[np.int64], Floats]:
    """The k largest entries of each row, best first, ties by lower column. (rows, n) -> ids, values (rows, k).

    NaN is never among them; fewer than k others are an error. Never sorts a whole row unless most of it is asked for.
    Time O(rows · n), memory O(rows · k).
    """
    from longwave.rows import compiled

    rows, n = scores.shape
    k = min(k, n)
    if 4 * k >= n:  # a heap of that size costs more than the sort
        ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]  # NaN last
        values = np.take_along_axis(scores, ids, axis=1)
        check_scores(~np.isnan(values))
        return ids, values
    values = np.full((rows, k), -np.inf, dtype=scores.dtype)
    # Ids of empty places lie behind every real one.
    ids = np.full((rows, k), n, dtype=np.int64)
    compiled.update_heaps(np.ascontiguousarray(scores), values, ids, 0, -1)
    compiled.sort_heaps(values, ids)
    check_scores(ids < n)
    return ids, values


def check_scores(found: NDArray[np.bool_]) -> None:
    """Raise where a score that was wanted is not a finite number."""
    if not found.all():
        raise CorruptIndexError(
            "there are scores that are not finite numbers: the index is damaged; check it with Index.load(path, "
            "verify=True), or build it again"
        )
