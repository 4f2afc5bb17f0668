"""pynndescent: NN-descent, its defaults."""

import numpy as np
from pynndescent import NNDescent

from benchmarks.competitors.hnswlib_lists import _without_self


def lists(vectors, k):
    ids, distances = NNDescent(vectors, metric="dot", n_neighbors=k + 1, random_state=0).neighbor_graph
    return _without_self(ids.astype(np.int64), similarities(vectors, ids) if distances is not None else None)


def similarities(vectors, ids):
    """Its distances are a logarithm of the product; recall is judged by the products themselves."""
    return np.stack([vectors[row] @ vectors[i] for i, row in enumerate(ids)])
