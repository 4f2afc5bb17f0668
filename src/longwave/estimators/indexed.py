"""What the estimators share: rows to an index, and rows that come later as combinations of its vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from longwave.building import growth
from longwave.errors import InputError
from longwave.filters import LowPass
from longwave.index import Index
from longwave.rows.vectors import normalize
from longwave.types import Array, Filter, Sparse

METRICS = ("euclidean", "cosine", "precomputed")
# The added coordinate in units of the typical distance from the mean: directions then differ as places do.
_LIFT = 2.0


@dataclass(kw_only=True, eq=False, repr=False)
class Indexed(BaseEstimator):  # type: ignore[misc]
    """An estimator with an index of what it was fitted to, `index_`, and the parameters that all of them share.

    graph_neighbors: neighbours of each sample in the graph. alpha: how far waves reach, `LowPass(alpha)`. filter: any
    other h. metric: "euclidean", "cosine", or "precomputed", where X is a symmetric sparse matrix of the weights of
    edges. rank: size of the basis; None for what the graph needs. random_state: seed of the basis.
    """

    graph_neighbors: int = 50
    alpha: float = 0.99
    filter: Filter | None = None
    metric: str = "euclidean"
    rank: int | None = None
    random_state: int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self.metric == "precomputed"
        return tags

    @property
    def _h(self) -> Filter:
        return LowPass(self.alpha) if self.filter is None else self.filter

    def _make_index(self, X: Any, **checks: Any) -> Any:
        """Check X and build `index_`. Returns y where it is among the checks."""
        if self.metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        alone = self.metric == "precomputed"
        form: dict[str, Any] = {"accept_sparse": "csr" if alone else False, "dtype": np.float64}
        made = validate_data(self, X, ensure_min_samples=2, **form, **checks)
        rows, y = made if isinstance(made, tuple) else (made, None)
        from longwave.spectrum import Advised, Chebyshev

        options: dict[str, Any] = {
            "spectrum": Advised() if self.rank is None else Chebyshev(self.rank),
            "seed": self.random_state,
            "filter": LowPass(0.99),
            "progress": False,
        }
        if alone:
            self.index_ = Index.build(graph=sp.csr_array(rows), **options)
        else:
            self.center_ = rows.mean(axis=0) if self.metric == "euclidean" else np.zeros(rows.shape[1])
            self.spread_ = float(np.sqrt(((rows - self.center_) ** 2).sum(axis=1).mean())) or 1.0
            lifted = self._lifted(rows)
            self.index_ = Index.build(lifted, k=self.graph_neighbors, merge_copies=False, **options)
        return y

    def _lifted(self, rows: Array) -> NDArray[np.float32]:
        """Rows as directions. Euclidean: around their mean, with a coordinate more: places become directions."""
        if self.metric == "cosine":
            return normalize(rows)
        moved = (rows - self.center_) / self.spread_
        return normalize(np.hstack([moved, np.full((len(rows), 1), _LIFT)]))

    def _check_rows(self, X: Any) -> NDArray[np.float32]:
        """Rows that came later, as the index has them."""
        check_is_fitted(self, "index_")
        if self.metric == "precomputed":
            raise InputError(
                f"{type(self).__name__} was fitted to a graph, where new rows have no place; use what fit has found"
            )
        return self._lifted(validate_data(self, X, reset=False, dtype=np.float64))

    def _shares(self, X: Any) -> Sparse:
        """New rows as means of vertices. CSR (m, n)"""
        rows = self._check_rows(X)
        count = min(2 * self.index_.settings.search.neighbors, len(self.index_))
        return growth.coordinates_of(self.index_, rows, count, normalized=True)
