"""Where a layout begins: a first place in the plane for each vertex, from the leading waves of its component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.filters import LowPass
from longwave.spectrum.basis import Basis, Part
from longwave.types import Array

# Leading waves of a component that are looked at, and how much each of them counts.
_WAVES, _FILTER = 48, LowPass(0.99)


@dataclass(frozen=True, eq=False)
class Waves:
    """The leading columns of U (or Ū): of each dense part, and all sparse ones. Eigenvalues beside them."""

    parts: tuple[tuple[Part, NDArray[np.float64]], ...]
    basis: Basis
    sparse: NDArray[np.float64]

    @classmethod
    def of(cls, basis: Basis, eigenvalues: NDArray[np.float64]) -> Waves:
        """From a basis and its eigenvalues (r,)."""
        parts = []
        for part, columns in basis.spans():
            own = eigenvalues[columns]
            leading = np.sort(np.argsort(-own, kind="stable")[: _WAVES + 1])
            values = np.concatenate([part.values[block][:, leading] for block in _blocks(len(part.rows))])
            parts.append((Part(part.rows, values), own[leading]))
        return cls(tuple(parts), basis, eigenvalues[basis.n_dense :])

    def __call__(self, vertices: NDArray[np.int64]) -> Array:
        """Where some vertices of a component begin. (m,) -> (m, 2)"""
        found = []
        for part, own in self.parts:
            places, present = part.places(vertices)
            if present.any():
                found.append((part.values[places] * present[:, None], own))
        small = self.basis.sparse[vertices]
        columns = np.unique(small.indices)
        found.append((small[:, columns].toarray(), self.sparse[columns]))
        values, eigenvalues = (np.concatenate([one[side] for one in found], axis=1 - side) for side in (0, 1))
        return principal(values, eigenvalues)


def principal(values: Array, eigenvalues: NDArray[np.float64]) -> Array:
    """Two principal directions of the leading waves of some vertices, each divided by its length. (m, c) -> (m, 2)

    Without that division the few vertices of small groups are far away, and all others in one place.
    """
    leading = np.argsort(-eigenvalues, kind="stable")[: _WAVES + 1]
    waves = values[:, leading] * np.sqrt(np.maximum(_FILTER(eigenvalues[leading]), 0))
    waves = waves / np.maximum(np.linalg.norm(waves, axis=1, keepdims=True), 1e-12)
    waves = waves - waves.mean(axis=0)
    _, turned = np.linalg.eigh((waves.T @ waves).astype(np.float64))
    two = turned[:, ::-1][:, :2]
    two = two * np.sign(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])])  # one of two signs, always the same
    return np.pad(waves @ two, ((0, 0), (0, 2 - two.shape[1])))


def _blocks(n: int, step: int = 8192) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)] or [slice(0, 0)]
