"""Graphs that tests of several rooms are made of."""

import numpy as np

from longwave.graph import mutual
from longwave.graph.lists import nearest_others
from longwave.graph.weights import Power
from longwave.rows.vectors import normalize


def make(vectors, k, gamma=3.0):
    """The mutual k-NN graph of some vectors, weighted by similarity^γ."""
    v = normalize(np.asarray(vectors, dtype=np.float64))
    return mutual.build(nearest_others(v, k=max(1, min(k, len(v) - 1))), kernel=Power(gamma))
