"""The values that modules hand to each other: arrays, filters, neighbours, solutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.hits import Hits as Hits

Array: TypeAlias = NDArray[Any]
Sparse: TypeAlias = "sp.csr_array[Any, tuple[int, int]]"
#: A transfer function h, applied element by element to eigenvalues in [-1, 1].
Filter: TypeAlias = Callable[[Array], Array]
#: Told (stage, done, total) as long work goes on; a stage may carry a detail, as in "basis: round 2".
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k nearest other vectors of each vector.

    ids, similarities: (n, k), best first. Where fewer than k exist, id -1 and similarity -inf.
    """

    ids: NDArray[np.int64]
    similarities: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver answers: item scores (queries, N), and how it got there.

    errors: (queries,) bound on the relative error, where the solver has one. steps: (queries,) steps that it took.
    """

    scores: Array
    errors: NDArray[np.float64] | None = None
    steps: NDArray[np.int64] | None = None


class Checkpoint(Protocol):
    """Where rounds of a long computation are kept (`storage.checkpoints`)."""

    def at(self, name: str) -> Checkpoint:
        """A checkpoint of its own for a part of the work."""

    def latest(self, name: str) -> tuple[int, Mapping[str, Array]] | None:
        """The last round that was kept, and its arrays."""

    def save_round(self, name: str, number: int, arrays: Mapping[str, Array]) -> None:
        """Keep a round instead of the one before it."""
