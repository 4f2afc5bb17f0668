"""Searches that begin at known items: y is given by ids and weights, no vector is looked at.

Personalised PageRank is such a search: π = D^½ h_α(𝒲) D^{−½} p, divided by its sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.plan import Plan
from longwave.search.composition import composition
from longwave.search.defaults import own_solver, solver_within
from longwave.search.euclidean import Euclidean
from longwave.search.ranking import best_of
from longwave.search.scoring import LEAST_SHARE
from longwave.search.snapshot import Snapshot
from longwave.search.wanted import Wanted
from longwave.solvers import BestFirst, Solver, System
from longwave.solvers.system import SublinearSolver
from longwave.types import Array, Filter, Hits, Sparse

#: How the graph is normalised: "manifold", as the index does for vectors; "pagerank", by the transitions of a walk.
KINDS = ("manifold", "pagerank")

Seeds = Mapping[Any, float] | Sequence[Mapping[Any, float]]


def check(seeds: Seeds | None, others: Mapping[str, Any], solver: Solver | Euclidean) -> Seeds:
    """The seeds, where there are any and nothing was said that only query vectors have. others: by name."""
    if seeds is None:
        raise InputError("give queries, or items to begin at with seeds={id: weight}")
    wrong = [name for name, value in others.items() if value is not None]
    if isinstance(solver, Euclidean):
        wrong.append("solver=Euclidean()")
    if wrong:
        raise InputError(f"a search that begins at seeds has no query vectors; leave out {', '.join(wrong)}")
    return seeds


def observe(snapshot: Snapshot, seeds: Seeds) -> Sparse:
    """Items and their weights to y, one row for each mapping. CSR (q, n)"""
    queries: list[Any] = [seeds] if isinstance(seeds, Mapping) else list(seeds)
    if not queries or not all(isinstance(query, Mapping) and query for query in queries):
        raise InputError(f"seeds must be a dict of id: weight, or a list of such dicts, none empty, got {seeds!r}")
    ids = np.array([item for query in queries for item in query])
    try:
        weights = np.array([weight for query in queries for weight in query.values()], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights of seeds must be numbers: {error}") from error
    if not np.isfinite(weights).all() or not weights.any():
        raise InputError("weights of seeds must be finite, and not all 0")
    made_of = composition(snapshot, snapshot.items.places(ids))  # (seeds, n)
    ends = np.concatenate([[0], np.cumsum([len(query) for query in queries])])
    chosen = sp.csr_array((weights, np.arange(len(ids)), ends), shape=(len(queries), len(ids)))
    y = sp.csr_array(chosen @ made_of, dtype=np.float32)
    y.sort_indices()
    return y


def search(
    snapshot: Snapshot,
    y: Sparse,
    k: int,
    *,
    kind: str,
    filter: Filter,
    solver: Solver,
    plan: Plan,
    allowed: NDArray[np.bool_] | None,
) -> Hits:
    """The items that waves from y reach best. y: CSR (q, n). Parameters as for `Index.search`, checked."""
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if plan.tolerance is not None:
        # Without the basis: its products take most of the time of a step. On graphs of ten edges a vertex, n = 20,000,
        # rank 300, this is 4 to 8 times as fast as `Hybrid`, at α from 0.85 to 0.99.
        solver = solver_within(plan.tolerance, filter, False)
    wanted = Wanted.of(snapshot, k, allowed)
    few = kind == "manifold" and plan.is_few(y.shape[0], k) and wanted.share >= LEAST_SHARE
    if few and isinstance(solver, SublinearSolver) and solver.serves(snapshot.system):
        alone = (sp.csr_array(y[[row]]) for row in range(y.shape[0]))
        found = [_one(snapshot, own, wanted, filter, solver) for own in alone]
        if all(hits is not None for hits in found):
            places, scores = (np.vstack([hits[part] for hits in found if hits is not None]) for part in (0, 1))
            return replace(wanted.hits(places, scores), route="sublinear")
    pagerank = kind == "pagerank"
    if pagerank and isinstance(solver, BestFirst) and solver == own_solver(snapshot):
        solver = replace(solver, local=1.0)  # a definition, not a ranking that short waves may spoil
    system, signal = (_walking(snapshot), _spread(snapshot, y)) if pagerank else (snapshot.system, y)
    solution = solver(system, signal, filter)
    scores = solution.scores
    if pagerank:
        scores = scores / np.maximum(np.abs(_mass(snapshot, y, filter)), 1e-30)[:, None]
    places, best = best_of(np.asarray(scores, dtype=np.float32), wanted.count, wanted.targets)
    made = wanted.hits(places, best)
    route = "exact" if plan.route == "exact" else "basis"
    return replace(made, errors=solution.errors, steps=solution.steps, route=route)


def _one(
    snapshot: Snapshot, y: Sparse, wanted: Wanted, filter: Filter, solver: SublinearSolver
) -> tuple[Array, Array] | None:
    """One query from candidates alone; None where they are too few."""
    asked = int(max(2 * wanted.count, 100) / wanted.share) + 1
    none = np.zeros(0, dtype=np.int64)
    targets, scores = solver.candidates(snapshot.system, y, filter, count=asked, more=none)
    if wanted.mask is not None:
        kept = wanted.mask[targets]
        targets, scores = targets[kept], scores[kept]
    if np.count_nonzero(scores > 0) < wanted.count:
        return None
    order = np.argsort(-scores, kind="stable")[: wanted.count]
    return targets[order][None, :], scores[order][None, :]


def _walking(snapshot: Snapshot) -> System:
    """The system whose scores are those of a walk: D^½ on the way out."""
    if snapshot.pooling is not None or snapshot.added is not None:
        raise InputError(
            "kind='pagerank' ranks the vertices of a graph; this index has items of several vectors, or items outside "
            "of the graph: use kind='manifold'"
        )
    return replace(snapshot.system, gains=_roots(snapshot), second=None, kept={})


def _spread(snapshot: Snapshot, y: Sparse) -> Sparse:
    """D^{−½} p. CSR (q, n)"""
    return sp.csr_array((y.data / _roots(snapshot)[y.indices], y.indices, y.indptr), y.shape, dtype=np.float32)


def _roots(snapshot: Snapshot) -> NDArray[np.float32]:
    """d^½ of every vertex, 1 where it stands alone."""
    degrees = snapshot.graph.degrees
    return np.sqrt(np.where(degrees > 0, degrees, 1.0)).astype(np.float32)


def _mass(snapshot: Snapshot, y: Sparse, filter: Filter) -> NDArray[np.float64]:
    """Σ_i π_i before it is divided: h(1) of what begins where there are edges, h(0) of what stands alone. (q,)"""
    gains = np.asarray(filter(np.array([1.0, 0.0])), dtype=np.float64)
    alone = snapshot.graph.degrees[y.indices] <= 0
    weighted = sp.csr_array((y.data * np.where(alone, gains[1], gains[0]), y.indices, y.indptr), y.shape)
    return np.asarray(weighted.sum(axis=1), dtype=np.float64).ravel()
