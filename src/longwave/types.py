"""The frozen values that modules hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

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

    errors: (queries,) bound on the relative error, where the solver has one. steps: (queries,) iterations taken.
    """

    scores: Array
    errors: NDArray[np.float64] | None = None
    steps: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Hits:
    """Ranked answers: ids and scores, (queries, k), best first.

    Unpacks like faiss: ``scores, ids = hits``. errors and steps as in `Solution`. queries: (queries,) numbers of the
    queries that were answered, where some were skipped; else None. confidence: (queries,) from 0 to 1, how far the
    graph can be trusted with each query (`longwave.search.trust`); None for Euclidean search. columns: metadata that
    was asked for, by name: a list of values for each query.
    """

    ids: Array
    scores: Array
    errors: NDArray[np.float64] | None = None
    steps: NDArray[np.int64] | None = None
    queries: NDArray[np.int64] | None = None
    confidence: NDArray[np.float32] | None = None
    route: str | None = None
    columns: Mapping[str, list[list[Any]]] | None = None

    def __iter__(self) -> Iterator[Array]:
        yield self.scores
        yield self.ids

    def __len__(self) -> int:
        return len(self.ids)
