"""One query at a time at n = 100,000: end-to-end manifold search against exact and approximate Euclidean search.

    python -m benchmarks.online [DIMENSIONS [N [RANK]]]       default: 512, 100,000 and 1,000

The vectors are those of `benchmarks.regional`, shuffled; for more than 512 dimensions they are turned into a random
subspace, with noise of a hundredth of the length. Queries are vectors of the collection with noise of a tenth. Times
are medians over the queries, two threads, everything in one process and one run. faiss's flat scan uses one thread for
one query; Longwave's own Euclidean search, which uses two, stands beside it.
"""

import os
import sys
import time
from dataclasses import asdict

import faiss
import numpy as np
import scipy.sparse as sp

from benchmarks import measure
from benchmarks.regional import DIMENSIONS, enlarged
from longwave import PAPER, Chebyshev, ConjugateGradient, Euclidean, Index, LowPass, Precomputed, Spectral
from longwave.rows.vectors import normalize, top_k
from longwave.search.queries import Queries

ALPHA, QUERIES, HITS = 0.99, 200, 100


def collection(n, dimensions, seed=0):
    rng = np.random.default_rng(seed)
    vectors = enlarged()[rng.permutation(570_000)[:n]]
    if dimensions > DIMENSIONS:
        turn, _ = np.linalg.qr(rng.standard_normal((dimensions, DIMENSIONS)))
        vectors = vectors @ turn.T.astype(np.float32)
        vectors += rng.standard_normal(vectors.shape, dtype=np.float32) * (0.01 / np.sqrt(dimensions))
    vectors = normalize(vectors)
    chosen = vectors[rng.choice(n, QUERIES, replace=False)]
    noise = rng.standard_normal(chosen.shape, dtype=np.float32) * (0.1 / np.sqrt(dimensions))
    return vectors, normalize(chosen + noise)


def overlap(ids, truth):
    return float(np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(ids, truth, strict=True)]))


def conjugate_gradient(laplacian, alpha, y, steps=20):
    """The method that the paper replaced: scipy's CG on the whole graph, a fixed number of steps."""
    from scipy.sparse.linalg import cg

    x, _ = cg(laplacian, y, maxiter=steps, rtol=0)
    return (1 - alpha) * x


