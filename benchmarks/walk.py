"""The second search by a walk on the graph, against the whole basis, a search over it, and HNSW: one query, one thread.

    python -m benchmarks.walk [fashion | online | wide [FOLDER]]       indexes are built once and kept in FOLDER
    python -m benchmarks.walk threads [FOLDER]                         queries a second from 1, 2 and 8 threads
    python -m benchmarks.walk oxford                                   mAP with distractors, by the walk and by others

fashion: 60,000 pictures of Fashion-MNIST, 200 test pictures as queries. online: the 100,000 × 512 vectors and the 200
queries of `benchmarks.online`; wide: the same with 2,048 dimensions. `Index.build` as it is, but for the basis in
float32, so that other kinds can be made of it; at this size int8 is what a build stores. quick: `longwave.QUICK`; all
short waves: `BestFirst(local=1)`, which follows the exact solution. "Walk and solve" has all short waves, too.
Beside the second search alone, end to end: against HNSW for 10 neighbours, and for as many hits, at a recall of .98 on
these queries. threads: the throughput of 1, 2 and 8 threads on the three indexes that the others have kept.
Overlap of the first 100 with the solution of 𝓛_α x = y by conjugate gradients to 1e-5. All methods answer in turn,
several times over, so that a busy machine is busy for all: `milliseconds` and `p99` are over all answers, `quiet` is
the median over the queries of the fastest answer to each. BLAS, faiss and numba have one thread.
"""

import os
import sys
import threading
import time
import warnings
from pathlib import Path

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import measure
from benchmarks.online import collection
from longwave import PAPER, QUICK, BestFirst, Chebyshev, ConjugateGradient, Index, LowPass, Spectral
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize
from longwave.search.first import nearest_vertices
from longwave.search.queries import Queries
from longwave.solvers.graph_walk import Ground, Walking, walk

HITS, PASSES, FILTER, SPECTRAL = 100, 4, LowPass(0.99), Spectral()
# Queries whose hits are judged by their class.
JUDGED = 500
WALKS = {
    **{f"walk, spectral scores, margin {m}": Walking(margin=m, local=0) for m in (1.0, 0.8)},
    **{f"walk and solve, margin {m}": Walking(margin=m, local=1) for m in (1.0, 0.9, 0.8, 0.7, 0.6)},
    **{f"walk and solve, {n} expanded": Walking(margin=1e6, least=n / HITS, local=1) for n in (150, 300, 600)},
}


def kept(folder, name, make):
    """An index, built once."""
    if not (folder / name).exists():
        make().save(folder / name)
    return Index.load(folder / name)


def overlap(found, truth):
    return [len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, truth, strict=True)]


def interleaved(methods, count):
    """Seconds of every method for every query, (passes, queries) each, and its answers.

    In every turn each method has another query, so that none finds in the cache what the one before has read.
    """
    times, answers = {name: np.empty((PASSES, count)) for name in methods}, {name: [None] * count for name in methods}
    for function in methods.values():
        function(0)
    for turn in range(PASSES):
        for step in range(count):
            for number, (name, function) in enumerate(methods.items()):
                query = (step + 37 * number) % count
                start = time.perf_counter()
                answers[name][query] = function(query)
                times[name][turn, query] = time.perf_counter() - start
    return times, answers


def figures(seconds):
    return {
        "milliseconds": 1000 * float(np.median(seconds)),
        "p99": 1000 * float(np.quantile(seconds, 0.99)),
        "quiet": 1000 * float(np.median(seconds.min(axis=0))),
    }


