"""The online stage: query vectors to y (the first search), y to scores, scores to hits (the second search).

What is ranked are targets: the stored vectors, or the items where these have groups of vectors. Copies of a vector are
one target and become items again at the very end. All targets are scored, or candidates alone: by the same solver, the
same blend, the same formula.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import DataWarning
from longwave.plan import ROUTES, Plan
from longwave.rows.vectors import normalize
from longwave.search import one_query
from longwave.search.blending import Anchor, Blending, candidate_count, near_count
from longwave.search.euclidean import Euclidean, euclidean_scores
from longwave.search.euclidean_view import EuclideanView
from longwave.search.first import Asked, ask, lists_needed, nearest_outside, nearest_vertices
from longwave.search.observation import SUMS
from longwave.search.queries import Queries
from longwave.search.ranking import best_of, best_with_ties
from longwave.search.snapshot import Snapshot
from longwave.search.trust import confidence
from longwave.search.wanted import Wanted
from longwave.solvers import BestFirst, Solver
from longwave.solvers.system import SublinearSolver
from longwave.types import Array, Filter, Hits

# Scores held at a time: 2^25 float64 are 256 MB, and a solver holds a handful of such arrays.
_SCORE_NUMBERS = 1 << 25
_NONE = np.zeros(0, dtype=np.int64)
#: Of the targets, that must be left by what was removed for a search to go by candidates alone.
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Formula:
    """How scores are made: x = h(𝒲)y by a solver, and what Euclidean similarity adds."""

    filter: Filter
    solver: Solver
    blend: Blending | None


def search(
    snapshot: Snapshot,
    queries: Queries,
    k: int,
    *,
    filter: Filter,
    neighbors: int,
    cut: int | None,
    region_sum: str,
    solver: Solver | Euclidean,
    blend: Blending | None,
    plan: Plan,
    allowed: NDArray[np.bool_] | None,
) -> Hits:
    """Both searches and what lies between. Parameters as for `Index.search`, checked. allowed: of the items, (N,)."""
    wanted = Wanted.of(snapshot, k, allowed)
    if isinstance(solver, Euclidean):
        return _join([_euclidean(snapshot, part, wanted) for part in _batches(snapshot, queries)])
    formula = Formula(filter, solver, blend)
    options = {"neighbors": neighbors, "cut": cut, "region_sum": region_sum}
    general = partial(_general, snapshot, wanted=wanted, formula=formula, plan=plan, k=k, options=options)
    usual = plan.is_few(1, k) and cut is None and region_sum == SUMS[0]
    if not (usual and one_query.single(queries) and one_query.serves(snapshot, solver, blend)):
        found, blind = general(queries)
        _warn_of_blind_queries(blind, ranked=blend is not None)
        return found
    assert isinstance(solver, BestFirst)
    assert isinstance(blend, Anchor)
    own: dict[str, Any] = {"filter": filter, "neighbors": neighbors, "solver": solver, "blend": blend}
    answers = one_query.answers(one_query.Question.of(snapshot, wanted, **own), queries)
    if len(answers) == 1 and answers[0] is not None:
        return answers[0]
    hits, blind = [], np.zeros(len(queries), dtype=bool)
    for q, known in enumerate(answers):
        if known is None:
            known, blind[q : q + 1] = general(queries.some(q, q + 1))
        hits.append(known)
    _warn_of_blind_queries(blind, ranked=True)
    if len(hits) == 1:
        return hits[0]
    spent = np.array([found.seconds for found in hits]).sum(axis=0)
    return replace(_join(hits), seconds=(float(spent[0]), float(spent[1])))


def _general(
    snapshot: Snapshot,
    queries: Queries,
    *,
    wanted: Wanted,
    formula: Formula,
    plan: Plan,
    k: int,
    options: dict[str, Any],
) -> tuple[Hits, NDArray[np.bool_]]:
    """Queries of every kind: from candidates where they are few, else all items. And whether each observes nothing."""
    solver, blend = formula.solver, formula.blend
    few = plan.is_few(len(queries), k) and (wanted.share >= LEAST_SHARE or wanted.allowed is not None)
    few = few and isinstance(solver, SublinearSolver) and solver.serves(snapshot.system)
    looked_up = lists_needed(snapshot, options["neighbors"])
    if few and blend is not None:
        looked_up = max(looked_up, _near_count(blend, wanted))
    answers, blind = [], []
    seconds = 0.0, 0.0
    for part in _batches(snapshot, queries):
        began = perf_counter()
        asked = ask(snapshot, part, looked_up, keep_products=not few, **options)
        found = perf_counter()
        hits = _rank_few(snapshot, asked, wanted, formula) if few else None
        if hits is None:  # so few candidates that others could be among the best
            hits = _rank(snapshot, asked, wanted, formula)
            hits = replace(hits, route="exact" if plan.route == "exact" else "basis")
        trust = confidence(asked.found, part.query_of, part.weights, asked.observed, snapshot.graph)
        answers.append(replace(hits, confidence=trust))
        blind.append(np.diff(asked.observed.indptr) == 0)
        seconds = seconds[0] + found - began, seconds[1] + perf_counter() - found
    return replace(_join(answers), seconds=seconds), np.concatenate(blind)


def _batches(snapshot: Snapshot, queries: Queries) -> list[Queries]:
    """Queries cut so that scores of all targets, and products with all vectors, fit the memory meant for them."""
    largest = int(np.bincount(queries.query_of).max())
    rows = max(snapshot.n_vertices, len(snapshot.items), largest * len(snapshot.vectors))
    step = max(1, _SCORE_NUMBERS // rows)
    if step >= len(queries):
        return [queries]
    return [queries.some(start, min(start + step, len(queries))) for start in range(0, len(queries), step)]


def _euclidean(snapshot: Snapshot, queries: Queries, wanted: Wanted) -> Hits:
    scores = euclidean_scores(queries.summed(), snapshot.vectors, snapshot.whole_pooling)
    return wanted.hits(*best_of(scores, wanted.count, wanted.targets))


def _rank(snapshot: Snapshot, asked: Asked, wanted: Wanted, formula: Formula) -> Hits:
    """Scores of all targets that are there, and the best of them."""
    solution = formula.solver(snapshot.system, asked.observed, formula.filter)
    live, left, found = snapshot.live_targets, None if wanted.allowed is None else wanted.targets, solution.scores
    if live is not None:
        found = found[:, live]
        left = None if left is None else np.searchsorted(live, left)
    view = EuclideanView(snapshot, asked, live, most=True)
    if formula.blend is None:
        places, scores = best_with_ties(found, lambda: view.similarities, wanted.count, left)
    else:
        places, scores = best_of(formula.blend(found, view, formula.filter), wanted.count, left)
    places = places if live is None else live[places]
    return replace(wanted.hits(places, scores), errors=solution.errors, steps=solution.steps)


def _rank_few(snapshot: Snapshot, asked: Asked, wanted: Wanted, formula: Formula) -> Hits | None:
    """One query after the other, from candidates: nothing that grows with n is read. None where they are too few."""
    found = []
    for query in range(len(asked.queries)):
        one = asked if len(asked.queries) == 1 else asked.one(query)
        near = _NONE
        if formula.blend is not None:
            near = _nearest_targets(snapshot, one, _near_count(formula.blend, wanted))
        count = ceil(candidate_count(formula.blend, wanted.count) / max(wanted.share, LEAST_SHARE))
        if wanted.share < LEAST_SHARE and wanted.targets is not None:  # all that are allowed
            near = np.union1d(near, wanted.targets)
        ranked = _rank_candidates(snapshot, one, wanted, formula, count, near)
        if ranked is None and wanted.share < 1:  # what is removed or not allowed may fill a list; a longer one, then
            ranked = _rank_candidates(snapshot, one, wanted, formula, 4 * count, near)
        if ranked is None:
            return None
        found.append(replace(ranked, route="sublinear"))
    return _join(found)


def _rank_candidates(
    snapshot: Snapshot, asked: Asked, wanted: Wanted, formula: Formula, count: int, near: NDArray[np.int64]
) -> Hits | None:
    """One query, from so many candidates of the second search and those near to it. None where they are too few."""
    solver = formula.solver
    assert isinstance(solver, SublinearSolver)
    targets, scores = solver.candidates(snapshot.system, asked.observed, formula.filter, count=count, more=near)
    if snapshot.live is not None:
        targets, scores = _kept(targets, scores, snapshot.live)
    if not len(targets):
        return None
    if formula.blend is not None:
        scores = formula.blend(scores[None, :], EuclideanView(snapshot, asked, targets), formula.filter)[0]
    if wanted.mask is not None:
        targets, scores = _kept(targets, scores, wanted.mask)
    if formula.blend is None and not _enough(scores, wanted.count):
        return None
    if (len(targets) if wanted.allowed is not None else snapshot.items.count_in(targets)) < wanted.count:
        return None
    order = np.argsort(-scores, kind="stable")
    order = order[: wanted.count] if snapshot.items.live is None and wanted.allowed is None else order
    return wanted.hits(targets[order][None, :], scores[order][None, :])


def _kept(targets: NDArray[np.int64], scores: Array, mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Array]:
    """Those of some targets that a mask of all leaves."""
    kept = mask[targets]
    return targets[kept], scores[kept]


def _enough(scores: Array, k: int) -> bool:
    """Whether the k best candidates are the k best of all: every target that is no candidate scores 0 or less."""
    return len(scores) >= k and bool(np.partition(scores, len(scores) - k)[len(scores) - k] > 0)


def _near_count(blend: Blending, wanted: Wanted) -> int:
    """Nearest targets that are candidates of a blend; more where some of them are not allowed."""
    share = 1.0 if wanted.allowed is None else max(wanted.share, LEAST_SHARE)
    return int(near_count(blend, wanted.count) / share)


def _nearest_targets(snapshot: Snapshot, asked: Asked, count: int) -> NDArray[np.int64]:
    """About the targets nearest to a query, by its first search, in the graph and outside of it. Ascending."""
    if len(asked.queries.weights) == 1 and asked.queries.weights[0] > 0:  # its own lists tell
        inside, outside = asked.found, asked.outside
    elif asked.summed[0].any():
        summed = normalize(asked.summed)
        inside, outside = nearest_vertices(snapshot, summed, count), nearest_outside(snapshot, summed, count)
    else:
        return _NONE
    rows = inside.ids[0, :count]
    rows = np.unique(rows[rows >= 0])
    if outside is not None:
        own = outside.ids[0, :count]
        rows = np.concatenate([rows, np.unique(own[own >= 0]) + snapshot.n_vertices])
    return rows if snapshot.pooling is None else snapshot.items.items_of(rows)


def _warn_of_blind_queries(blind: Array, *, ranked: bool) -> None:
    where = np.flatnonzero(blind)
    if where.size:
        order = "in the order of Euclidean similarity" if ranked else "and their scores are all 0"
        warnings.warn(
            f"{where.size} of {len(blind)} queries (the first is {where[0]}) have no positive similarity to any "
            f"vector, or examples that cancel: nothing is reached along the manifold; their hits are {order}",
            DataWarning,
            stacklevel=4,
        )


def _join(parts: list[Hits]) -> Hits:
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: None if getattr(parts[0], name) is None else np.concatenate([getattr(p, name) for p in parts])
        for name in ("ids", "scores", "errors", "steps", "confidence")
    }
    known = [part.route for part in parts if part.route is not None]
    return Hits(**columns, route=max(known, key=ROUTES.index, default=None))  # type: ignore[arg-type]
