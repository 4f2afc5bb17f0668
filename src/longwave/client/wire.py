"""Python values as JSON has them: rows without a bit lost, filters, blends and solvers by their names."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longwave import filters, registry
from longwave.errors import InputError
from longwave.metadata import Condition
from longwave.search import blending
from longwave.search.blending import Blend
from longwave.search.options import SearchOptions


def rows_told(queries: ArrayLike) -> dict[str, Any]:
    """Rows as the server takes them, without a bit lost. NaN is sent too: the server says what is wrong with it."""
    try:
        rows = np.asarray(queries)
    except ValueError as error:
        raise InputError(f"queries must be 2-D with rows of one length: {error}") from error
    rows = rows[None] if rows.ndim == 1 else rows
    short = rows.dtype.kind == "f" and (rows.dtype.itemsize <= 4 or not np.isfinite(rows).all())
    if short and rows.ndim == 2 and rows.size:
        data = np.ascontiguousarray(rows, dtype="<f4").tobytes()
        return {"npy": base64.b64encode(data).decode(), "dimension": rows.shape[1]}
    return {"vectors": rows.tolist()}


def options_told(options: SearchOptions) -> dict[str, Any]:
    """Options of a search as JSON has them; those that say nothing are left out."""
    told = {name: _TELLING.get(name, _as_it_is)(value) for name, value in options.items() if value is not None}
    return {name: value for name, value in told.items() if value is not None}


def _as_it_is(value: Any) -> Any:
    return value


def _filter(filter: Any) -> str:
    return filter if isinstance(filter, str) else filters.text_of(filter)


def _seeds(seeds: Any) -> Any:
    """Items and their weights; keys of JSON are text."""
    queries = [seeds] if isinstance(seeds, Mapping) else list(seeds)
    if not all(isinstance(one, Mapping) for one in queries):
        raise InputError(f"seeds must be a dict of id: weight, or a list of such dicts, got {seeds!r}")
    return [{str(own): float(weight) for own, weight in one.items()} for one in queries]


def _blend(blend: Any) -> Any:
    if isinstance(blend, str):
        return blend
    if isinstance(blend, Blend):
        return {"weight": blend.weight, "scale": blend.scale, "everywhere": blend.everywhere}
    return blending.text_of(blend) if callable(blend) else float(blend)


def _solver(solver: Any) -> str:
    if isinstance(solver, str):
        return solver
    text = registry.text_of("solver", solver)
    if text is None:
        raise InputError(f"a server knows the solvers {', '.join(registry.names('solver'))}, not {solver!r}")
    return text


def _where(where: Any) -> Any:
    if isinstance(where, Condition):
        raise InputError("give a server the condition as it is written: a dict, or a line such as 'year>=2020'")
    return where if isinstance(where, Mapping | str) else np.asarray(where).tolist()


def _numbers(values: Any) -> Any:
    return np.asarray(values).tolist()


# How an option is written down, where JSON does not have it as Python does.
_TELLING: dict[str, Callable[[Any], Any]] = {
    "seeds": _seeds,
    "filter": _filter,
    "blend": _blend,
    "where": _where,
    "columns": list,
    "query_groups": _numbers,
    "weights": _numbers,
    "solver": _solver,
}


def plain(value: Any) -> Any:
    """What JSON does not know: dates as text, numbers and arrays of numpy as those of Python."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise InputError(f"{value!r} cannot be sent to a server; give text, numbers, dates or lists of them")
