"""faiss's clusters, four times the root of n of them, then every vector searched in the nearest ones."""

import faiss

from benchmarks.competitors.effort import least_effort, without_self


def lists(vectors, k):
    clusters = int(4 * len(vectors) ** 0.5)
    index = faiss.index_factory(vectors.shape[1], f"IVF{clusters},Flat", faiss.METRIC_INNER_PRODUCT)
    index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = 64, 1
    index.train(vectors)
    index.add(vectors)

    def search(rows, effort):
        index.nprobe = effort
        similarities, ids = index.search(rows, k + 1)
        return ids, similarities

    efforts = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
    return without_self(*search(vectors, least_effort(search, vectors, k, efforts)))
