"""Searches among some of the items, and with items removed or added: one query, one thread.

    python -m benchmarks.conditions [FOLDER]       the index is built once and kept in FOLDER

60,000 pictures of Fashion-MNIST, `Index.build` as it is, 100 test pictures as queries, 10 hits. Conditions: a share of
the items at random; those of one class, whatever the class of the query; a few. Then the same index with items that
were removed, and with test pictures that were added. Beside each: the overlap with the exact solution (conjugate
gradients to 1e-4, all items scored, then cut), faiss's HNSW with the same condition and the effort that finds .98 of 10
neighbours without one, in turn with ours (`benchmarks.walk`); and a product with the vectors of all that are allowed.
"""

import sys
import warnings
from pathlib import Path

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import measure
from benchmarks.walk import figures, hnsw, interleaved, kept, overlap
from longwave import ConjugateGradient, Index
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize

HITS, QUERIES, INSIDE = 10, 100, 60_000


def scanned(vectors, mask):
    """The nearest of those allowed, by products with all of them."""
    rows = np.ascontiguousarray(vectors[mask])
    return lambda query: np.argpartition(-(rows @ query), min(HITS, len(rows)) - 1)[:HITS]


def compared(add, state, index, rivals, queries, mask=None):
    where = {} if mask is None else {"where": mask}
    methods = {"longwave": lambda q: index.search(queries[q], HITS, **where).ids[0]}
    methods |= {name: lambda q, own=own: own(queries[q]) for name, own in rivals.items()}
    scan = methods.pop("product", None)  # apart: it leaves nothing of the others in the cache
    exact = index.search(queries, HITS, solver=ConjugateGradient(1e-4), **where).ids
    with threadpool_limits(1):
        faiss.omp_set_num_threads(1)
        times, answers = interleaved(methods, len(queries))
        if scan is not None:
            times |= interleaved({"product": scan}, len(queries))[0]
        faiss.omp_set_num_threads(2)
    shared = overlap(answers["longwave"], exact)
    told = {name: figures(seconds) for name, seconds in times.items()}
    allowed = len(index) if mask is None else int(mask.sum())
    add(state, allowed=allowed, overlap=float(np.mean(shared)), worst=float(np.min(shared)), **told)


def main(folder="walk-indexes"):
    warnings.simplefilter("ignore")
    data, folder, rng = fashion_mnist(), Path(folder), np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    vectors, queries = normalize(data.vectors[:INSIDE]), normalize(data.vectors[INSIDE : INSIDE + QUERIES])
    index = kept(folder, "fashion-default", lambda: Index.build(vectors, progress=False))
    add = measure.recorder("conditions", n=INSIDE, queries=QUERIES, hits=HITS)
    graph, effort, _ = hnsw(vectors, queries, HITS)

    def rivals(mask=None):
        chosen = None if mask is None else faiss.IDSelectorBatch(np.flatnonzero(mask))
        found = faiss.SearchParametersHNSW(efSearch=effort, sel=chosen)
        near = {"hnsw": lambda query: graph.search(query[None, :], HITS, params=found)[1][0]}
        return near if mask is None else {**near, "product": scanned(vectors, mask)}

    compared(add, "all", index, rivals(), queries)
    for share in (0.9, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001):
        mask = rng.random(INSIDE) < share
        compared(add, f"share {share}", index, rivals(mask), queries, mask)
    for label in (0, 7):
        mask = data.labels[:INSIDE] == label
        compared(add, f"class {label}", index, rivals(mask), queries, mask)
    few = np.zeros(INSIDE, dtype=bool)
    few[rng.choice(INSIDE, 5, replace=False)] = True
    compared(add, "five", index, rivals(few), queries, few)
    for count in (1, 100, 1000):
        later = normalize(data.vectors[INSIDE + QUERIES : INSIDE + QUERIES + count])
        compared(add, f"{count} added", index.extend(later), rivals(), queries)


if __name__ == "__main__":
    main(*sys.argv[1:])
