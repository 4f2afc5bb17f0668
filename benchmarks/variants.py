"""Every variant and competitor on the Oxford buildings with distractors: bytes an item, mAP, milliseconds a query.

    python -m benchmarks.variants [RANK]       default: 1,000

5,063 photographs and 9,144 distractors, 55 queries, the paper's defaults (k 50, 10 neighbours, α 0.99). Times are
medians of one query at a time for 1,000 hits, y included; mAP is that of the whole ranking, or of 1,000 hits where a
method gives no more. Bytes are those of the parts that the search reads: vectors, basis, structures.
"""

import sys
import time

import faiss
import numpy as np

from benchmarks import measure
from longwave import PAPER, Chebyshev, ConjugateGradient, Euclidean, Hybrid, Index, LowPass, Precomputed
from longwave.baselines import QueryExpansion, TruncatedDiffusion
from longwave.datasets import shared
from longwave.evaluation import mean_average_precision
from longwave.rows.vectors import normalize

HITS, FILTER = 1000, LowPass(0.99)
READ = ("vectors", "basis", "pooled", "first search", "second search", "rows")


def main(rank=1000):
    faiss.omp_set_num_threads(2)
    data = shared.oxford()
    vectors = normalize(np.vstack([data.vectors, shared.oxford_distractors()]))
    queries, judgements, n = normalize(data.queries), data.judgements, len(vectors)
    lists = Index.build(vectors, spectrum=None, fast=False, **PAPER)
    index = Index.build(vectors, spectrum=Chebyshev(rank), fast=False, **PAPER)
    low = Index.build(vectors, spectrum=Chebyshev(300), fast=False, **PAPER)
    rows = {}

    def record(name, search, parts, *, hits=None, group="longwave", batch=False):
        """search(queries, k) -> ids; parts: bytes. batch: time all queries in one call, for a method that prepares."""
        count = n if hits is None else hits
        ids = search(queries, count) if hits is None else np.vstack([search(q[None, :], count) for q in queries])
        start = time.perf_counter()
        if batch:
            search(queries, HITS)
        rows[name] = {
            "group": group,
            "map": 100 * mean_average_precision(ids, judgements),
            "milliseconds": 1000 * (time.perf_counter() - start) / len(queries)
            if batch
            else measure.milliseconds(lambda q: search(q, HITS), queries),
            "bytes_per_item": parts / n,
        }
        print(f"{name:44} {rows[name]}", flush=True)

    def searched(own, **options):
        return lambda q, k: own.search(q, k, filter=FILTER, **options).ids

    def size(own, *names):
        return sum(own.memory()[name] for name in (names or READ))

    def ranked(method):
        return lambda q, k: method(index, q, k).ids

    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    record("Euclidean, faiss flat", lambda q, k: flat.search(q, k)[1], vectors.nbytes, group="Euclidean")
    hnsw = faiss.index_factory(vectors.shape[1], "HNSW32", faiss.METRIC_INNER_PRODUCT)
    hnsw.add(vectors)
    effort = faiss.SearchParametersHNSW(efSearch=HITS)
    links = 4 * hnsw.hnsw.neighbors.size()
    record(
        "Euclidean, faiss HNSW",
        lambda q, k: hnsw.search(q, k, params=effort)[1],
        vectors.nbytes + links,
        hits=HITS,
        group="Euclidean",
    )
    plain = size(index, "vectors")
    record("Euclidean, Longwave", searched(index, solver=Euclidean()), plain, group="Euclidean")
    record("AQE", ranked(QueryExpansion()), plain, group="expansion")
    record("αQE", ranked(QueryExpansion(power=3.0)), plain, group="expansion")
    graph = size(index, "vectors", "graph")
    record("CG diffusion to 1e-6", searched(index, solver=ConjugateGradient()), graph, group="diffusion")
    record("CG diffusion to 1e-3", searched(index, solver=ConjugateGradient(1e-3)), graph, group="diffusion")
    record("diffusion truncated to 1,000", ranked(TruncatedDiffusion()), graph, group="diffusion", batch=True)

    record(f"FSR, rank {rank}, float32", searched(index), size(index))
    for kind in ("float16", "int8"):
        small = index.compress(basis=kind)
        record(f"FSR, rank {rank}, basis {kind}", searched(small), size(small))
    for sparsity in (0.5, 0.8, 0.9, 0.95):
        small = Index.build(vectors, spectrum=Chebyshev(rank), sparsity=sparsity, fast=False, **PAPER)
        record(f"FSR, rank {rank}, {sparsity:.0%} sparse", searched(small), size(small))
    for kind in ("float16", "PQ64", "PQ256"):
        small = index.compress(vectors=kind)
        record(f"FSR, rank {rank}, vectors {kind}", searched(small), size(small))
    small = index.compress(basis="float16", vectors="PQ64")
    record(f"FSR, rank {rank}, basis float16, vectors PQ64", searched(small), size(small))
    fast = index.accelerate()
    record(f"FSR, rank {rank}, approximate searches", searched(fast), size(fast), hits=HITS)
    stored = fast.precompute(filter=FILTER, top=500)
    rows_only = size(stored, "vectors", "first search", "rows")
    record("precomputed rows of 500", searched(stored, solver=Precomputed()), rows_only)
    record("FSR, rank 300, float32", searched(low), size(low))
    both = size(low) + size(low, "graph")
    record("hybrid, rank 300, tolerance 1e-3", searched(low, solver=Hybrid(1e-3)), both, group="hybrid")

    exact = lists.search(queries, 100, filter=FILTER, solver=ConjugateGradient(1e-8))
    found = low.search(queries, 100, filter=FILTER, tolerance=1e-3)
    same = [set(a) == set(b) for a, b in zip(exact.ids.tolist(), found.ids.tolist(), strict=True)]
    hybrid = {"same_top_100": int(sum(same)), "of": len(same), "steps": sorted(set(found.steps.tolist()))}
    print("hybrid at rank 300, tolerance 1e-3:", hybrid)
    measure.save(f"variants-{rank}", {"n": n, "rows": rows, "hybrid": hybrid})
    draw(rows, f"variants-{rank}")


def draw(rows, name):
    """mAP against milliseconds a query; points are numbered, names beside the picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 5.5), layout="constrained")
    colours = {group: f"C{number}" for number, group in enumerate(dict.fromkeys(r["group"] for r in rows.values()))}
    for number, (label, row) in enumerate(rows.items(), 1):
        place = row["milliseconds"], row["map"]
        axes.scatter(*place, color=colours[row["group"]], s=90, zorder=3, label=f"{number}  {label}", alpha=0.85)
        axes.annotate(str(number), place, ha="center", va="center", fontsize=6, color="white", zorder=4)
    axes.set(xscale="log", xlabel="milliseconds a query, one at a time", ylabel="mAP")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=7.5, frameon=False)
    figure.savefig(measure.RESULTS / f"{name}.png", dpi=110)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
