"""The options of a search, for those that pass a search on: to an engine, or to a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from numpy.typing import ArrayLike

from longwave.plan import Plan
from longwave.search.blending import Blending
from longwave.search.euclidean import Euclidean
from longwave.search.seeds import Seeds
from longwave.search.where import Where
from longwave.solvers import Solver
from longwave.types import Filter


class SearchOptions(TypedDict, total=False):
    """The options of `Index.search`, which says what they mean. Those that have a name may be given as text."""

    seeds: Seeds | None
    kind: str
    fold: float | None
    diversity: float
    filter: Filter | str | None
    neighbors: int | None
    blend: float | str | Blending | None
    where: Where | None
    columns: Sequence[str] | None
    query_groups: ArrayLike | None
    weights: ArrayLike | None
    cut: int | None
    region_sum: str
    tolerance: float | None
    solver: Solver | Euclidean | str | None
    plan: Plan | str | None
    on_error: str


def check_names(given: Iterable[str], function: str) -> None:
    """TypeError, as Python itself would raise it, for a name that is not an option of a search."""
    for name in given:
        if name not in SearchOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
