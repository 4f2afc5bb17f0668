"""Regional search on the Oxford buildings: 107 thousand regions of 5,063 photographs, 128 dimensions, 55 queries.

    python -m benchmarks.regions WORKDIR [RANK]            default: 1,000

What k, rank, α, the observation y and the pooling do, beside R-match and the global manifold, with the regions as they
are and reduced to five per photograph. Neighbour lists (k = 200) and reduced regions are kept in WORKDIR.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave import Chebyshev, Euclidean, Index, LowPass
from longwave.descriptors import reduce_regions
from longwave.evaluation import Judgement, mean_average_precision
from longwave.neighbors import nearest_others
from longwave.observation import Queries
from longwave.pooling import pooling_matrix
from longwave.rmatch import rmatch_scores
from longwave.solvers import Spectral
from longwave.vectors import normalize, top_k

OXFORD = Path(__file__).parents[2] / "shared/data/oxford5k"
# neighbors, cut, region_sum: the paper's y, the library's default, and sums of products as in the published scripts
OBSERVATIONS = {
    "200 each, 50 kept": (200, 50, "similarities"),
    "10 each": (10, None, "similarities"),
    "200 each, 50 kept, products": (200, 50, "products"),
    "10 each, products": (10, None, "products"),
}


def load():
    """Regions, photograph of each, query regions, query of each, judgements."""
    names = ("regions", "region_image", "region_queries", "region_query")
    vectors, image_of, queries, query_of = (np.load(OXFORD / f"{name}.npy") for name in names)
    entries = json.loads((OXFORD / "truth.json").read_text())["queries"]
    judgements = [Judgement(entry["positive"], entry["junk"]) for entry in entries]
    return normalize(vectors), image_of.astype(np.int64), normalize(queries), query_of.astype(np.int64), judgements


def kept(path, make):
    """Arrays of a file, made if it is not there."""
    if not path.exists():
        start = time.perf_counter()
        arrays = make()
        np.savez(path, seconds=time.perf_counter() - start, **arrays)
    with np.load(path) as found:
        return {name: found[name] for name in found.files}


def lists_of(path, vectors):
    def make():
        found = nearest_others(vectors, k=200)
        return {"ids": found.ids.astype(np.int32), "similarities": found.similarities}

    return kept(path, make)


def reduced(path, vectors, image_of):
    def make():
        fewer, owner = reduce_regions(vectors, image_of, count=5)
        return {"vectors": fewer, "image_of": owner}

    return kept(path, make)


def at_rank(index, rank, alpha):
    """The filter that makes a basis one of lower rank: what is left out counts as h(0), as with the complement."""
    least = np.sort(index.spectrum.eigenvalues)[-rank]
    return lambda eigenvalues: np.where(eigenvalues >= least, LowPass(alpha)(eigenvalues), 1 - alpha)


def online(index, queries, query_of, observation, repeats=5):
    """Median milliseconds a query, one at a time, from y to the scores of all photographs."""
    neighbors, cut, region_sum = OBSERVATIONS[observation]
    asked = Queries.make(queries, dimension=index.dimension, groups=query_of)
    y = index.observe(asked, neighbors=neighbors, cut=cut, region_sum=region_sum)
    solver, times = Spectral(), []
    for _ in range(repeats):
        for q in range(y.shape[0]):
            row = y[[q]]
            start = time.perf_counter()
            solver(index.system, row, LowPass(0.99))
            times.append(1000 * (time.perf_counter() - start))
    return float(np.median(times))


def main(workdir, rank=1000):
    folder = Path(workdir)
    folder.mkdir(exist_ok=True)
    vectors, image_of, queries, query_of, judgements = load()
    n_images = int(image_of.max()) + 1
    rows = []

    def add(name, **figures):
        rows.append({"name": name, **figures})
        print(json.dumps(rows[-1]), flush=True)
        measure.save("regions-oxford", {"rank": rank, "rows": rows, "peak_gib": measure.peak_mib() / 1024})

    def judge(index, name, observations, alphas, query_vectors, groups, **more):
        for observation in observations:
            neighbors, cut, region_sum = OBSERVATIONS[observation]
            for alpha in alphas:
                hits = index.search(
                    query_vectors, len(index), query_groups=groups, filter=alpha if callable(alpha) else LowPass(alpha),
                    neighbors=neighbors, cut=cut, region_sum=region_sum,
                )  # fmt: skip
                value = 100 * mean_average_precision(hits.ids, judgements)
                add(
                    name, observation=observation, alpha=0.99 if callable(alpha) else alpha, mAP=round(value, 2), **more
                )

    start = time.perf_counter()
    scores = rmatch_scores(queries, query_of, vectors, image_of)
    seconds = time.perf_counter() - start
    best, _ = top_k(scores, n_images)
    add("R-match", mAP=round(100 * mean_average_precision(best, judgements), 2), ms=1000 * seconds / len(judgements))

    summed = np.zeros((n_images, vectors.shape[1]), dtype=np.float32)
    np.add.at(summed, image_of, vectors)
    asked = np.zeros((len(judgements), vectors.shape[1]), dtype=np.float32)
    np.add.at(asked, query_of, queries)
    start = time.perf_counter()
    whole = Index.build(summed, spectrum=Chebyshev(rank))
    seconds = time.perf_counter() - start
    hits = whole.search(asked, n_images, solver=Euclidean())
    add("global, Euclidean", mAP=round(100 * mean_average_precision(hits.ids, judgements), 2))
    judge(whole, "global manifold", ["10 each"], (0.99, 0.9), asked, None, k=50, seconds=seconds)
    numbers = np.arange(len(asked))
    add("global manifold, online", ms=online(whole, asked, numbers, "10 each"), memory=whole.memory())

    five = reduced(folder / "reduced.npz", vectors, image_of)
    start = time.perf_counter()
    small = Index.build(five["vectors"], groups=five["image_of"], k=50, spectrum=Chebyshev(rank))
    seconds = time.perf_counter() - start
    facts = {"k": 50, "vertices": len(five["vectors"]), "seconds": seconds, "reduce_seconds": float(five["seconds"])}
    judge(small, "regional manifold, 5 a picture", OBSERVATIONS, (0.99, 0.9), queries, query_of, **facts)
    fewer, owner = reduce_regions(queries, query_of, count=5)
    judge(small, "the same, queries reduced too", ["10 each", "10 each, products"], (0.99,), fewer, owner, k=50)
    add("regional manifold, 5 a picture, online", ms=online(small, queries, query_of, "10 each"), memory=small.memory())
    del small

    summing = pooling_matrix(vectors, image_of, pooling="sum")
    lists = lists_of(folder / "lists.npz", vectors)
    for k in (50, 200):
        pair = lists["ids"][:, :k].astype(np.int64), np.ascontiguousarray(lists["similarities"][:, :k])
        start = time.perf_counter()
        index = Index.build(vectors, groups=image_of, lists=pair, spectrum=Chebyshev(rank), workdir=folder / f"k{k}")
        seconds = time.perf_counter() - start
        facts = {"k": k, "vertices": len(vectors), "seconds": seconds, "lists_seconds": float(lists.get("seconds", 0))}
        judge(index, "regional manifold", OBSERVATIONS, (0.99, 0.9), queries, query_of, rank=rank, **facts)
        for observation in ("10 each", "200 each, 50 kept"):
            add("regional manifold, online", k=k, observation=observation, memory=index.memory(),
                ms=online(index, queries, query_of, observation))  # fmt: skip
        for lower in (100, 250, 500):
            if lower < rank:
                h = at_rank(index, lower, 0.99)
                judge(index, "regional manifold", ["10 each"], (h,), queries, query_of, k=k, rank=lower)
        plain = replace(index, pooling=summing, pooled=None)._with_pooled()
        judge(plain, "regional manifold, sum", ["10 each"], (0.99, 0.9), queries, query_of, k=k, rank=rank)
        add("global manifold, online again", k=k, ms=online(whole, asked, numbers, "10 each"))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
