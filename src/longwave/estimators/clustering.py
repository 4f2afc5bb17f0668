"""`ManifoldClustering`: clusters along the graph, and the cluster of a new row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin

from longwave.estimators.indexed import Indexed
from longwave.rows.vectors import normalize
from longwave.signals.clusters import Waves
from longwave.types import Array


@dataclass(eq=False, repr=False)
class ManifoldClustering(ClusterMixin, Indexed):  # type: ignore[misc]
    """k-means of the samples as unit rows of Φᵀ (`Index.cluster`). `labels_` has the cluster of each sample.

    n_clusters: None for as many as the graph shows. Other parameters: `Indexed`.
    """

    n_clusters: int | None = 8

    def fit(self, X: Any, y: Any = None) -> ManifoldClustering:
        """Build the graph and find the clusters. X: (n, d), or the weights of a graph (n, n)."""
        self._make_index(X)
        made = self.index_.cluster(self.n_clusters, filter=self._h, seed=self.random_state)
        self.labels_, self.cluster_centers_, self.modularity_ = made.labels, made.centers, made.modularity
        return self

    def predict(self, X: Any) -> Array:
        """The cluster whose centre is nearest to each row. (m, d) -> (m,)"""
        shares = self._shares(X)
        count = len(self.cluster_centers_)
        points = normalize(shares @ Waves(self.index_, self._h, count).points(count))
        return np.asarray((points @ self.cluster_centers_.T).argmax(axis=1))
