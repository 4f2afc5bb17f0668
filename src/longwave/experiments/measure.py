"""What experiments share: mAP of a ranker, time per query, an index cut to a lower rank."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.baselines import Manifold, Ranker
from longwave.datasets import Benchmark
from longwave.errors import ConvergenceWarning, FilterWarning
from longwave.evaluation import mean_over_queries
from longwave.index import PAPER, Index
from longwave.search.euclidean import Euclidean
from longwave.search.queries import Queries
from longwave.solvers import ConjugateGradient, Solver, Spectral
from longwave.spectrum import Method
from longwave.spectrum.basis import Basis, Part

EUCLIDEAN = Manifold(solver=Euclidean())
#: Eq. (4) to the letter, which the paper's figures show; and with the complement, which is the default of the library.
PRINTED = Manifold(solver=Spectral(complement=False))
COMPLEMENT = Manifold(solver=Spectral())
#: The linear system, as the authors' scripts solve it: 20 steps, or fewer where the residual is 1e-6.
SYSTEM = Manifold(solver=ConjugateGradient(tolerance=1e-6, max_steps=20))
#: The same without the limit: the exact answer.
EXACT = Manifold(solver=ConjugateGradient(tolerance=1e-6))
#: y to the letter (§2.3): the k nearest of every query vector, and the k largest entries of their sum; k of §8.1.
LETTER = {"neighbors": 50, "cut": 50}
REGIONAL_LETTER = {"neighbors": 200, "cut": 200}
#: Ours for regions: 200 neighbours of every query region, of which 50 entries stay.
REGIONAL = {"neighbors": 200, "cut": 50}


def build(data: Benchmark, *, k: int, spectrum: Method | None, seed: int = 0, **options: Any) -> Index:
    """The index of a benchmark, as the paper has it but for what is said."""
    settings = {**PAPER, "k": k, "spectrum": spectrum, "seed": seed, "progress": False, **options}
    return Index.build(data.vectors, groups=data.groups, **settings)


def precisions(ranker: Ranker, index: Index, data: Benchmark) -> NDArray[np.float64]:
    """AP of every query in per cent, NaN where it has no positive. (Q,)"""
    with quiet():
        hits = ranker(index, data.queries, len(index), query_groups=data.query_groups)
    return 100 * mean_over_queries(hits.ids, data.judgements).per_query


def mean_ap(ranker: Ranker, index: Index, data: Benchmark) -> float:
    """MAP in per cent, to two digits: a later run with the same seed gives the same."""
    return round(float(np.nanmean(precisions(ranker, index, data))), 2)


def query_milliseconds(ranker: Ranker, index: Index, data: Benchmark, *, queries: int = 15, k: int = 100) -> float:
    """The median over queries, asked one at a time: both searches, and the k best. The first is not counted."""
    return _median(lambda rows, groups: ranker(index, data.queries[rows], k, query_groups=groups), data, queries)


def solver_milliseconds(
    solver: Solver, index: Index, data: Benchmark, *, queries: int = 15, filter: Any = None, **observed: Any
) -> float:
    """The same without the search for y, which all methods share and the paper leaves out."""
    chosen = COMPLEMENT.filter if filter is None else filter
    ready = {}
    for number in range(queries + 1):
        rows, groups = _rows(data, number)
        asked = Queries.make(data.queries[rows], dimension=index.dimension, groups=groups)
        ready[rows.tobytes()] = index.observe(asked, **observed)
    return _median(lambda rows, groups: solver(index.system, ready[rows.tobytes()], chosen), data, queries)


def _median(call: Any, data: Benchmark, queries: int) -> float:
    taken = []
    with quiet():
        for number in range(queries + 1):
            rows, groups = _rows(data, number)
            start = time.perf_counter()
            call(rows, groups)
            taken.append(1000 * (time.perf_counter() - start))
    return float(np.median(taken[1:]))


def _rows(data: Benchmark, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Rows of one query, and their groups: all of them query 0."""
    which = number % len(data.judgements)
    if data.query_groups is None:
        return np.array([which]), None
    rows = np.flatnonzero(data.query_groups == which)
    return rows, np.zeros(len(rows), dtype=np.int64)


@contextmanager
def quiet() -> Iterator[None]:
    """The authors' 20 steps stop before they converge, a few rounds leave much out; that is what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FilterWarning)
        yield


def cut_rank(index: Index, rank: int) -> Index:
    """The same index with the `rank` longest waves of its large components; small components stay as they are.

    For exact pairs this is FSR.rank-r at every r, from one decomposition.
    """
    spectrum = index.system.require_spectrum("cut_rank")
    basis = spectrum.eigenvectors
    if rank >= basis.n_dense:
        return index
    order = np.argsort(-spectrum.eigenvalues[: basis.n_dense], kind="stable")
    chosen = np.sort(order[:rank])
    kept = np.r_[chosen, basis.n_dense : spectrum.rank]
    shorter = _columns(basis, chosen)
    made = replace(
        spectrum,
        eigenvalues=spectrum.eigenvalues[kept],
        eigenvectors=shorter,
        residuals=spectrum.residuals[kept],
        row_norms=shorter.row_norms(),
        next_eigenvalue=float(spectrum.eigenvalues[order[rank]]),
    )
    return replace(index, spectrum=made, pooled=None if index.pooled is None else _columns(index.pooled, chosen))


def _columns(basis: Basis, chosen: NDArray[np.int64]) -> Basis:
    """Some of the dense columns, and all of the sparse ones."""
    parts = []
    for part, columns in basis.spans():
        own = chosen[(chosen >= columns.start) & (chosen < columns.stop)] - columns.start
        if own.size:
            parts.append(Part(part.rows, np.ascontiguousarray(part.values[:][:, own])))
    return replace(basis, parts=tuple(parts))


def subset_of_items(data: Benchmark, items: Sequence[int], name: str) -> Benchmark:
    """The same queries among fewer items, numbered anew; judgements of the others go."""
    kept = np.unique(np.asarray(items, dtype=np.int64))
    new = {int(item): place for place, item in enumerate(kept)}
    judgements = [
        replace(j, positive=[new[i] for i in j.positive if i in new], junk=[new[i] for i in j.junk if i in new])
        for j in data.judgements
    ]
    if data.groups is None:
        return replace(data, name=name, vectors=data.vectors[kept], judgements=judgements)
    chosen = np.isin(data.groups, kept)
    groups = np.searchsorted(kept, data.groups[chosen])
    return replace(data, name=name, vectors=data.vectors[chosen], groups=groups, judgements=judgements)
