"""What a search does where nothing is said: the settings that an index keeps, as values."""

from __future__ import annotations

from functools import lru_cache

from longwave import filters, registry
from longwave.checks import check_value
from longwave.errors import InputError
from longwave.filters import LowPass
from longwave.plan import Plan
from longwave.search import blending
from longwave.search.blending import Blending
from longwave.search.euclidean import Euclidean
from longwave.search.snapshot import Snapshot
from longwave.solvers import BestFirst, ChebyshevFilter, ConjugateGradient, Hybrid, Precomputed, Solver, Spectral
from longwave.types import Filter

# What an index says of itself is read once, not for every query.
known_filter = lru_cache(maxsize=64)(filters.parse)
_known_blend = lru_cache(maxsize=64)(blending.parse)


def default_filter(snapshot: Snapshot) -> Filter:
    """The filter of the index."""
    return known_filter(snapshot.settings.search.filter)


def defaults(snapshot: Snapshot, filter: Filter | str | None, neighbors: int | None) -> tuple[Filter, int]:
    """What was given, also as text, or what the index says."""
    known = snapshot.settings.search
    if filter is None:
        filter = default_filter(snapshot)
    return (
        known_filter(filter) if isinstance(filter, str) else filter,
        known.neighbors if neighbors is None else neighbors,
    )


def named_solver(solver: Solver | Euclidean | str | None) -> Solver | Euclidean | None:
    """A solver, also by its name: "cg:1e-4", "euclidean"."""
    if not isinstance(solver, str):
        return solver
    found: Solver | Euclidean = registry.parse("solver", solver)
    return found


def solver_within(tolerance: float, filter: Filter, has_basis: bool) -> Solver:
    """The solver that reaches a relative error: the basis, and as many steps on the graph as that takes."""
    if not isinstance(filter, LowPass):
        return ChebyshevFilter(tolerance=tolerance, relative=True)
    return Hybrid(tolerance) if has_basis else ConjugateGradient(tolerance)


def blend_of(
    snapshot: Snapshot, blend: float | str | Blending | None, solver: Solver | Euclidean | str | None
) -> Blending | None:
    """The blend that was given, or that of the index."""
    return chosen_blend(blend, snapshot.settings.search.blend, solver)


def chosen_blend(
    blend: float | str | Blending | None, own: str, solver: Solver | Euclidean | str | None
) -> Blending | None:
    """The blend that was given, or the one that the text `own` names."""
    if blend is None:
        return _known_blend(own)
    chosen = blending.parse(blend)
    if chosen is not None and isinstance(solver, Euclidean):
        raise InputError("blend adds Euclidean similarity to a manifold search; leave it out with solver=Euclidean()")
    return chosen


def own_solver(snapshot: Snapshot) -> Solver:
    """The solver of the index's own plan, where that has no tolerance."""
    walks = snapshot.settings.plan.route == "sublinear" and snapshot.searches is None
    return BestFirst() if walks else Spectral()


def way(
    snapshot: Snapshot,
    plan: Plan | str | None,
    tolerance: float | None,
    solver: Solver | Euclidean | None,
    filter: Filter,
) -> tuple[Plan, Solver | Euclidean]:
    """The plan and the solver that were given, or those of the index. Nothing is switched without a word."""
    if solver is not None and not isinstance(solver, Euclidean):
        check_value(solver, "solver", "a value such as Spectral() or Euclidean()")
    if tolerance is not None:
        if solver is not None or plan is not None:
            given = solver or plan
            raise InputError(f"tolerance chooses the solver; give it to the solver instead, or leave out {given!r}")
        plan = Plan("exact", tolerance)
    chosen = snapshot.settings.plan if plan is None else Plan(plan) if isinstance(plan, str) else plan
    if isinstance(solver, Precomputed):
        return Plan("sublinear"), solver
    if solver is not None:
        return chosen, solver
    if chosen.route == "sublinear" and snapshot.searches is None:
        if snapshot.pooling is not None or snapshot.spectrum is None:
            raise InputError("this index has no approximate searches; make them with index = index.accelerate()")
        return chosen, BestFirst()
    if chosen.tolerance is not None:
        return chosen, solver_within(chosen.tolerance, filter, snapshot.spectrum is not None)
    return chosen, Spectral()
