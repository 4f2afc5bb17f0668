"""hnswlib: a graph index of the collection, then every vector searched in it."""

import hnswlib
import numpy as np


def lists(vectors, k):
    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=200, M=16, random_seed=0)
    index.add_items(vectors)
    index.set_ef(max(100, 2 * k))
    ids, distances = index.knn_query(vectors, k=k + 1)
    return _without_self(ids.astype(np.int64), 1 - distances)


def _without_self(ids, similarities):
    """Drop each row's own number, or its last entry where it is missing."""
    n, width = ids.shape
    keep = ids != np.arange(n)[:, None]
    keep[keep.all(axis=1), -1] = False
    return ids[keep].reshape(n, width - 1), similarities[keep].reshape(n, width - 1)
