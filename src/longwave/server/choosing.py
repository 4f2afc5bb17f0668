"""What a request says of the search, as the library takes it: filters, blends, solvers, limits."""

from __future__ import annotations

from typing import Any

from longwave import filters, registry
from longwave.errors import InputError
from longwave.index import Index
from longwave.metadata import parse_text
from longwave.search import blending
from longwave.search.blending import Blending
from longwave.search.defaults import default_filter, way
from longwave.server import schemas
from longwave.server.problems import Problem
from longwave.solvers.system import SublinearSolver
from longwave.types import Filter

# Steps that a filter or a solver may be told to take: each is a product with the graph, or a term of a sum.
_MOST_STEPS = 10_000
_STEPS = ("steps", "max_steps", "max_degree")
# Hits that k = "auto" may have.
_AUTO = 500


def options_of(given: schemas.Options) -> dict[str, Any]:
    """Options of `Index.search`."""
    return {
        "filter": filter_of(given.filter),
        "neighbors": given.neighbors,
        "blend": blend_of(given.blend),
        "where": where_of(given.where),
        "columns": given.columns,
        "cut": given.cut,
        "region_sum": given.region_sum,
        "tolerance": given.tolerance,
        "solver": None if given.solver is None else _bounded(registry.parse("solver", given.solver), given.solver),
        "plan": given.plan,
        "fold": given.fold,
        "diversity": given.diversity,
    }


def filter_of(text: str | None) -> Filter | None:
    """A filter from its text."""
    return None if text is None else _bounded(filters.parse(text), text)


def blend_of(given: schemas.Blend | str | float | None) -> Blending | float | None:
    """A blend from its text, its weight, or its fields; None for the index's own, 0 for none at all."""
    if given is None:
        return None
    if isinstance(given, schemas.Blend):
        return blending.Blend(given.weight, given.scale, given.everywhere)
    found = blending.parse(given)
    return 0.0 if found is None else found


def where_of(given: Any) -> Any:
    """Which items may be found, from JSON; a text is a condition as people type it."""
    return parse_text(given) if isinstance(given, str) else given


def _bounded(part: Any, text: str) -> Any:
    for name in _STEPS:
        steps = getattr(part, name, None)
        if steps is not None and steps > _MOST_STEPS:
            raise InputError(f"a server takes {_MOST_STEPS:,} steps at most, got {steps:g} in '{text}'")
    return part


def check_hits(k: int | str, queries: int) -> None:
    """Problem 422 where an answer would be too large."""
    count = _AUTO if isinstance(k, str) else k
    if queries > schemas.MOST_ROWS:
        raise Problem(422, f"a request has at most {schemas.MOST_ROWS:,} rows, got {queries:,}")
    if count * queries > schemas.MOST_HITS:
        raise Problem(
            422, f"{queries:,} queries for {count:,} hits each are more than {schemas.MOST_HITS:,} hits; ask for fewer"
        )


def scores_all(index: Index, k: int | str, options: dict[str, Any]) -> bool:
    """Whether one query is answered by the scores of all items: several at a time are then quicker than one by one.

    Where candidates alone are scored it is the other way round: 0.2 to 0.7 of the time, one by one. What is cut, folded
    or diverse is looked at query by query as well.
    """
    if isinstance(k, str) or options["fold"] is not None or options["diversity"]:
        return False
    filter = options["filter"] or default_filter(index)
    plan, solver = way(index, options["plan"], options["tolerance"], options["solver"], filter)
    return not (plan.is_few(1, k) and isinstance(solver, SublinearSolver) and solver.serves(index.system))
