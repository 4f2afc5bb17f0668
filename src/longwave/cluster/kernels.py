"""What workers do with their rows of a tall block: plain functions that leave their arguments as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.cluster.sparse import chosen, owned
from longwave.spectrum import blocks
from longwave.types import Array, Sparse

Seed = tuple[int, int]


def gaussian(size: int, width: int, seed: Seed) -> Array:
    """Random columns. -> (size, width)"""
    return np.random.default_rng(seed).standard_normal((size, width), dtype=np.float32)


def signs(size: int, width: int, seed: Seed, n: int) -> Array:
    """Random signs, divided by √n. -> (size, width) float64"""
    drawn: Array = np.random.default_rng(seed).choice([-1.0, 1.0], size=(size, width)) / np.sqrt(n)
    return drawn


def product(matrix: Sparse, rows: Array, start: int, stop: int, extra: int, *rest: Any) -> Array:
    """A B on some columns. rest: `extra` arguments that other functions want, then the halo."""
    data, indices, indptr = owned(matrix)
    full = np.concatenate([rows[:, start:stop], *rest[extra:]])
    return blocks.multiply(sp.csr_array((data, indices, indptr), shape=matrix.shape), full)


def term(
    matrix: Sparse,
    lists: Sequence[NDArray[np.int32]],
    current: Array,
    previous: Array | None,
    scale: float,
    center: float,
    back: float,
    last: bool,
    *halo: Array,
) -> list[Array]:
    """scale (A − center) current − back previous, and of it what others ask for."""
    from longwave.rows import compiled

    out = np.zeros_like(current) if previous is None else previous.copy()
    full = np.concatenate([current, *halo])
    numbers: Any = [np.float32(number) for number in (scale, center, back)]
    compiled.chebyshev_step(*owned(matrix), full, out, *numbers)
    return [out] if last else [out, *chosen(out, lists, 0, out.shape[1])]


def projected(matrix: Sparse, rows: Array, start: int, stop: int, extra: int, locked: int, *halo: Array) -> Array:
    """The share of BᵀA B of these rows: all columns after the locked ones × some columns, in float64."""
    right = product(matrix, rows, start, stop, 0, *halo)
    return _inner(rows[:, locked:], right)


def squared_residuals(
    matrix: Sparse, rows: Array, start: int, stop: int, extra: int, values: Array, *halo: Array
) -> Array:
    """The share of ‖A u − λ u‖² of these rows, for some columns."""
    difference = product(matrix, rows, start, stop, 0, *halo)
    difference -= rows[:, start:stop] * values.astype(np.float32)
    return column_products(difference, difference)


def inner(rows: Array, locked: int) -> Array:
    """QᵀB of the locked columns Q and the others, in float64."""
    return _inner(rows[:, :locked], rows[:, locked:])


def gram(rows: Array, locked: int) -> Array:
    """BᵀB of the columns after the locked ones, in float64."""
    return blocks.gram(rows[:, locked:])


def removed(rows: Array, locked: int, inside: Array) -> Array:
    """B − Q (QᵀB) in the columns after the locked ones."""
    out = rows.copy()
    out[:, locked:] -= rows[:, :locked] @ inside.astype(np.float32)
    return out


def solved(rows: Array, locked: int, norms: Array, factor: Array) -> Array:
    """B N⁻¹ R⁻¹ in the columns after the locked ones; N: norms of the columns, R: upper triangular."""
    out = rows.copy()
    out[:, locked:] /= norms.astype(np.float32)
    blocks.divide(out[:, locked:], factor)
    return out


def transformed(rows: Array, locked: int, matrix: Array) -> Array:
    """B V in the columns after the locked ones."""
    out = rows.copy()
    out[:, locked:] = rows[:, locked:] @ matrix
    return out


def redrawn(rows: Array, columns: Array, seed: Seed) -> Array:
    """Random numbers in some columns."""
    out = rows.copy()
    out[:, columns] = gaussian(len(rows), len(columns), seed)
    return out


def panel_of(rows: Array, start: int, stop: int) -> Array:
    """Some columns, in memory of their own."""
    return rows[:, start:stop].copy()


def columns_of(rows: Array, columns: Array) -> Array:
    """Some columns, in the order given."""
    return np.ascontiguousarray(rows[:, columns])


def side_by_side(*panels: Array) -> Array:
    """Columns of one after those of the other."""
    return np.hstack(panels)


def scaled(rows: Array, factors: Array) -> Array:
    """Every column times its factor."""
    return rows * factors


def probed(matrix: Sparse, rows: Array, *halo: Array) -> list[Array]:
    """A product of all probes, A q, and the share of qᵀA q of these rows."""
    made = product(matrix, rows, 0, rows.shape[1], 0, *halo)
    return [made, column_products(rows, made)]


def minus(rows: Array, alpha: Array, here: Array, back: Array, before: Array) -> list[Array]:
    """What Lanczos leaves of a product, p − α q − β q', and the share of its squared norms."""
    left = np.asarray(rows - alpha * here - back * before)
    return [left, column_products(left, left)]


def handed(rows: Array, factors: Array, lists: Sequence[NDArray[np.int32]]) -> list[Array]:
    """Every column times its factor, and of it what others ask for."""
    out = rows * factors
    return [out, *chosen(out, lists, 0, out.shape[1])]


def column_products(one: Array, other: Array) -> Array:
    """aᵀb of every column, in float64. (m, c), (m, c) -> (c,)"""
    return np.asarray(np.einsum("ij,ij->j", one, other, dtype=np.float64))


def peaks(rows: Array) -> Array:
    """The entry of largest magnitude of every column; 0 where there are no rows. (m, c) -> (c,)"""
    if not len(rows):
        return np.zeros(rows.shape[1], dtype=rows.dtype)
    return np.asarray(rows[np.abs(rows).argmax(axis=0), np.arange(rows.shape[1])])


def row_norms(rows: Array) -> Array:
    """The l2-norm of every row, in float64. (m, c) -> (m,)"""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


def added(*values: Array) -> Array:
    """The sum."""
    return np.asarray(np.sum(values, axis=0))


def nothing(value: Any) -> None:
    """For waiting."""


def _inner(left: Array, right: Array) -> Array:
    """aᵀb, summed over slices of the rows in float64."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, len(left), blocks.ROWS):
        total += left[start : start + blocks.ROWS].T @ right[start : start + blocks.ROWS]
    return total
