"""faiss's HNSW: a graph index of the collection, then every vector searched in it."""

import faiss

from benchmarks.competitors.effort import least_effort, without_self


def lists(vectors, k):
    index = faiss.IndexHNSWFlat(vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 200
    index.add(vectors)

    def search(rows, effort):
        index.hnsw.efSearch = effort
        similarities, ids = index.search(rows, k + 1)
        return ids, similarities

    return without_self(*search(vectors, least_effort(search, vectors, k, [(k + 1) << step for step in range(5)])))