def main(dimensions=512, n=100_000, rank=1000):
    faiss.omp_set_num_threads(2)
    filter, rows, facts = LowPass(ALPHA), {}, {"load_before": os.getloadavg()}
    vectors, queries = collection(n, dimensions)

    def clock(name, function):
        start = time.perf_counter()
        result = function()
        facts[name] = round(time.perf_counter() - start, 1)
        print(f"{name}: {facts[name]} s", flush=True)
        return result

    # The plan is the index's own: at this size it adds approximate searches by itself.
    fast = clock("build", lambda: Index.build(vectors, spectrum=Chebyshev(rank), progress=False, **PAPER))
    exact = fast.accelerate(first=None, second=None)
    stored = clock("precompute", lambda: fast.precompute(filter=filter, top=500))
    kinds = {kind: exact.compress(basis=kind) for kind in ("float16", "int8")}
    flat = faiss.IndexFlatIP(dimensions)
    flat.add(vectors)
    neighbours = flat.search(queries, 10)[1]
    truth = exact.search(queries, HITS, filter=filter).ids  # the exact spectral ranking

    def record(name, function, answer=None):
        row = rows[name] = {"milliseconds": measure.milliseconds(function, queries)}
        if answer is not None:
            row["overlap"] = overlap(answer, truth)
        row["times_flat"] = row["milliseconds"] / rows["faiss flat"]["milliseconds"]
        shown = f"{row['milliseconds']:9.3f} ms  ×{row['times_flat']:7.3f}  {row.get('overlap', '')}"
        print(f"{name:36} {shown}", flush=True)

    def each(searched, **options):
        return np.vstack([searched.search(q, HITS, filter=filter, **options).ids for q in queries])

    record("faiss flat", lambda q: flat.search(q, HITS))
    record("longwave, Euclidean", lambda q: exact.search(q, HITS, solver=Euclidean()))
    record("longwave, its own plan", lambda q: fast.search(q, HITS, filter=filter), each(fast))
    precomputed = {"solver": Precomputed()}
    record(
        "longwave, precomputed rows",
        lambda q: stored.search(q, HITS, filter=filter, **precomputed),
        each(stored, **precomputed),
    )
    record("longwave, exact dense", lambda q: exact.search(q, HITS, filter=filter), each(exact))
    for kind, index in kinds.items():
        record(f"longwave, basis as {kind}", lambda q, i=index: i.search(q, HITS, filter=filter), each(index))
    hnsw = faiss.index_factory(dimensions, "HNSW32", faiss.METRIC_INNER_PRODUCT)
    hnsw.hnsw.efConstruction = 100
    clock("faiss HNSW32", lambda: hnsw.add(vectors))
    for effort in (10, 16, 24, 32, 48, 64, 128, 256):
        parameters = faiss.SearchParametersHNSW(efSearch=effort)
        found = hnsw.search(queries, 10, params=parameters)[1]
        if overlap(found, neighbours) >= 0.98:
            break
    facts["hnsw"] = {"efSearch": effort, "recall": overlap(found, neighbours)}
    record("faiss HNSW, nearest neighbours", lambda q: hnsw.search(q, 10, params=parameters))
    read = np.concatenate([part.values for part in exact.system.pooled_basis.parts[:1]])
    rows["reading the largest part of the basis once"] = {"milliseconds": memory_speed(read)}
    rows["reading the vectors once"] = {"milliseconds": memory_speed(vectors)}
    own_cg = ConjugateGradient(0.0, max_steps=20)
    laplacian = sp.csr_array(sp.eye_array(n) - ALPHA * exact.graph.normalized.astype(np.float64))
    asked = [index_y(exact, q) for q in queries]
    none = np.zeros(0, dtype=np.int64)

    def candidates(index, solver):
        return lambda y: solver.candidates(index.system, y, filter, count=2 * HITS, more=none)

    second = {
        "second search alone, its own plan": candidates(fast, Spectral()),
        "second search alone, precomputed": candidates(stored, Precomputed()),
        "second search alone, exact dense": lambda y: top_k(Spectral()(exact.system, y, filter).scores, HITS),
        "CG diffusion, 20 steps, Longwave's own, two threads": lambda y: own_cg(exact.system, y, filter),
        "CG diffusion, 20 steps, scipy": lambda y: conjugate_gradient(laplacian, ALPHA, y.toarray()[0]),
    }
    for name, function in second.items():
        times = []
        for a in asked[: 20 if name.startswith("CG") else None]:
            start = time.perf_counter()
            function(a)
            times.append(1000 * (time.perf_counter() - start))
        rows[name] = {"milliseconds": float(np.median(times))}
        print(f"{name:36} {rows[name]['milliseconds']:9.3f} ms", flush=True)

    batch = np.tile(queries, (5, 1))
    exact.search(batch, HITS, filter=filter)
    start = time.perf_counter()
    exact.search(batch, HITS, filter=filter)
    facts["batch_milliseconds_per_query"] = 1000 * (time.perf_counter() - start) / len(batch)
    print(f"batch of {len(batch)}: {facts['batch_milliseconds_per_query']:.3f} ms a query")
    facts["plan"] = asdict(fast.settings.plan)
    facts["memory"] = {
        "own plan": fast.memory(),
        "precomputed": stored.memory(),
        **{kind: index.memory() for kind, index in kinds.items()},
    }
    facts["components"] = exact.graph.component_sizes[:5].tolist()
    facts |= {"vectors": vectors.shape, "rank": exact.spectrum.rank, "load_after": os.getloadavg()}
    measure.save(f"online-{n}-{dimensions}", {**facts, "rows": rows})


def index_y(index, query):
    return index.observe(Queries.make(query, dimension=index.dimension))


def memory_speed(array):
    """Milliseconds to read an array once: its maximum, by two threads, the best of five."""
    from concurrent.futures import ThreadPoolExecutor

    halves = np.array_split(array.reshape(-1), 2)
    times = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(np.max, halves))
            times.append(1000 * (time.perf_counter() - start))
    return min(times)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
