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
from longwave.search import blending
from longwave.search.blending import REGIONAL, Anchor, Blending
from longwave.spectrum import Advised, Method
from longwave.storage.settings import Defaults
from longwave.types import Filter

COMPONENTS = ("blocks", "giant", "whole")
_F = TypeVar("_F", bound=Callable[..., Any])


def _option(default: Any, help: str) -> Any:
    """A field with its help."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Options:
    """What `Index.build` can be told about the graph, the basis, and what searches do by default."""

    k: int = _option(50, "Neighbours of each vector in the graph, itself not counted; never more than there are.")
    kernel: Kernel | None = _option(
        None,
        "How neighbours weigh. By default `Local()`, by the spacing around them (gentler where the long waves of a "
        "large collection would not fit a basis), and `Power(3)`, the paper's, with groups.",
    )
    recall: float | None = _option(
        None, "Share of the true neighbours to find; 1 is exact. By default 1, and 0.95 for large collections."
    )
    balanced: bool = _option(
        True, "Divide the score of every vector by the root of its edges' weight, so that popular ones do not win."
    )
    merge_copies: bool = _option(True, "Let equal vectors be one vertex of the graph.")
    across_items: bool = _option(True, "With groups: let neighbours be those of other items only.")
    spectrum: Method | None = _option(
        Advised(),
        "How the basis is computed: `Chebyshev`, `Lanczos`, `Simultaneous`, `Exact`, or None for no basis. By default "
        "`Chebyshev` of the rank that the graph needs, 1,000 at most.",
    )
    components: str = _option(
        "blocks",
        "Which parts of the graph have a basis: blocks (each its own), giant (the largest only, as in the paper's "
        "experiments) or whole (one for all).",
    )
    min_rank: int = _option(5, "Eigenvectors that each part keeps at least, with components blocks.")
    sparsity: float | None = _option(
        None, "Share of the basis to drop, smallest numbers first, such as 0.9: less memory, slightly worse hits."
    )
    pooling: str = _option(
        "gmp", "How the scores of an item's vectors become one: gmp (what is frequent counts less) or sum."
    )
    filter: Filter = _option(LowPass(0.99), "The filter h that searches use unless told otherwise.")
    neighbors: int = _option(5, "Nearest vectors that a query starts from, unless told otherwise.")
    blend: float | str | Blending | None = _option(
        None,
        "What Euclidean similarity adds to searches unless told otherwise: `Anchor()`, a weight, or 0 for nothing.",
    )
    seed: int = _option(0, "Seed of the random numbers: the same seed gives the same answer.")

    def __post_init__(self) -> None:
        check_counts(k=self.k, min_rank=self.min_rank, neighbors=self.neighbors)
        check_pooling(self.pooling)
        if self.spectrum is not None:
            check_value(self.spectrum, "spectrum", "a value such as Chebyshev(rank=1000), or None")
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise InputError(f"seed must be a whole number of at least 0, got {self.seed!r}")
        if self.kernel is not None:
            check_value(self.kernel, "kernel", "a value such as Local() or Power(3)")
        if self.components not in COMPONENTS:
            raise InputError(f"components must be one of {', '.join(COMPONENTS)}, got '{self.components}'")
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
            raise InputError(f"build has no option {unknown[0]!r}; {meant}Options are {', '.join(sorted(known))}")
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


def help_of(name: str) -> str:
    """The help of an option, as the command line shows it."""
    return str(Options.__dataclass_fields__[name].metadata["help"])


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
