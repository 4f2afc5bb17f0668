"""scikit-learn estimators over an index: neighbours, an embedding, labels, clusters.

They take rows of numbers, or with ``metric="precomputed"`` a graph, and work in `Pipeline` and `GridSearchCV`.
scikit-learn is imported here and nowhere above.

Leans on `index`.
"""

from longwave.estimators.clustering import ManifoldClustering
from longwave.estimators.embedding import SpectralFilterEmbedding
from longwave.estimators.neighbors import ManifoldNeighbors
from longwave.estimators.spreading import FilteredLabelSpreading

__all__ = ["FilteredLabelSpreading", "ManifoldClustering", "ManifoldNeighbors", "SpectralFilterEmbedding"]