def hnsw(vectors, queries, k):
    """faiss HNSW, M = 32, the effort that finds .98 of the true k, and what it finds."""
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    truth = flat.search(queries, k)[1]
    index = faiss.IndexHNSWFlat(vectors.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 100
    index.add(vectors)
    for effort in (k, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024):
        parameters = faiss.SearchParametersHNSW(efSearch=max(k, effort))
        found = index.search(queries, k, params=parameters)[1]
        recall = float(np.mean(overlap(found, truth)))
        if recall >= 0.98:
            break
    return index, max(k, effort), recall


def hnsw_search(vectors, queries, k):
    """A search of one query, and its facts."""
    index, effort, recall = hnsw(vectors, queries, k)
    parameters = faiss.SearchParametersHNSW(efSearch=effort)
    return (lambda q: index.search(q[None, :], k, params=parameters)), {"efSearch": effort, "recall": recall}


def average_precision(right):
    """AP of the first hits, of what is right among them. (q, k)"""
    found = np.cumsum(right, axis=1)
    precision = found / (1 + np.arange(right.shape[1]))
    return float(np.mean((precision * right).sum(axis=1) / np.maximum(found[:, -1], 1)))


def main(which="fashion", folder="walk-indexes"):
    warnings.simplefilter("ignore")
    folder, labels, paper = Path(folder), None, None
    folder.mkdir(exist_ok=True)
    if which == "fashion":
        data = fashion_mnist()
        vectors, queries = normalize(data.vectors[:60_000]), normalize(data.vectors[60_000:61_000])
        labels = data.labels.astype(np.int64)
        index = kept(folder, which, lambda: Index.build(vectors, store_basis="float32", progress=False))
        setting = {"progress": False, "spectrum": Chebyshev(1000), **PAPER}
        paper = kept(folder, "fashion-paper", lambda: Index.build(vectors, **setting))
        asked = queries[:200]
    else:
        vectors, asked = collection(100_000, 512 if which == "online" else 2048)
        index = kept(folder, which, lambda: Index.build(vectors, store_basis="float32", progress=False))
    add = measure.recorder(f"walk-{which}", n=len(vectors), queries=len(asked), hits=HITS, load_before=os.getloadavg())
    system, ground = index.system, Ground(index.system)
    y = index.observe(Queries.make(asked, dimension=index.dimension))
    exact = ConjugateGradient(1e-5)(system, y, FILTER).scores
    truth = np.argsort(-exact, axis=1, kind="stable")[:, :HITS]
    faiss.omp_set_num_threads(1)
    with threadpool_limits(1):
        second_searches(add, index, ground, y, truth)
        end_to_end(add, index, paper, vectors, asked)
        if labels is not None:
            judge(add, index, queries[:JUDGED], labels)
    add("load after", load=os.getloadavg())


def second_searches(add, index, ground, y, truth):
    system = index.system

    def own(query):
        span = slice(y.indptr[query], y.indptr[query + 1])
        return y.indices[span], y.data[span]

    searched = index.accelerate(first=None, second="IVF,SQfp16").system
    nothing = np.zeros(0, dtype=np.int64)

    def plan(query):
        return SPECTRAL.candidates(searched, y[[query]], FILTER, count=2 * HITS, more=nothing)

    def dense(query):
        return np.arange(len(system.gains) if system.gains is not None else y.shape[1]), SPECTRAL(
            system, y[[query]], FILTER
        ).scores[0]

    kinds = {"": ground}
    for kind in ("float16", "int8"):
        kinds[f", basis as {kind}"] = Ground(index.compress(basis=kind).system)
    methods = {"search over the basis": plan}
    for name, how in WALKS.items():
        for kind, place in kinds.items():
            if not kind or name == "walk and solve, margin 0.9":
                methods[name + kind] = lambda query, how=how, place=place: walk(
                    place, *own(query), FILTER, SPECTRAL, count=HITS, walking=how
                )
    times, answers = interleaved(
        {"dense spectral": dense}, y.shape[0]
    )  # alone: it would empty the cache for the others
    for part, more in zip((times, answers), interleaved(methods, y.shape[0]), strict=True):
        part.update(more)
    for name, found in answers.items():
        pairs = [(one.targets, one.scores) if hasattr(one, "targets") else one for one in found]
        hits = [targets[np.argsort(-scores, kind="stable")[:HITS]] for targets, scores in pairs]
        shared = overlap(hits, truth)
        counts = {
            part: float(np.mean([getattr(one, part) for one in found]))
            for part in ("seen", "expanded", "sweeps")
            if hasattr(found[0], part)
        }
        add(
            f"second search: {name}",
            overlap_with_exact=float(np.mean(shared)),
            worst=min(shared),
            **figures(times[name]),
            **counts,
        )


def end_to_end(add, index, paper, vectors, asked):
    def searching(place, k, **options):
        return lambda query: place.search(asked[query], k, **options)

    faiss.omp_set_num_threads(2)
    rivals = {count: hnsw_search(vectors, asked, count) for count in (10, HITS)}
    faiss.omp_set_num_threads(1)
    methods = {f"faiss HNSW, {k} neighbours": lambda query, f=f: f(asked[query]) for k, (f, _) in rivals.items()}
    methods["first search alone"] = lambda query: nearest_vertices(index, asked[[query]], 10)
    small = index.compress(basis="int8")
    for k in (10, HITS):
        methods[f"search, {k} hits, basis as float32"] = searching(index, k)
        for margin in (1.0, 0.9, 0.8, 0.7):
            exact = BestFirst(margin=margin, local=1)
            methods[f"search, {k} hits, basis as int8, all short waves, margin {margin}"] = searching(
                small, k, solver=exact
            )
        methods[f"search, {k} hits, basis as int8"] = searching(small, k)
        methods[f"search, {k} hits, basis as int8, quick"] = searching(small, k, solver=QUICK)
        if paper is not None:
            methods[f"search, {k} hits: the paper's setting, a search over the basis"] = searching(paper, k)
    times, answers = interleaved(methods, len(asked))
    for count, (_, facts) in rivals.items():
        add(f"HNSW, {count} neighbours", **facts)
    exact = {
        name: solve(index, asked, solver) for name, solver in (("exact", ConjugateGradient(1e-5)), ("basis", SPECTRAL))
    }
    add("dense spectral answer", overlap_with_exact=float(np.mean(overlap(exact["basis"], exact["exact"]))))
    for name in methods:
        row = figures(times[name])
        for count in rivals:
            against = figures(times[f"faiss HNSW, {count} neighbours"])
            row |= {f"{part}_times_hnsw_{count}": row[part] / against[part] for part in ("milliseconds", "quiet")}
        if name.startswith("search") and "paper" not in name:
            found = [hits.ids[0] for hits in answers[name]]
            row["overlap_with_exact"] = float(np.mean(overlap(found, exact["exact"][:, : len(found[0])])))
        add(name, **row)


def solve(index, asked, solver):
    """The first hits of the default search by another solver, for all items. (q, HITS)"""
    return np.vstack([index.search(part, HITS, solver=solver).ids for part in np.array_split(asked, 10)])


def throughput(folder="walk-indexes", rounds=7, seconds=1.0):
    """Queries in a second from several threads, in turn, and whether every answer is that of one thread."""
    folder, add = Path(folder), measure.recorder("walk-threads", hits=HITS, load_before=os.getloadavg())
    for which in ("fashion", "online", "wide"):
        index = Index.load(folder / which).compress(basis="int8")  # as a build stores it at this size
        asked = queries_of(which)
        alone = [index.search(query, HITS).ids for query in asked]
        rates, wrong = {count: [] for count in (1, 2, 8)}, dict.fromkeys((1, 2, 8), 0)
        for _ in range(rounds):
            for count in rates:
                until, done, missed = time.perf_counter() + seconds, [0] * count, [0] * count

                def work(number, until=until, done=done, missed=missed, index=index, asked=asked, alone=alone):
                    while time.perf_counter() < until:
                        query = (done[number] + 13 * number) % len(asked)
                        missed[number] += not np.array_equal(index.search(asked[query], HITS).ids, alone[query])
                        done[number] += 1

                threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                rates[count].append(sum(done) / seconds)
                wrong[count] += sum(missed)
        for count, found in rates.items():
            times = np.divide(found, rates[1])
            spread = {"times_one": float(np.median(times)), "least": times.min(), "most": times.max()}
            add(f"{which}, {count} threads", per_second=float(np.median(found)), **spread, wrong=wrong[count])


def queries_of(which):
    """The queries of a kept index."""
    if which == "fashion":
        return normalize(fashion_mnist().vectors[60_000:60_200])
    return collection(100_000, 512 if which == "online" else 2048)[1]


def judge(add, index, queries, labels):
    """Precision of the first hits by class, and AP of the first 100, of the default search."""
    asked, known = labels[60_000:][: len(queries)], labels[:60_000]

    def batched(**options):
        parts = (queries[i : i + 100] for i in range(0, len(queries), 100))
        return np.vstack([index.search(part, HITS, **options).ids for part in parts])

    def each(solver):
        return np.vstack([index.search(q, HITS, solver=solver).ids for q in queries])

    exact = batched(solver=ConjugateGradient(1e-5))
    found = {
        "exact solution": exact,
        "whole basis": batched(solver=SPECTRAL),
        "walk, spectral scores": each(BestFirst(margin=1.0, local=0)),
        "walk, half of the short waves (default)": each(BestFirst()),
        **{f"walk and solve, margin {m}": each(BestFirst(margin=m, local=1)) for m in (1.0, 0.9, 0.7)},
    }
    for name, ids in found.items():
        right = known[ids] == asked[:, None]
        add(
            f"default search, {len(queries)} queries: {name}",
            overlap_with_exact=float(np.mean(overlap(ids, exact))),
            precision={str(m): 100 * float(right[:, :m].mean()) for m in (1, 5, 20, 50, 100)},
            average_precision_of_100=100 * average_precision(right),
        )


def oxford():
    """Oxford with 9,144 distractors: mAP of all items and of the first 1,000, the default walk and the quick one.

    less_than_basis: how much lower the mAP is than that of all rows of the basis, and the interval that holds it for 95
    of 100 draws of as many queries, with replacement.
    """
    from longwave import Euclidean
    from longwave.datasets import shared
    from longwave.evaluation import average_precision

    data = shared.oxford()
    index = Index.build(np.concatenate([data.vectors, shared.oxford_distractors()]), progress=False)
    add = measure.recorder("walk-oxford", n=len(index), queries=len(data.queries))
    solvers = {"quick walk": QUICK, "basis": SPECTRAL, "exact": ConjugateGradient(1e-5)}
    draws = np.random.default_rng(0).integers(len(data.queries), size=(10000, len(data.queries)))

    def judged(solver, k):
        """The average precision of each query, in percent. (queries,)"""
        pairs = zip(data.queries, data.judgements, strict=True)
        return np.array([100 * average_precision(index.search(q, k, solver=solver).ids[0], j) for q, j in pairs])

    basis = judged(SPECTRAL, len(index))
    walks = {"walk": BestFirst(), "walk, all short waves": BestFirst(local=1)}
    for name, solver in {**walks, **solvers, "euclidean": Euclidean()}.items():
        own = judged(solver, len(index))
        less = (basis - own)[draws].mean(axis=1)
        between = np.percentile(less, [2.5, 97.5]).tolist()
        difference = {"mean": float((basis - own).mean()), "between": between}
        add(name, mAP=own.mean(), mAP_first=judged(solver, 1000).mean(), less_than_basis=difference)


if __name__ == "__main__":
    named = {"oxford": oxford, "threads": throughput}
    named[sys.argv[1]](*sys.argv[2:3]) if sys.argv[1:2] and sys.argv[1] in named else main(*sys.argv[1:3])
