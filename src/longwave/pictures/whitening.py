"""Whitening: directions that vary together in a collection are told apart and count alike."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.checks import check_counts
from longwave.errors import DataWarning, FileError, InputError, writing
from longwave.files.bounded import check_regular, read_npz
from longwave.rows.vectors import check_vectors, row_blocks
from longwave.types import Array

# Eigenvalues below this share of the largest are rounding of float32, not variance.
_FLOOR = 1e-7


@dataclass(frozen=True, eq=False)
class Whitening:
    """x ↦ (x − mean) projection. mean: (D,), projection: (D, d); l2-normalisation is left to the caller."""

    mean: NDArray[np.float32]
    projection: NDArray[np.float32]

    def __call__(self, vectors: Array) -> NDArray[np.float32]:
        """(n, D) -> (n, d)"""
        return np.asarray((vectors - self.mean) @ self.projection, dtype=np.float32)

    @property
    def dimensions(self) -> int:
        """Of what comes out."""
        return int(self.projection.shape[1])

    def cut(self, dimensions: int) -> Whitening:
        """The leading dimensions alone."""
        check_counts(dimensions=dimensions)
        if dimensions > self.dimensions:
            raise InputError(f"this whitening has {self.dimensions} dimensions, fewer than the {dimensions} asked for")
        return Whitening(self.mean, np.ascontiguousarray(self.projection[:, :dimensions]))

    def recentred(self, vectors: ArrayLike) -> Whitening:
        """With the mean of these vectors: for a collection whose pictures were taken or stored in another way."""
        given = check_vectors(vectors)
        if given.shape[1] != len(self.mean):
            raise InputError(f"this whitening is for {len(self.mean)} dimensions, the vectors have {given.shape[1]}")
        return Whitening(_mean(given).astype(np.float32), self.projection)


def learn_pca(vectors: ArrayLike, *, dimensions: int, shrinkage: float = 0.0) -> Whitening:
    """PCA whitening: the covariance of the vectors becomes the identity. (n, D) -> projection (D, d)

    Learn it on unit vectors of the collection itself, or of a larger one like it. shrinkage: so many times the mean
    variance is added to that of every direction, which keeps weak directions weak; 5 does for 100 to 1,000 pictures,
    0 needs tens of vectors for each dimension. Time O(n D² + D³), memory O(D²).
    """
    check_counts(dimensions=dimensions)
    check_shrinkage(shrinkage)
    given = check_vectors(vectors)
    mean, covariance = _moments(given)
    values, directions = np.linalg.eigh(covariance)
    values, directions = values[::-1], directions[:, ::-1]
    usable = int((values > _FLOOR * max(values[0], 0)).sum())
    if not usable:
        raise InputError("all vectors are the same: there is nothing to whiten; leave it out, or give more pictures")
    d = _clipped(dimensions, usable, f"{len(given):,} vectors of {given.shape[1]} dimensions vary")
    scale = np.sqrt(values[:d] + shrinkage * values.mean())
    return Whitening(mean.astype(np.float32), (_signed(directions[:, :d]) / scale).astype(np.float32))


def learn_supervised(
    vectors: ArrayLike,
    matching: ArrayLike,
    *,
    dimensions: int,
    different: ArrayLike | None = None,
    shrinkage: float = 0.0,
) -> Whitening:
    """Whitening from pairs (Mikolajczyk & Matas; Radenović et al.): what differs within them is made to count alike.

    C_S = covariance of v_i − v_j over the matching pairs; P = C_S^{-1/2} makes it the identity; then PCA of the
    differences of the other pairs in that space, largest first. vectors: (n, D). matching, different: (m, 2) rows of
    vectors; without `different` all pairs stand for it, whose covariance is twice that of the vectors. shrinkage: so
    many times the mean variance of C_S is added to that of every direction. Choose it where a few thousand pairs are
    known. Time O((n + m) D² + D³).
    """
    check_counts(dimensions=dimensions)
    check_shrinkage(shrinkage)
    given = check_vectors(vectors)
    mean, covariance = _moments(given)
    within = _difference_covariance(given, matching, "matching")
    values, directions = np.linalg.eigh(within)
    usable = values > _FLOOR * max(values[-1], 0)
    if not usable.any():
        raise InputError(
            "the vectors of all matching pairs are the same; give pairs of different pictures of one thing"
        )
    if shrinkage > 0:
        values = np.maximum(values, 0) + shrinkage * values.mean()
    elif not usable.all():
        # Directions in which no pair differs would get all the weight; the weakest seen one bounds it.
        warnings.warn(
            f"the matching pairs differ in {int(usable.sum())} of {len(values)} dimensions only; give more pairs",
            DataWarning,
            stacklevel=2,
        )
        values = np.maximum(values, values[usable][0])
    root = directions / np.sqrt(values)  # P: (D, D)
    between = 2 * covariance if different is None else _difference_covariance(given, different, "different")
    _, axes = np.linalg.eigh(root.T @ between @ root)
    d = _clipped(dimensions, given.shape[1], f"the vectors have {given.shape[1]} dimensions")
    return Whitening(mean.astype(np.float32), _signed(root @ axes[:, ::-1][:, :d]).astype(np.float32))


def read_whitening(path: str | Path) -> Whitening:
    """From an .npz with `mean` (D,) and `projection` (D, d)."""
    check_regular(path)
    try:
        with np.errstate(over="ignore"):  # what is not finite is refused below
            mean, projection = (read_npz(Path(path), name).astype(np.float32) for name in ("mean", "projection"))
    except FileError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise FileError(
            f"{path} is not a whitening; expected an .npz with arrays mean (D,) and projection (D, d)"
        ) from error
    if mean.ndim != 1 or projection.ndim != 2 or len(mean) != len(projection):
        raise FileError(
            f"{path}: mean {mean.shape} and projection {projection.shape} do not fit; expected (D,) and (D, d)"
        )
    if not (np.isfinite(mean).all() and np.isfinite(projection).all()):
        raise FileError(f"{path} holds values that are not finite (NaN or infinite); learn it again")
    return Whitening(mean, projection)


def write_whitening(whitening: Whitening, path: str | Path) -> None:
    """As an .npz that `read_whitening` reads."""
    with writing(path):
        np.savez(path, mean=whitening.mean, projection=whitening.projection)


def check_shrinkage(shrinkage: float) -> None:
    """Raise unless it is a number that can be added."""
    if not 0 <= shrinkage < np.inf:
        raise InputError(f"shrinkage must be 0 or more, got {shrinkage!r}; 5 is usual")


def _mean(vectors: Array) -> NDArray[np.float64]:
    n, dimension = vectors.shape
    blocks = row_blocks(n, dimension)
    total = sum((vectors[b].sum(axis=0, dtype=np.float64) for b in blocks), np.zeros(dimension))
    return np.asarray(total / n)


def _moments(vectors: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (D,) and covariance (D, D) in float64, in blocks."""
    n, dimension = vectors.shape
    mean = _mean(vectors)
    covariance = np.zeros((dimension, dimension))
    for block in row_blocks(n, dimension):
        centred = vectors[block].astype(np.float64) - mean
        covariance += centred.T @ centred
    return mean, covariance / n


def _difference_covariance(vectors: Array, pairs: ArrayLike, name: str) -> NDArray[np.float64]:
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu" or not len(rows):
        raise InputError(f"{name} must be pairs of row numbers, shape (m, 2), got shape {rows.shape}, {rows.dtype}")
    if rows.min() < 0 or rows.max() >= len(vectors):
        raise InputError(
            f"{name} names row {rows.max()}, but there are {len(vectors)} vectors: 0 to {len(vectors) - 1}"
        )
    total = np.zeros((vectors.shape[1],) * 2)
    for block in row_blocks(len(rows), vectors.shape[1]):
        first, second = rows[block].T
        difference = vectors[first].astype(np.float64) - vectors[second]
        total += difference.T @ difference
    return total / len(rows)


def _clipped(dimensions: int, most: int, reason: str) -> int:
    if dimensions > most:
        warnings.warn(
            f"{reason} in {most} dimensions only, not {dimensions}: {most} are kept", DataWarning, stacklevel=3
        )
    return min(dimensions, most)


def _signed(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest entry of every column positive, so that the same data give the same vectors."""
    largest = np.abs(directions).argmax(axis=0)
    return directions * np.where(directions[largest, np.arange(directions.shape[1])] < 0, -1.0, 1.0)
