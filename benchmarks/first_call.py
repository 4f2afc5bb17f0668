"""What a user compares on the first day: Fashion-MNIST, 60,000 pictures, 10,000 queries, nothing tuned, one run.

    python -m benchmarks.first_call [queries]

Precision of the first m hits (the share of the query's own class), mAP of the first 2,000 queries; seconds to build;
milliseconds for one query at a time, 20 hits, median of 200. Longwave's default beside the paper's setting, faiss flat
and HNSW, αQE, pynndescent.
"""

import sys
import time
import warnings

import numpy as np

from benchmarks import measure
from longwave import PAPER, Chebyshev, Euclidean, Index
from longwave.baselines import QueryExpansion
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize

CUTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
BATCH = 250
# Queries whose whole ranking is made.
RANKED = 2000


def ranked(search, queries, k):
    """Ids (q, k) of all queries, in batches."""
    return np.vstack([search(queries[i : i + BATCH], k) for i in range(0, len(queries), BATCH)])


def precisions(ids, labels, asked):
    right = labels[ids] == asked[:, None]
    return {str(m): 100 * float(right[:, :m].mean()) for m in CUTS if m <= ids.shape[1]}


def mean_ap(search, queries, labels, asked):
    """mAP by the trapezoid of the Oxford protocol, in batches: whole rankings are held for a batch only."""
    total = 0.0
    for i in range(0, len(queries), BATCH):
        right = labels[search(queries[i : i + BATCH], len(labels))] == asked[i : i + BATCH, None]
        found = np.cumsum(right, axis=1)
        row, at = np.nonzero(right)
        here = found[row, at]
        before = np.where(at > 0, (here - 1) / np.maximum(at, 1), 1.0)
        values = np.bincount(row, weights=(before + here / (at + 1)) / 2, minlength=len(right))
        total += float((values / right.sum(axis=1)).sum())
    return 100 * total / len(queries)


def main(count=10_000):
    warnings.simplefilter("ignore")
    data = fashion_mnist()
    vectors, labels = normalize(data.vectors[:60_000]), data.labels[:60_000].astype(np.int64)
    queries, asked = normalize(data.vectors[60_000:])[:count], data.labels[60_000:].astype(np.int64)[:count]
    add = measure.recorder("first-call", n=len(vectors), queries=len(queries))

    def judge(name, search, seconds, *, deepest=1000, whole=True, one=None):
        figures = precisions(ranked(search, queries, deepest), labels, asked)
        one = one or (lambda q: search(q, 20))
        add(
            name,
            precision=figures,
            mAP=mean_ap(search, queries[:RANKED], labels, asked[:RANKED]) if whole else None,
            build_seconds=seconds,
            milliseconds=measure.milliseconds(one, queries[:200]),
        )

    Index.build(vectors[:3000], progress=False).search(queries[:2], 5)  # loads compiled code outside of the times
    start = time.perf_counter()
    index = Index.build(vectors, progress=False)
    seconds = time.perf_counter() - start
    judge("Longwave", lambda q, k: index.search(q, k).ids, seconds)
    add("Longwave, how", rank=index.settings.rank, fidelity=index.settings.fidelity, memory=index.memory())
    start = time.perf_counter()
    paper = Index.build(vectors, progress=False, spectrum=Chebyshev(1000), **PAPER)
    judge("the paper's setting, rank 1,000", lambda q, k: paper.search(q, k).ids, time.perf_counter() - start)
    expansion = QueryExpansion(count=10, power=3.0)
    judge("αQE", lambda q, k: expansion(index, q, k).ids, 0.0)
    import faiss

    start = time.perf_counter()
    flat = faiss.IndexFlatIP(784)
    flat.add(vectors)
    judge(
        "faiss flat",
        lambda q, k: index.search(q, k, solver=Euclidean()).ids if k > 1000 else flat.search(q, k)[1],
        time.perf_counter() - start,
    )
    start = time.perf_counter()
    hnsw = faiss.IndexHNSWFlat(784, 32, faiss.METRIC_INNER_PRODUCT)
    hnsw.add(vectors)
    seconds = time.perf_counter() - start
    hnsw.hnsw.efSearch = 1000
    deep = {"deepest": 1000, "whole": False}

    def quick(q):
        hnsw.hnsw.efSearch = 64
        return hnsw.search(q, 20)

    judge("faiss HNSW32", lambda q, k: hnsw.search(q, k)[1], seconds, one=quick, **deep)
    from pynndescent import NNDescent

    start = time.perf_counter()
    descent = NNDescent(vectors, metric="dot", n_neighbors=30, random_state=0)
    descent.prepare()
    seconds = time.perf_counter() - start
    judge("pynndescent", lambda q, k: descent.query(q, k=k)[0], seconds, deepest=100, whole=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
