"""Ours: the default method, reordering of the graph included."""

import os

import numpy as np

from longwave import Chebyshev
from longwave.graph.mutual import Graph
from longwave.spectrum.components import decompose_whole


def decompose(matrix, rank, method=None):
    method = method or Chebyshev(rank, tolerance=float(os.environ.get("TOLERANCE", "1e-3")))
    n = matrix.shape[0]
    # A graph of which only the matrix is known: nothing else is read.
    graph = Graph(matrix, degrees=np.ones(n), labels=np.zeros(n, dtype=np.int64), reach=np.zeros(n))
    spectrum = decompose_whole(graph, method)
    return spectrum.eigenvalues, spectrum.eigenvectors.parts[0].values
