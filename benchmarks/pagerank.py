"""Personalised PageRank on a large graph: time per query and the first 100, beside networkx and scikit-network.

    python -m benchmarks.pagerank [VERTICES]     by default 100000; needs networkx and scikit-network (extra `bench`)

Two graphs, drawn with a fixed seed: one with communities (a planted partition, 100 vertices each), as of documents or
people, and one with hubs (Barabási and Albert). α 0.85, one random seed vertex a query, 20 queries. networkx' answer
to 1e-12 is the truth. Overlap: of its first 100, those that are among ours; exact on demand: `tolerance=1e-6`.
"""

import sys
import time
from functools import partial

import networkx as nx
import numpy as np
import scipy.sparse as sp

import longwave as lw
from benchmarks import measure

ALPHA, QUERIES, TOP = 0.85, 20, 100


def communities(n, seed=0):
    """100 vertices each, about eight edges of a vertex within its own and two outside."""
    rng = np.random.default_rng(seed)
    inside = rng.integers(0, 100, size=(2, 4 * n)) + 100 * rng.integers(0, n // 100, size=4 * n)
    outside = rng.integers(0, n, size=(2, n))
    return _symmetric(np.hstack([inside, outside]), n)


def hubs(n, seed=0):
    """Barabási and Albert, five edges for each new vertex."""
    edges = np.array(nx.barabasi_albert_graph(n, 5, seed=seed).edges).T
    return _symmetric(edges, n)


def _symmetric(edges, n):
    edges = edges[:, edges[0] != edges[1]]
    half = sp.csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))
    both = sp.csr_array(half.maximum(half.T))
    both.data[:] = 1.0
    return both


def timed(call, seeds):
    call(seeds[0])
    taken, answers = [], []
    for seed in seeds:
        start = time.perf_counter()
        answers.append(call(seed))
        taken.append(1000 * (time.perf_counter() - start))
    return float(np.median(taken)), answers


def first(scores):
    return set(np.argsort(-scores, kind="stable")[:TOP].tolist())


def networkx_scores(drawn, seed, tol):
    found = nx.pagerank(drawn, alpha=ALPHA, personalization={seed: 1.0}, tol=tol, max_iter=1000)
    return np.array([found[node] for node in range(len(found))])


def overlap(answers, truth):
    """Of the true first hundred, those that were found; the mean over the queries whose truth is known."""
    return float(np.mean([len(found & first(scores)) / TOP for found, scores in zip(answers, truth, strict=False)]))


def scikit_network(matrix, seeds, truth, add, name):
    try:
        from sknetwork.ranking import PageRank
    except ImportError:
        add("scikit-network", graph=name, failed="not installed")
        return
    own = sp.csr_matrix(matrix)
    for solver in ("piteration", "push"):
        ranker = PageRank(damping_factor=ALPHA, solver=solver, n_iter=100, tol=1e-10)
        ms, answers = timed(partial(_weights_of, ranker, own), seeds)
        found = [first(scores) for scores in answers]
        add(f"scikit-network, {solver}", graph=name, milliseconds=ms, overlap=overlap(found, truth))


def _weights_of(ranker, matrix, seed):
    return ranker.fit_predict(matrix, weights={seed: 1.0})


def longwave(matrix, seeds, truth, networkx_ms, add, name):
    start = time.perf_counter()
    index = lw.Index.build(graph=matrix, filter=lw.LowPass(ALPHA), progress=False)
    add("longwave, build", graph=name, seconds=time.perf_counter() - start, rank=index.spectrum.rank)
    ways = {
        "longwave, basis": {"kind": "pagerank"},
        "longwave, exact on demand": {"kind": "pagerank", "tolerance": 1e-6},
        "longwave, along the manifold": {},
    }
    for way, options in ways.items():
        ms, answers = timed(partial(_hits_of, index, options), seeds)
        row = {"graph": name, "milliseconds": ms, "of networkx": ms / networkx_ms}
        if "kind" in options:
            row["overlap"] = overlap([set(hits.ids[0].tolist()) for hits in answers], truth)
        add(way, **row)


def _hits_of(index, options, seed):
    return index.search(seeds={seed: 1.0}, k=TOP, **options)


def main(n):
    add = measure.recorder("pagerank", alpha=ALPHA, queries=QUERIES, top=TOP)
    for name, make in (("communities", communities), ("hubs", hubs)):
        matrix = make(n)
        drawn = nx.from_scipy_sparse_array(matrix)
        seeds = np.random.default_rng(1).choice(n, QUERIES, replace=False).tolist()
        truth = [networkx_scores(drawn, seed, 1e-12 / n) for seed in seeds[:5]]
        ms, _ = timed(partial(networkx_scores, drawn, tol=1e-6), seeds[:5])
        add("networkx, its own tolerance", graph=name, vertices=n, edges=matrix.nnz // 2, milliseconds=ms)
        scikit_network(matrix, seeds, truth, add, name)
        longwave(matrix, seeds, truth, ms, add, name)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
