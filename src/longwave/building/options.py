"""The options of a build: each with its default, its help and its check. The only place where they are written down."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeVar

from longwave import filters
from longwave.checks import check_counts, check_value
from longwave.errors import InputError
from longwave.filters import LowPass
from longwave.graph.weights import Kernel, Power
from longwave.items.pooling import check_pooling
from longwave.rows.encoded import check_basis_kind
from longwave.search import blending
from longwave.search.blending import REGIONAL, Anchor, Blending
from longwave.spectrum import Advised, Method
from longwave.storage.settings import Defaults
from longwave.types import Filter

COMPONENTS = ("blocks", "printed", "giant", "whole")
_F = TypeVar("_F", bound=Callable[..., Any])

# Names that are options elsewhere, and what they are here.
_MEANT = {
    "rank": "a rank is part of the method: spectrum=Chebyshev(rank=1000). ",
    "metadata": "metadata is given to an index: index.with_metadata(metadata). ",
}


def _option(default: Any, help: str, *, text: str = "") -> Any:
    """A field with its help. text: how its value is written on the command line, where it is not a number."""
    return field(default=default, metadata={"help": help, "text": text})


@dataclass(frozen=True)
class Options:
    """What `Index.build` can be told about the graph, the basis, and what searches do by default."""

    k: int = _option(50, "Neighbours of each vector in the graph, itself not counted.")
    kernel: Kernel | None = _option(
        None,
        "Weight of neighbours in the graph. By default by how dense the vectors lie around them; where items have "
        "several vectors, a power of their similarity, as in the paper.",
        text="local or power:3",
    )
    recall: float | None = _option(
        None, "Share of the true neighbours to find; 1 is exact. By default 1, and 0.99 beyond 30,000 vectors."
    )
    balanced: bool = _option(
        True, "Lower the scores of items that have many or heavy edges, so that popular items do not win."
    )
    merge_copies: bool = _option(True, "Let equal vectors be one vertex of the graph.")
    edge_weight: float = _option(
        1.0, "With a graph of your own beside vectors: what its edges weigh, where neighbours weigh from 0 to 1."
    )
    across_items: bool = _option(True, "Where items have several vectors: let neighbours be those of other items only.")
    spectrum: Method | None = _option(
        Advised(),
        "Method for the basis: `Chebyshev`, `Lanczos`, `Simultaneous` (the paper's), `Exact`, or None for no basis. By "
        "default `Chebyshev` of the rank that the graph needs, 1,000 at most.",
        text="chebyshev, lanczos, simultaneous, exact or none",
    )
    components: str = _option(
        "blocks",
        "Parts of the graph that have a basis: blocks (each its own), printed (the paper's rule to the letter: small "
        "parts take of the rank), giant (the largest only) or whole (one for all).",
    )
    min_rank: int = _option(5, "Eigenvectors that each part of the graph keeps at least, with blocks.")
    sparsity: float | None = _option(
        None, "Share of the basis to drop, smallest numbers first, such as 0.9: less memory, slightly worse hits."
    )
    store_basis: str | None = _option(
        None,
        "Bytes of each number of the basis: float32 (4), float16 (2) or int8 (1). By default 4, and 1 where the basis "
        "has more than 16 million numbers and the walk on the graph reads it, which no hit was seen to change for.",
    )
    pooling: str = _option(
        "gmp", "How the vectors of an item become one answer: gmp (what is frequent counts less) or sum."
    )
    filter: Filter = _option(
        LowPass(0.99),
        "How far searches reach along the graph, unless told otherwise.",
        text="such as lowpass:0.99 or heat:10",
    )
    neighbors: int = _option(5, "Nearest vectors that a query starts from, unless told otherwise.")
    blend: float | str | Blending | None = _option(
        None,
        "How nearest neighbours count in a search, unless told otherwise. By default the nearest stay in front.",
        text="anchor, a weight, or none for not at all",
    )
    seed: int = _option(0, "Seed of the random numbers: the same seed gives the same answer.")

    def __post_init__(self) -> None:
        check_counts(k=self.k, min_rank=self.min_rank, neighbors=self.neighbors)
        check_pooling(self.pooling)
        if self.spectrum is not None:
            check_value(self.spectrum, "spectrum", "a value such as Chebyshev(rank=1000), or None")
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise InputError(f"seed must be a whole number of at least 0, got {self.seed!r}")
        if self.store_basis is not None:
            check_basis_kind(self.store_basis)
        if self.kernel is not None:
            check_value(self.kernel, "kernel", "a value such as Local() or Power(3)")
        if self.components not in COMPONENTS:
            raise InputError(f"components must be one of {', '.join(COMPONENTS)}, got '{self.components}'")
        if not 0 < self.edge_weight < float("inf"):
            raise InputError(f"edge_weight must be a number above 0, got {self.edge_weight}")
        if self.sparsity is not None and not 0 <= self.sparsity < 1:
            raise InputError(f"sparsity must be at least 0 and below 1 (the fraction dropped), got {self.sparsity}")

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Options:
        """From keyword arguments. gamma is short for kernel=Power(gamma); auto is accepted and changes nothing."""
        known = {own.name for own in fields(cls)}
        unknown = [name for name in given if name not in known | {"gamma", "auto"}]
        if unknown:
            close = get_close_matches(unknown[0], known, 1)
            meant = f"did you mean {close[0]}? " if close else ""
            meant = _MEANT.get(unknown[0], meant)
            raise InputError(
                f"build has no option {unknown[0]!r}; {meant}Beside vectors, ids, groups and the others in "
                f"help(Index.build), the options are {', '.join(sorted(known))}"
            )
        options = {name: value for name, value in given.items() if name in known}
        gamma = given.get("gamma")
        if gamma is not None:
            if options.get("kernel") is not None:
                raise InputError(f"gamma={gamma} is short for kernel=Power({gamma}); give only one of the two")
            options["kernel"] = Power(gamma)
        return cls(**options)

    def settled(self, *, regional: bool) -> Options:
        """With the defaults that depend on whether items have several vectors."""
        kernel = Power(3.0) if self.kernel is None and regional else self.kernel
        blend = (REGIONAL if regional else Anchor()) if self.blend is None else self.blend
        return replace(self, kernel=kernel, blend=blend)

    @property
    def search_defaults(self) -> Defaults:
        """What searches do unless told otherwise, as the index keeps it."""
        return Defaults(filters.text_of(self.filter), self.neighbors, blending.text_of(blending.parse(self.blend)))


#: The paper's own setting: `Index.build(vectors, **PAPER)`.
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "k": 50,
        "kernel": Power(3.0),
        "balanced": False,
        "merge_copies": False,
        "across_items": False,
        "filter": LowPass(0.99),
        "neighbors": 10,
        "blend": 0,
    }
)


def takes_options(function: _F) -> _F:
    """Give a function with `**options` the signature and the documentation of all of them: `help` shows every one."""
    own = inspect.signature(function)
    kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    known = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type)
        for f in fields(Options)
    ]
    function.__signature__ = own.replace(parameters=[*kept, *known])  # type: ignore[attr-defined]
    lines = "\n".join(f"        - {f.name}: {f.metadata['help']}" for f in fields(Options))
    function.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n        Options:\n\n{lines}\n        "
    return function
