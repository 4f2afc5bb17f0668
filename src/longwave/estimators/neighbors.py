"""`ManifoldNeighbors`: nearest along the graph, in the form of scikit-learn's `NearestNeighbors`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.estimators.indexed import Indexed
from longwave.types import Array, Hits


@dataclass(eq=False, repr=False)
class ManifoldNeighbors(Indexed):
    """The samples that are nearest along the manifold.

    Distances run from 0, the best hit of a query, to 1, not reached: 1 − score / best score. Other parameters:
    `Indexed`.
    """

    n_neighbors: int = 5

    def fit(self, X: Any, y: Any = None) -> ManifoldNeighbors:
        """Build the graph and its basis. X: (n, d), or the weights of a graph (n, n)."""
        check_counts(n_neighbors=self.n_neighbors)
        self._make_index(X)
        self.n_samples_fit_ = len(self.index_)
        return self

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and numbers of the nearest samples, (m, k) each; of every sample without itself where X is None."""
        check_is_fitted(self, "index_")
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_counts(n_neighbors=k)
        most = self.n_samples_fit_ - (X is None)
        if k > most:
            raise InputError(f"n_neighbors must be at most {most}, the samples there are, got {k}")
        hits = self._hits(X, k)
        best = np.maximum(hits.scores[:, :1], 1e-30)
        return (np.clip(1 - hits.scores / best, 0, 1), hits.ids) if return_distance else hits.ids

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The same as a sparse matrix (m, n): 1 for each neighbour, or its "distance"."""
        if mode not in ("connectivity", "distance"):
            raise InputError(f"mode must be 'connectivity' or 'distance', got {mode!r}")
        distances, numbers = self.kneighbors(X, n_neighbors)
        data: Array = np.ones(numbers.size) if mode == "connectivity" else distances.ravel()
        ends = np.arange(0, numbers.size + 1, numbers.shape[1])
        return sp.csr_array((data, numbers.ravel(), ends), shape=(len(numbers), self.n_samples_fit_))

    def _hits(self, X: Any, k: int) -> Hits:
        if X is not None:
            return self.index_.search(self._check_rows(X), k, filter=self._h, blend=0)
        every = self.index_.ids
        options: dict[str, Any] = {"filter": self._h, **({"blend": 0} if self.index_.has_vectors else {})}
        return self.index_.search_by_id(every, k, **options)
