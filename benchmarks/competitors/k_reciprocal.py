"""Re-ranking with k-reciprocal encoding (Zhong, Zheng, Cao & Li, CVPR 2017), written from the paper's equations.

It compares all with all, queries included: an n × n matrix, and one query changes the answer to another.
"""

import numpy as np


def k_reciprocal(queries, vectors, k1=20, k2=6, weight=0.3):
    """The order of all vectors for each query, by the published parameters. (q, d), (n, d) -> (q, n)"""
    everything = np.concatenate([queries, vectors])
    distance = 2 - 2 * everything @ everything.T
    distance /= distance.max(axis=0)
    order = np.argsort(distance, axis=1)[:, : k1 + 1]
    half = [_reciprocal(order[:, : round(k1 / 2) + 1], i) for i in range(len(order))]
    encoded = np.zeros_like(distance)
    for i in range(len(order)):
        near = _reciprocal(order, i)
        wider = [near]
        for other in near:  # eq. (4): those whose own reciprocal neighbours are mostly ours
            theirs = half[other]
            if len(np.intersect1d(theirs, near)) > 2 / 3 * len(theirs):
                wider.append(theirs)
        found = np.unique(np.concatenate(wider))
        value = np.exp(-distance[i, found])
        encoded[i, found] = value / value.sum()
    encoded = np.stack([encoded[order[i, :k2]].mean(axis=0) for i in range(len(order))])  # local expansion
    count = len(queries)
    scores = np.empty((count, len(vectors)))
    for i in range(count):
        shared = np.minimum(encoded[i], encoded[count:]).sum(axis=1)
        jaccard = 1 - shared / (2 - shared)
        scores[i] = (1 - weight) * jaccard + weight * distance[i, count:]
    return np.argsort(scores, axis=1, kind="stable")


def _reciprocal(order, i):
    """Those of the nearest of i that have i among theirs."""
    return order[i][(order[order[i]] == i).any(axis=1)]
