"""Other questions to the same basis: labels that spread, clusters, signals that are smoothed (§9).

A signal is a number for each item. It is carried to the vertices, filtered by h(𝒲), and carried back.

Leans on `search` and everything below it.
"""

from longwave.signals.clusters import Clusters, cluster
from longwave.signals.fourier import fourier, inverse, smooth
from longwave.signals.labels import Propagated, propagate

__all__ = ["Clusters", "Propagated", "cluster", "fourier", "inverse", "propagate", "smooth"]
