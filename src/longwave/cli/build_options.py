"""The options of a build on the command line, made from their one declaration (`building.options`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from longwave import filters
from longwave.building.options import PAPER, Options
from longwave.cli import options as o
from longwave.graph import weights as kernels

# What numbers and switches are; everything else is text.
_KINDS: dict[str, type] = {"int": int, "float": float, "float | None": float, "bool": bool}
# How text becomes a value, where the library does not read it itself.
_READ: dict[str, Callable[[str], Any]] = {"kernel": kernels.parse, "filter": filters.parse}
# It has options of its own: rank, oversampling, rounds.
_APART = ("spectrum",)


def _parameter(field: Field[Any]) -> Parameter:
    """An option of the declaration as typer takes it; None where nothing is said."""
    told = field.metadata["help"]
    if field.metadata["text"]:
        told = f"{told} Write {field.metadata['text']}."
    elif field.default not in (None, MISSING):
        shown = (
            {True: "on", False: "off"}.get(field.default, field.default) if str(field.type) == "bool" else field.default
        )
        told = f"{told.removesuffix('.')}; {shown} by default."
    kind: Any = _KINDS.get(str(field.type), str)
    metavar = "H" if field.name == "filter" else "W" if field.name == "blend" else None
    annotation = Annotated[kind | None, typer.Option(help=told, metavar=metavar)]
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def build_options(**given: Any) -> dict[str, Any]:
    """What was given, as `Index.build` takes it. --paper: the paper's setting for everything else."""
    paper = given.pop("paper")
    said = {name: _READ[name](value) if name in _READ else value for name, value in given.items() if value is not None}
    if not paper:
        return said
    return {**{name: value for name, value in PAPER.items() if name != "kernel" or "gamma" not in said}, **said}


_gamma = Annotated[float | None, typer.Option(help="Short for --kernel power:GAMMA.")]
_paper = Annotated[
    bool,
    typer.Option(
        "--paper", help="Use the paper's settings where no option says otherwise: power:3, 10 neighbours, no blend."
    ),
]
build_options.__signature__ = Signature(  # type: ignore[attr-defined]
    [
        *(_parameter(field) for field in fields(Options) if field.name not in _APART),
        Parameter("gamma", Parameter.KEYWORD_ONLY, default=None, annotation=_gamma),
        Parameter("paper", Parameter.KEYWORD_ONLY, default=False, annotation=_paper),
    ]
)

#: Gives a command these options; it receives their values as `setting`.
with_build_options = o.with_options(build_options, "setting")
