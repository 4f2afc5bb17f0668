"""Regional search on the Oxford buildings: 107 thousand regions of 5,063 photographs, 128 dimensions, 55 queries.

    python -m benchmarks.regions WORKDIR [RANK]            default: 1,000

First one table: R-match, the global manifold, five regions a photograph, all regions. Then what k, γ, rank, α, the
observation y and the pooling do, by the exact solution (relative error 1e-3), so without the effect of the rank.
Neighbour lists (k = 200), reduced regions and bases are kept in WORKDIR; the same call goes on after an interruption.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave import PAPER as SETTING
from longwave import Chebyshev, Euclidean, Index, LowPass, Power
from longwave.baselines.rmatch import rmatch_scores
from longwave.evaluation import Judgement, mean_average_precision
from longwave.graph.lists import nearest_others
from longwave.items.pooling import pooling_matrix
from longwave.pictures import reduce_regions
from longwave.rows.vectors import normalize, top_k

OXFORD = Path(__file__).parents[2] / "shared/data/oxford5k"
# y: neighbours of each region, entries kept, how the regions of a query are summed
PAPER, USUAL = (200, 50, "similarities"), (10, None, "similarities")
PRODUCTS, PAPER_PRODUCTS = (10, None, "products"), (200, 50, "products")
# k, γ -> observations and α of the exact solution
EXACT = {
    (50, 3.0): [
        (PAPER, (0.99, 0.9)), (USUAL, (0.99, 0.97, 0.9)), (PRODUCTS, (0.99, 0.97)), (PAPER_PRODUCTS, (0.99, 0.97)),
        ((5, None, "similarities"), (0.99,)), ((50, None, "similarities"), (0.99, 0.9)),
        ((50, 50, "similarities"), (0.99, 0.9)), ((50, 20, "similarities"), (0.99,)),
        ((200, 20, "products"), (0.99,)), ((200, 100, "products"), (0.99,)),
    ],
    (50, 6.0): [(USUAL, (0.99,)), (PRODUCTS, (0.99,)), (PAPER_PRODUCTS, (0.99,))],
    (30, 3.0): [(USUAL, (0.99,)), (PRODUCTS, (0.99,)), (PAPER_PRODUCTS, (0.99,))],
    (100, 3.0): [(USUAL, (0.99, 0.97)), (PRODUCTS, (0.99, 0.97)), (PAPER_PRODUCTS, (0.99, 0.97))],
    (200, 3.0): [
        (PAPER, (0.99, 0.9)), (USUAL, (0.99, 0.9)), (PRODUCTS, (0.99, 0.9)), (PAPER_PRODUCTS, (0.99, 0.9)),
        ((50, None, "similarities"), (0.9,)), ((200, None, "similarities"), (0.9,)),
    ],
}  # fmt: skip
# Those whose basis is judged too; the others have a small one that only helps the exact solution.
JUDGED = {(50, 3.0), (50, 6.0), (200, 3.0)}


def load():
    """Regions, photograph of each, query regions, query of each, judgements."""
    names = ("regions", "region_image", "region_queries", "region_query")
    vectors, image_of, queries, query_of = (np.load(OXFORD / f"{name}.npy") for name in names)
    entries = json.loads((OXFORD / "truth.json").read_text())["queries"]
    judgements = [Judgement(entry["positive"], entry["junk"]) for entry in entries]
    return normalize(vectors), image_of.astype(np.int64), normalize(queries), query_of.astype(np.int64), judgements


def kept(path, make):
    """Arrays of a file and the seconds they took, made if it is not there."""
    if not path.exists():
        start = time.perf_counter()
        arrays = make()
        np.savez(path, seconds=time.perf_counter() - start, **arrays)
    with np.load(path) as found:
        return {name: found[name] for name in found.files}


def lists_of(vectors):
    found = nearest_others(vectors, k=200)
    return {"ids": found.ids.astype(np.int32), "similarities": found.similarities}


def five_of(vectors, image_of):
    fewer, owner = reduce_regions(vectors, image_of, count=5)
    return {"vectors": fewer, "image_of": owner}


def at_rank(index, rank, alpha):
    """The filter that makes a basis one of lower rank: what is left out counts as h(0), as with the complement."""
    least = np.sort(index.spectrum.eigenvalues)[-rank]
    return lambda eigenvalues: np.where(eigenvalues >= least, LowPass(alpha)(eigenvalues), 1 - alpha)


class Table:
    """Rows of results, each printed and saved as it comes."""

    def __init__(self, judgements, rank):
        self.judgements, self.rank, self.rows = judgements, rank, []

    def add(self, name, **figures):
        self.rows.append({"name": name, **figures})
        print(json.dumps(self.rows[-1]), flush=True)
        facts = {"rank": self.rank, "rows": self.rows, "peak_gib": measure.peak_mib() / 1024}
        measure.save("regions-oxford", facts)

    def judge(self, name, index, asked, *, y=USUAL, alpha=0.99, filter=None, groups=None, tolerance=None, **facts):
        neighbors, cut, region_sum = y
        hits = index.search(
            asked, len(index), query_groups=groups, filter=filter or LowPass(alpha), neighbors=neighbors, cut=cut,
            region_sum=region_sum, tolerance=tolerance,
        )  # fmt: skip
        value = round(100 * mean_average_precision(hits.ids, self.judgements), 2)
        self.add(name, y=y, alpha=alpha, mAP=value, **facts)
        return hits


def blended(hits, rmatch, judgements, weight):
    """mAP of the manifold's scores plus R-match's, both divided by their maximum."""
    scores = np.zeros_like(rmatch)
    np.put_along_axis(scores, hits.ids, hits.scores, axis=1)
    both = scores / scores.max(axis=1, keepdims=True) + weight * rmatch / rmatch.max(axis=1, keepdims=True)
    return round(100 * mean_average_precision(top_k(both, both.shape[1])[0], judgements), 2)


def main(workdir, rank=1000):
    folder = Path(workdir)
    folder.mkdir(exist_ok=True)
    vectors, image_of, queries, query_of, judgements = load()
    table = Table(judgements, rank)

    start = time.perf_counter()
    rmatch = rmatch_scores(queries, query_of, vectors, image_of)
    seconds = time.perf_counter() - start
    value = 100 * mean_average_precision(top_k(rmatch, rmatch.shape[1])[0], judgements)
    table.add("R-match", mAP=round(value, 2), ms=1000 * seconds / len(judgements))

    asked = measure.summed(queries, query_of)
    start = time.perf_counter()
    whole = Index.build(measure.summed(vectors, image_of), spectrum=Chebyshev(rank), **SETTING)
    facts = {"k": 50, "rank": rank, "seconds": time.perf_counter() - start, "memory": whole.memory()}
    hits = whole.search(asked, len(whole), solver=Euclidean())
    table.add("global, Euclidean", mAP=round(100 * mean_average_precision(hits.ids, judgements), 2))
    for alpha in (0.99, 0.9):
        table.judge("global manifold", whole, asked, alpha=alpha, **facts)
    del whole

    five = kept(folder / "reduced.npz", lambda: five_of(vectors, image_of))
    start = time.perf_counter()
    small = Index.build(five["vectors"], groups=five["image_of"], spectrum=Chebyshev(rank), **SETTING)
    facts = {"k": 50, "rank": rank, "seconds": time.perf_counter() - start, "memory": small.memory()}
    facts |= {"vertices": len(five["vectors"]), "reduce_seconds": float(five["seconds"])}
    for y in (PAPER, USUAL, PAPER_PRODUCTS, PRODUCTS):
        for alpha in (0.99, 0.9):
            table.judge("5 a picture", small, queries, groups=query_of, y=y, alpha=alpha, **facts)
    fewer, owner = reduce_regions(queries, query_of, count=5)
    for y in (USUAL, PRODUCTS):
        table.judge("5 a picture, queries reduced too", small, fewer, groups=owner, y=y, k=50, rank=rank)
    del small

    lists = kept(folder / "lists.npz", lambda: lists_of(vectors))
    sums = pooling_matrix(vectors, image_of, pooling="sum")
    for (k, gamma), settings in EXACT.items():
        judged = (k, gamma) in JUDGED
        pair = lists["ids"][:, :k].astype(np.int64), np.ascontiguousarray(lists["similarities"][:, :k])
        start = time.perf_counter()
        index = Index.build(
            vectors, groups=image_of, lists=pair, spectrum=Chebyshev(rank if judged else 250),
            workdir=folder / f"k{k}-gamma{gamma:g}", **{**SETTING, "kernel": Power(gamma)},
        )  # fmt: skip
        facts = {"k": k, "gamma": gamma, "vertices": len(vectors), "seconds": time.perf_counter() - start}
        facts |= {"lists_seconds": float(lists["seconds"]), "memory": index.memory()}
        plain = replace(index, pooling=sums, pooled=None)._with_pooled()
        common = {"groups": query_of, "k": k, "gamma": gamma}
        if judged:
            for y in (PAPER, USUAL, PAPER_PRODUCTS, PRODUCTS):
                for alpha in (0.99, 0.9):
                    hits = table.judge(
                        "regional", index, queries, groups=query_of, y=y, alpha=alpha, rank=rank, **facts
                    )
                    if alpha == 0.99:
                        mixed = {weight: blended(hits, rmatch, judgements, weight) for weight in (0.3, 1.0)}
                        table.add("regional and R-match", y=y, alpha=alpha, k=k, gamma=gamma, mAP_of_weight=mixed)
            for lower in (100, 250, 500):
                h = at_rank(index, lower, 0.99)
                table.judge("regional", index, queries, filter=h, rank=lower, **common)
            for alpha in (0.99, 0.9):
                table.judge("regional, sum-pooling", plain, queries, alpha=alpha, rank=rank, **common)
        for y, alphas in settings:
            for alpha in alphas:
                table.judge("exact", index, queries, y=y, alpha=alpha, tolerance=1e-3, **common)
        table.judge("exact, sum-pooling", plain, queries, y=PRODUCTS, tolerance=1e-3, **common)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
