"""Longwave beside what people use instead: the same vectors, queries and evaluator, published settings, nothing tuned.

    python -m benchmarks.rivals [collection ...]

Writes results/rivals.json: mAP and milliseconds a query (all queries in one batch, on one core where OMP_NUM_THREADS
is 1). `python -m handbook.comparison` makes the table of docs/compare.md from it. Qdrant needs `qdrant-edge-py`.
"""

import sys
import tempfile
import time
import warnings

import faiss
import numpy as np

from benchmarks import measure
from benchmarks.collections import load
from benchmarks.competitors.k_reciprocal import k_reciprocal
from longwave import PAPER, Index
from longwave.baselines import DatabaseAugmentation, QueryExpansion, TruncatedDiffusion
from longwave.evaluation import mean_average_precision

COLLECTIONS = ("digits", "usps", "coil20", "orl", "mpeg7", "isolet", "oxford", "cran", "nfcorpus", "hotpotqa")


def by_faiss(data):
    index = faiss.IndexFlatIP(data.vectors.shape[1])
    index.add(data.vectors)
    return lambda queries: index.search(queries, len(data.vectors))[1]


def by_qdrant(data):
    """The engine itself, in this process; every point is ranked, so its own index is not in the way."""
    import qdrant_edge as qdrant

    kept = tempfile.TemporaryDirectory()
    params = qdrant.EdgeVectorParams(size=data.vectors.shape[1], distance=qdrant.Distance.Dot)
    shard = qdrant.EdgeShard.create(kept.name, qdrant.EdgeConfig(vectors={"v": params}))
    points = [qdrant.Point(row, {"v": vector.tolist()}, {}) for row, vector in enumerate(data.vectors)]
    shard.update(qdrant.UpdateOperation.upsert_points(points))

    def search(queries, kept=kept):
        found = []
        for query in queries:
            asked = qdrant.Query.Nearest(query.tolist(), using="v")
            exact = qdrant.SearchParams(exact=True)
            hits = shard.query(qdrant.QueryRequest(query=asked, limit=len(data.vectors), params=exact))
            found.append([hit.id for hit in hits])
        return np.array(found)

    return search


def methods(data):
    """Name, and a function of the queries that ranks all items."""
    plain = Index.build(data.vectors, progress=False)
    paper = Index.build(data.vectors, progress=False, **PAPER)
    everything = len(data.vectors)
    alpha = QueryExpansion(count=10, power=3.0)
    augmented = DatabaseAugmentation.of(plain, count=10, power=3.0, expansion=alpha)

    yield "faiss, nearest neighbours", by_faiss(data)
    yield "Qdrant, nearest neighbours", by_qdrant(data)
    yield "AQE", lambda q: QueryExpansion(count=10)(plain, q, everything).ids
    yield "αQE", lambda q: alpha(plain, q, everything).ids
    yield "αQE and DBA", lambda q: augmented(plain, q, everything).ids
    yield "k-reciprocal re-ranking", lambda q: k_reciprocal(q, data.vectors)
    yield "diffusion, truncated to 1,000", lambda q: TruncatedDiffusion()(paper, q, everything).ids
    yield "the paper's setting", lambda q: paper.search(q, everything).ids
    yield "Longwave", lambda q: plain.search(q, everything).ids


def main(names):
    warnings.simplefilter("ignore")
    add = measure.recorder("rivals")
    for name in names:
        data = load(name)
        for method, search in methods(data):
            start = time.perf_counter()
            ids = search(data.queries)
            seconds = time.perf_counter() - start
            add(
                name,
                method=method,
                mAP=100 * mean_average_precision(ids, data.judgements),
                milliseconds=1000 * seconds / len(data.queries),
                n=len(data.vectors),
                queries=len(data.queries),
            )


if __name__ == "__main__":
    main(sys.argv[1:] or COLLECTIONS)
