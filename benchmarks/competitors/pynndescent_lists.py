"""pynndescent: NN-descent, its defaults."""

import numpy as np
from pynndescent import NNDescent

from benchmarks.competitors.effort import without_self


def lists(vectors, k, **options):
    ids, _ = NNDescent(vectors, metric="dot", n_neighbors=k + 1, random_state=0, **options).neighbor_graph
    return without_self(ids, similarities(vectors, ids))


def similarities(vectors, ids):
    """Its distances are a logarithm of the product; recall is judged by the products themselves."""
    return np.stack([vectors[row] @ vectors[i] for i, row in enumerate(ids)])
