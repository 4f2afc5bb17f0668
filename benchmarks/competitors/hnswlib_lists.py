"""hnswlib: a graph index of the collection, then every vector searched in it."""

import hnswlib

from benchmarks.competitors.effort import least_effort, without_self


def lists(vectors, k):
    index = hnswlib.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=200, M=16, random_seed=0)
    index.add_items(vectors)

    def search(rows, effort):
        index.set_ef(effort)
        ids, distances = index.knn_query(rows, k=k + 1)
        return ids, 1 - distances

    return without_self(*search(vectors, least_effort(search, vectors, k, [(k + 1) << step for step in range(5)])))
