"""Good parameters without labels.

The best graph k, query neighbours and α differ from collection to collection, and so does whether Euclidean similarity
should be added. `rankings` answers held-out vectors of the collection under every setting of a grid; `tune` chooses
between the settings by how well the rankings of one half of the dimensions predict those of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave import graph
from longwave.filters import LowPass
from longwave.neighbors import build_lists, nearest
from longwave.solvers.chebyshev_filter import chebyshev_coefficients
from longwave.spectrum.blocks import multiply
from longwave.types import Array, Neighbors, Progress, Sparse
from longwave.vectors import top_k

GRAPH_K = (5, 10, 20, 50)
NEIGHBORS = (1, 3, 5, 10, 20)
ALPHAS = (0.5, 0.8, 0.9, 0.95, 0.99)
# |h − polynomial|, for h_α between 1 − α and 1: enough for a ranking.
_TOLERANCE = 1e-4
# Numbers held by the polynomials of one chunk of queries: 2^26 float32 are 256 MB.
_NUMBERS = 1 << 26


@dataclass(frozen=True)
class Setting:
    """k: neighbours in the graph; neighbors: of the query; alpha: of `LowPass`; blend: Euclidean similarity added."""

    k: int
    neighbors: int
    alpha: float
    blend: bool


def grid(n_vectors: int) -> list[Setting]:
    """All settings that make sense for a collection of this size."""
    return [
        Setting(k, neighbors, alpha, blend)
        for k in GRAPH_K
        for alpha in ALPHAS
        for neighbors in NEIGHBORS
        for blend in (False, True)
        if k < n_vectors and neighbors < n_vectors
    ]


def rankings(
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    settings: Sequence[Setting],
    *,
    depth: int,
    gamma: float = 3.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> NDArray[np.int32]:
    """The `depth` best vectors for every query under every setting, Euclidean search last. (settings + 1, q, depth)

    One pass over polynomials of each graph serves every α and every number of query neighbours.
    """
    n = len(vectors)
    depth = min(depth, n)
    largest = max(setting.k for setting in settings)
    lists, _ = build_lists(vectors, k=min(largest, n - 1), seed=seed)
    observed = nearest(queries, vectors, k=max(setting.neighbors for setting in settings))
    similar = queries @ vectors.T  # (q, n)
    out = np.empty((len(settings) + 1, len(queries), depth), dtype=np.int32)
    out[-1] = top_k(similar, depth)[0]
    similar /= np.maximum(similar.max(axis=1, keepdims=True), 1e-12)
    graphs = sorted({setting.k for setting in settings})
    for done, k in enumerate(graphs):
        part = graph.build(Neighbors(lists.ids[:, :k], lists.similarities[:, :k]), gamma=gamma).normalized
        own = [place for place, setting in enumerate(settings) if setting.k == k]
        counts = sorted({settings[place].neighbors for place in own})
        alphas = sorted({settings[place].alpha for place in own})
        step = max(1, _NUMBERS // (n * len(counts) * (len(alphas) + 3)))
        for start in range(0, len(queries), step):
            rows = slice(start, min(start + step, len(queries)))
            y = _observations(observed, rows, counts, n, gamma)
            for alpha, x in zip(alphas, _filtered(part, y, alphas), strict=True):
                for number, count in enumerate(counts):
                    scores = x[:, number :: len(counts)].T  # (rows, n)
                    for place in own:
                        setting = settings[place]
                        if (setting.alpha, setting.neighbors) == (alpha, count):
                            out[place, rows] = _best(scores, similar[rows], setting.blend, depth)
        if progress:
            progress("settings", done + 1, len(graphs))
    return out


def _observations(observed: Neighbors, rows: slice, counts: Sequence[int], n: int, gamma: float) -> Array:
    """y of every query with each number of neighbours, one column each: (n, queries · counts)."""
    ids, weights = observed.ids[rows], graph.similarity(observed.similarities[rows], gamma)
    y = np.zeros((n, len(ids) * len(counts)), dtype=np.float32)
    for number, count in enumerate(counts):
        columns = np.arange(len(ids))[:, None] * len(counts) + number
        y[ids[:, :count], columns] = weights[:, :count]
    return y


def _filtered(matrix: Sparse, y: Array, alphas: Sequence[float]) -> list[Array]:
    """h_α(𝒲) y for every α, from one sequence of Chebyshev polynomials."""
    series = [chebyshev_coefficients(LowPass(a), tolerance=_TOLERANCE * (1 - a), max_degree=1000) for a in alphas]
    results = [coefficients[0] * y for coefficients in series]
    previous, current = y, multiply(matrix, y)
    for degree in range(1, max(len(coefficients) for coefficients in series)):
        for result, coefficients in zip(results, series, strict=True):
            if degree < len(coefficients):
                result += np.float32(coefficients[degree]) * current
        previous, current = current, 2 * multiply(matrix, current) - previous
    return [np.asarray(result, dtype=np.float32) for result in results]


def _best(scores: Array, similar: Array, blend: bool, depth: int) -> NDArray[np.int64]:
    if blend:
        peak = np.maximum(scores.max(axis=1, keepdims=True), 1e-30)
        scores = scores / peak + similar
    return top_k(np.ascontiguousarray(scores), depth)[0]
