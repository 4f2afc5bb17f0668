"""A small graph in the plane: two vertices lie as far apart as the shortest way between them is long."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from longwave.types import Sparse

_ROUNDS = 100


def place_few(matrix: Sparse) -> NDArray[np.float32]:
    """A place for every vertex, both numbers from −1 to 1. matrix: CSR (m, m), weights. Time O(m²). -> (m, 2)

    Majorisation of Σ (d_ij − ‖p_i − p_j‖)² / d_ij², from classical scaling. An edge is as long as it is weak: 1 for the
    strongest, 1 more for every e-th part.
    """
    far = _distances(matrix)
    m = len(far)
    if m < 2:
        return np.zeros((m, 2), dtype=np.float32)
    weights = 1 / (far + np.eye(m)) ** 2 * (1 - np.eye(m))
    laplacian = np.diag(weights.sum(axis=1)) - weights
    back = np.linalg.pinv(laplacian)
    places = _classical(far)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        ratio = weights * far / np.maximum(apart, 1e-9) * (1 - np.eye(m))
        places = back @ ((np.diag(ratio.sum(axis=1)) - ratio) @ places)
    low, high = places.min(axis=0), places.max(axis=0)
    return np.asarray((2 * places - low - high) / max(float((high - low).max()), 1e-9), dtype=np.float32)


def _distances(matrix: Sparse) -> NDArray[np.float64]:
    """Lengths of the shortest ways; between components a little more than the longest. (m, m)"""
    top = matrix.data.max(initial=1e-12)
    lengths = sp.csr_array(
        (1 - np.log(matrix.data / top, dtype=np.float64), matrix.indices, matrix.indptr), matrix.shape
    )
    far = dijkstra(lengths, directed=False)
    reached = np.isfinite(far)
    return np.asarray(np.where(reached, far, 1.2 * far[reached].max(initial=1.0)))


def _classical(far: NDArray[np.float64]) -> NDArray[np.float64]:
    """Classical scaling: two leading eigenvectors of the centred squares; no two vertices at one place. (m, 2)"""
    square = far**2
    middle = square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean()
    values, vectors = np.linalg.eigh(-middle / 2)
    two = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0))
    two = two * np.where(two[np.abs(two).argmax(axis=0), [0, 1]] < 0, -1, 1)
    turn = np.arange(len(far)) * np.pi * (3 - np.sqrt(5))  # the golden angle: a direction of its own for each
    return np.asarray(two + 0.01 * np.stack([np.cos(turn), np.sin(turn)], axis=1))
