"""Fruits on a turntable: 179,579 pictures of 259 kinds, 500 held out, the default beside faiss.

    python -m benchmarks.fruits

mAP of the whole ranking for Longwave and for a flat scan, of the first 20,000 hits for HNSW too; build and query times
in the same run. Warnings of the build are kept: a new user would see them.
"""

import time
import warnings

import numpy as np

from benchmarks import measure
from longwave import QUICK, Euclidean, Index, Spectral
from longwave.datasets import shared
from longwave.evaluation import label_judgements, mean_average_precision

FIRST = 20_000


def load():
    folder = shared.data_folder() / "fruits360"
    vectors, labels = np.load(folder / "vectors.npy").astype(np.float32), np.load(folder / "labels.npy")
    asked = np.sort(np.random.default_rng(0).choice(len(vectors), 500, replace=False))
    kept = np.setdiff1d(np.arange(len(vectors)), asked)
    return vectors[kept], vectors[asked], label_judgements(labels[asked], labels[kept], np.arange(len(kept)))


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def per_query(search, queries, repeats=200):
    search(queries[:1])
    times = [timed(lambda q=q: search(queries[q : q + 1]))[1] for q in range(repeats)]
    return {"median_ms": 1e3 * float(np.median(times)), "p99_ms": 1e3 * float(np.quantile(times, 0.99))}


def main():
    import faiss

    vectors, queries, judgements = load()

    def judged(search):
        ids = np.vstack([search(queries[start : start + 50]) for start in range(0, len(queries), 50)])
        return 100 * mean_average_precision(ids, judgements)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        index, seconds = timed(lambda: Index.build(vectors, progress=False))
    hnsw = faiss.IndexHNSWFlat(vectors.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    _, hnsw_seconds = timed(lambda: hnsw.add(vectors))
    hnsw.hnsw.efSearch = 64
    faiss.omp_set_num_threads(1)
    rows = {
        "longwave": {
            "mAP": judged(lambda q: index.search(q, len(index)).ids),
            "mAP_first": judged(lambda q: index.search(q, FIRST).ids),
            "build_seconds": seconds,
            **per_query(lambda q: index.search(q, 100), queries),
        },
        "longwave, quick": {
            "mAP": judged(lambda q: index.search(q, len(index), solver=QUICK).ids),
            **per_query(lambda q: index.search(q, 100, solver=QUICK), queries),
        },
        "longwave, basis alone": {"mAP": judged(lambda q: index.search(q, len(index), solver=Spectral()).ids)},
        "euclidean": {
            "mAP": judged(lambda q: index.search(q, len(index), solver=Euclidean()).ids),
            "mAP_first": judged(lambda q: index.search(q, FIRST, solver=Euclidean()).ids),
        },
        "hnsw": {"build_seconds": hnsw_seconds, **per_query(lambda q: hnsw.search(q, 100), queries)},
    }
    hnsw.hnsw.efSearch = FIRST
    rows["hnsw"]["mAP_first"] = judged(lambda q: hnsw.search(q, FIRST)[1])
    sizes = index.graph.component_sizes
    facts = {
        "settings": str(index.settings),
        "components": len(sizes),
        "largest": sizes[:5].tolist(),
        "rank": index.spectrum.rank,
        "largest_residual": float(index.spectrum.residuals.max()),
        "warnings": [str(w.message) for w in told],
    }
    print(rows, facts)
    measure.save("fruits", {"rows": rows, **facts})


if __name__ == "__main__":
    main()
