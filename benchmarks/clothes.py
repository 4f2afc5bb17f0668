"""Fashion-MNIST as a user would compare: precision of the first 20 hits by class, and the time of one query.

    python -m benchmarks.clothes

70,000 pictures, 500 of them held out as queries, one query at a time, one thread for every method. faiss flat and HNSW
(at a recall of .98), pynndescent as it comes, αQE (10 neighbours, power 3, two flat searches), the default of Longwave
and `QUICK`. All methods take turns; milliseconds are the median over the queries of the fastest of three answers.
"""

import time
import warnings

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import measure
from benchmarks.walk import figures, hnsw_search, interleaved
from longwave import QUICK, Index
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize

HITS = 20


def methods(vectors, queries, add):
    """Name, and a function from the number of a query to the rows it finds."""

    def timed(name, work):
        start, used = time.perf_counter(), time.process_time()
        made = work()
        add(f"build: {name}", seconds=time.perf_counter() - start, processor_seconds=time.process_time() - used)
        return made

    index = timed("Longwave", lambda: Index.build(vectors, progress=False))
    flat = faiss.IndexFlatIP(vectors.shape[1])
    timed("faiss flat", lambda: flat.add(vectors))
    hnsw, facts = timed("faiss HNSW", lambda: hnsw_search(vectors, queries, HITS))
    add("faiss HNSW", **facts)
    from pynndescent import NNDescent

    def descent():
        made = NNDescent(vectors, metric="cosine", n_neighbors=30)
        made.prepare()
        made.query(queries[:1], k=HITS)
        return made

    found = timed("pynndescent", descent)

    def expanded(query):
        similar, near = flat.search(query[None, :], 10)
        total = query + (similar[0][:, None] ** 3 * vectors[near[0]]).sum(axis=0)
        return flat.search(normalize(total[None, :]), HITS)[1][0]

    return {
        "faiss flat": lambda q: flat.search(queries[[q]], HITS)[1][0],
        "faiss HNSW": lambda q: hnsw(queries[q])[1][0],
        "pynndescent": lambda q: found.query(queries[[q]], k=HITS)[0][0],
        "αQE, two flat searches": lambda q: expanded(queries[q]),
        "Longwave": lambda q: index.search(queries[q], HITS).ids[0],
        "Longwave, QUICK": lambda q: index.search(queries[q], HITS, solver=QUICK).ids[0],
    }


def main():
    warnings.simplefilter("ignore")
    data = fashion_mnist()
    order = np.random.default_rng(0).permutation(len(data.vectors))
    asked, kept = np.sort(order[:500]), np.sort(order[500:])
    vectors, queries, labels = normalize(data.vectors[kept]), normalize(data.vectors[asked]), data.labels
    add = measure.recorder("clothes", n=len(kept), queries=len(asked), hits=HITS)
    known = methods(vectors, queries, add)
    faiss.omp_set_num_threads(1)
    with threadpool_limits(1):
        times, answers = interleaved(known, len(asked))
    for name in known:
        right = labels[kept][np.vstack(answers[name])] == labels[asked][:, None]
        add(name, precision=100 * float(right.mean()), first=100 * float(right[:, 0].mean()), **figures(times[name]))


if __name__ == "__main__":
    main()
