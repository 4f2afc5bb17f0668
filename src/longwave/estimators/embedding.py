"""`SpectralFilterEmbedding`: rows as points whose dot product is their similarity along the manifold (§5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from longwave.checks import check_counts
from longwave.estimators.indexed import Indexed
from longwave.filters import response
from longwave.types import Array


@dataclass(eq=False, repr=False)
class SpectralFilterEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Indexed):  # type: ignore[misc]
    """Φ̂(z) = h(Λ)^½ Uᵀψ(z), eqs. (11) and (12), on the longest waves: samples and new rows alike.

    n_components: waves that are kept, those of the largest gain; fewer where the graph has fewer. Other parameters:
    `Indexed`.
    """

    n_components: int = 32

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # points are float32
        return tags

    def fit(self, X: Any, y: Any = None) -> SpectralFilterEmbedding:
        """Build the graph and its basis. X: (n, d), or the weights of a graph (n, n)."""
        check_counts(n_components=self.n_components)
        self._make_index(X)
        spectrum = self.index_.system.require_spectrum("embedding")
        order = np.argsort(-response(self._h, spectrum.eigenvalues), kind="stable")
        self.waves_ = np.sort(order[: self.n_components])
        self._n_features_out = len(self.waves_)
        return self

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Array:
        """The points of the samples. (n, n_components)"""
        self.fit(X, y)
        if self.metric == "precomputed":
            return self.index_.embedding(filter=self._h)[:, self.waves_]
        return self.transform(X)

    def transform(self, X: Any) -> Array:
        """The points of rows: means of those of the samples around them. (m, d) -> (m, n_components)"""
        shares = self._shares(X)
        return np.asarray(shares @ self.index_.embedding(filter=self._h)[:, self.waves_])
