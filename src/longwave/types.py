"""The frozen values that modules hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.basis import Basis

Array: TypeAlias = NDArray[Any]
Sparse: TypeAlias = "sp.csr_array[Any, tuple[int, int]]"
#: A transfer function h, applied element by element to eigenvalues in [-1, 1].
Filter: TypeAlias = Callable[[Array], Array]
#: Told (stage, done, total) as long work goes on; a stage may carry a detail, as in "basis: round 2".
Progress: TypeAlias = Callable[[str, int, int], None]

#: What `Spectrum.kinds` says of a vertex.
IN_BASIS, ISOLATED, COPIED = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k nearest other vectors of each vector.

    ids, similarities: (n, k), best first. Where fewer than k exist, id -1 and similarity -inf.
    """

    ids: NDArray[np.int64]
    similarities: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Graph:
    """The mutual neighbour graph.

    normalized: 𝒲 = D^{-1/2} W D^{-1/2}, CSR (n, n) float32, symmetric, zero diagonal.
    degrees: (n,) the diagonal of D. labels: (n,) connected component of each vertex, 0 the largest. reach: (n,) its
    similarity to its k-th neighbour, mutual or not. scales: (n,) σ of each vertex, for a kernel that has scales.
    """

    normalized: Sparse
    degrees: NDArray[np.float64]
    labels: NDArray[np.int64]
    reach: NDArray[np.float32]
    scales: NDArray[np.float32] | None = None

    @property
    def n_vertices(self) -> int:
        """How many vertices there are."""
        return len(self.labels)

    @cached_property
    def component_sizes(self) -> NDArray[np.int64]:
        """Vertices per component, largest first."""
        return np.bincount(self.labels)

    def adjacency(self) -> Sparse:
        """W itself, from 𝒲 and D."""
        root = sp.diags_array(np.sqrt(self.degrees))
        return sp.csr_array(root @ self.normalized @ root)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A (partial) Fourier basis of a graph: A ≈ U Λ Uᵀ.

    eigenvalues: (r,). eigenvectors: Basis (n, r). residuals: (r,) ‖A u − λ u‖ of every pair.
    row_norms: (n,) η, the l2-norm of each row of U before sparsification.
    next_eigenvalue: the largest eigenvalue left out (an estimate where the method is approximate); None if none is.
    kinds: (n,) IN_BASIS; ISOLATED (its eigenpair (0, e_i) is implied); COPIED (x_i = y_i is copied).
    """

    eigenvalues: NDArray[np.float64]
    eigenvectors: Basis
    residuals: NDArray[np.float64]
    row_norms: NDArray[np.float32]
    next_eigenvalue: float | None
    kinds: NDArray[np.uint8]

    @property
    def rank(self) -> int:
        """How many eigenpairs are kept."""
        return len(self.eigenvalues)

    def truncation_bound(self, filter: Filter, *, complement: bool = False) -> float:
        """‖h(A) − U h(Λ) Uᵀ‖₂ for exact eigenpairs: what is left out (§4.3).

        For a non-decreasing, non-negative h this is |h(λ_{r+1})|. With the complement term the discarded part is
        h(0) instead of 0, and the bound is the largest |h(λ) − h(0)| left out. λ_{r+1} is `next_eigenvalue`; as
        nothing is known of the discarded eigenvalues but that they lie in [−1, λ_{r+1}], the maximum runs over 2,001
        points of that interval.
        """
        if self.next_eigenvalue is None:
            return 0.0
        left_out = np.linspace(-1.0, self.next_eigenvalue, 2001)
        replaced_by = filter(np.zeros(1))[0] if complement else 0.0
        return float(np.abs(filter(left_out) - replaced_by).max())


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
    graph can be trusted with each query (`longwave.confidence`); None for Euclidean search.
    """

    ids: Array
    scores: Array
    errors: NDArray[np.float64] | None = None
    steps: NDArray[np.int64] | None = None
    queries: NDArray[np.int64] | None = None
    confidence: NDArray[np.float32] | None = None

    def __iter__(self) -> Iterator[Array]:
        yield self.scores
        yield self.ids

    def __len__(self) -> int:
        return len(self.ids)
