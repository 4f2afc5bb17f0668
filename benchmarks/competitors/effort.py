"""The least effort of a search that reaches a recall of 0.99 on a sample, as ours measures its own."""

import numpy as np

from longwave.graph.lists.sampled import recall, true_neighbors

TARGET = 0.99


def least_effort(search, vectors, k, efforts):
    """search: of rows and an effort, gives ids and similarities of k + 1. The last effort where none is enough."""
    sample, truth = true_neighbors(vectors, k=k)
    for effort in efforts:
        _, similarities = without_self(*search(vectors[sample], effort), sample)
        if recall(similarities, truth) >= TARGET:
            break
    return effort


def without_self(ids, similarities, rows=None):
    """Drop each row's own number, or its last entry where it is missing. (n, k + 1) -> (n, k)"""
    n, width = ids.shape
    keep = ids != (np.arange(n) if rows is None else rows)[:, None]
    keep[keep.all(axis=1), -1] = False
    return ids[keep].reshape(n, width - 1).astype(np.int64), similarities[keep].reshape(n, width - 1)
