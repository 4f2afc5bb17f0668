"""How an index was made, and what its searches do unless told otherwise: what its manifest says."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from longwave.errors import InputError
from longwave.plan import Plan


@dataclass(frozen=True)
class Stored:
    """Rows kept in fewer bytes: their kind, such as "float16" or "PQ64", and their relative error, measured."""

    kind: str
    error: float


@dataclass(frozen=True)
class Defaults:
    """What `Index.search` does where nothing is said; all but the number as text, which their modules read.

    filter: as `filters.parse` reads it. neighbors: vertices that a query observes. blend: as `blending.parse` reads it.
    """

    filter: str = "lowpass:0.99"
    neighbors: int = 5
    blend: str = "anchor"


@dataclass(frozen=True)
class Settings:
    """How an index was built: what was asked for, what was possible (`k_used`), the lists' measured recall.

    kernel: as `graph.weights.parse` reads it. balanced: scores are divided by the root of a vertex's degree, to which
    `least_degree` of the mean degree is added. fidelity: what searches find of the hits by exact scores, measured on
    vertices of the collection; None if it was not. plan: how searches are carried out. rows: the filter of stored rows.
    vectors_as, basis_as: what is kept in fewer bytes. automatic: options that were left to the graph, such as "kernel".
    given_edges: of the user's own graph, of which the index keeps no more than what they became part of.
    """

    k: int
    k_used: int
    recall: float | None
    kernel: str
    balanced: bool
    spectrum: str
    rank: int | None
    components: str
    min_rank: int
    pooling: str
    sparsity: float | None
    seed: int
    fidelity: float | None = None
    plan: Plan = field(default_factory=Plan)
    rows: str | None = None
    vectors_as: Stored | None = None
    basis_as: Stored | None = None
    search: Defaults = Defaults()
    merge_copies: bool = True
    across_items: bool = True
    automatic: tuple[str, ...] = ()
    given_edges: int = 0
    edge_weight: float = 1.0
    least_degree: float = 0.0

    @classmethod
    def parse(cls, entries: Any) -> Settings:
        """From the manifest; what the fields do not name is left out. Raises ValueError where it does not fit."""
        settings: Settings = fit(cls, _as_now(entries), "settings")
        return settings


def _as_now(entries: Any) -> Any:
    """Settings of earlier versions as they are written now.

    Version 2 knew one kernel and no balance; up to version 3 the two searches stood by themselves, without a plan.
    """
    if not isinstance(entries, Mapping):
        return entries
    entries = dict(entries)
    if "kernel" not in entries and "gamma" in entries:
        search = entries.get("search")
        search = dict(search) if isinstance(search, Mapping) else {}
        blend = search.get("blend")
        search["blend"] = "anchor" if isinstance(blend, str) else "none" if blend is None else str(blend)
        entries |= {"kernel": f"power:{entries['gamma']}", "balanced": False, "search": search}
    if "plan" not in entries:
        first, second = entries.get("first"), entries.get("second")
        route = "basis" if second is None else "sublinear"
        entries["plan"] = {"route": route, "vectors": first, "coordinates": second}
    return entries


# The least and the most that a number of this name may be, in whichever of the classes; others only must be finite.
_RANGES = {
    **dict.fromkeys(("k", "neighbors", "min_rank"), (1, 2**31 - 1)),
    **dict.fromkeys(("k_used", "rank", "effort"), (0, 2**31 - 1)),
    **dict.fromkeys(("seed", "error", "given_edges", "edge_weight"), (0, math.inf)),
    **dict.fromkeys(("recall", "sparsity", "fidelity", "least_degree"), (0, 1)),
}


def fit(kind: Any, value: Any, name: str) -> Any:
    """A value of JSON as what an annotation asks for: a class of this file, a tuple, a union, a number or a text."""
    options = get_args(kind)
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} must be an object, got {value!r}")
        hints, known = get_type_hints(kind), [own.name for own in fields(kind)]
        given = {own: fit(hints[own], value[own], f"{name}.{own}") for own in known if own in value}
        try:
            return kind(**given)  # type: ignore[operator]
        except (TypeError, InputError) as error:
            raise ValueError(f"{name} is not complete or not possible: {error}") from error
    if get_origin(kind) in (Union, UnionType):
        if value is None and NoneType in options:
            return None
        others = [option for option in options if option is not NoneType]
        fitting = [option for option in others if not isinstance(option, type) or _is_a(option, value)]
        return fit((fitting or others)[0], value, name)
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name} must be a list, got {value!r}")
        inner = options[:1] * len(value) if options[-1] is Ellipsis else options
        return tuple(fit(own, one, name) for own, one in zip(inner, value, strict=True))
    if not _is_a(kind, value):
        raise ValueError(f"{name} must be {kind.__name__}, got {value!r}")
    least, most = _RANGES.get(name.rpartition(".")[2], (-math.inf, math.inf))
    if kind in (int, float) and not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}, got {value!r}")
    return value


def _is_a(kind: Any, value: Any) -> bool:
    """Whether a value of JSON is of this kind: a bool is no number, NaN and infinity are none, 3 may stand for 3.0."""
    if kind is float:
        return type(value) in (int, float) and -sys.float_info.max <= value <= sys.float_info.max
    return isinstance(value, Mapping) if is_dataclass(kind) else type(value) is kind
