"""The commands `embed` and `kernel`: the manifold as points, and as a measure of similarity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from longwave import filters
from longwave.cli import options as o
from longwave.cli import results
from longwave.cli.application import app
from longwave.cli.reading import vectors_from
from longwave.errors import InputError, writing
from longwave.index import Index
from longwave.types import Array

_SUFFIXES = (".npy", ".csv")

NumbersFile = Annotated[
    Path, typer.Option("-o", "--output", metavar="F", help="File to write the numbers to, a row each: .npy or .csv.")
]


@app.command()
def embed(
    index: o.IndexPath,
    output: NumbersFile,
    vectors: Annotated[
        str | None,
        typer.Argument(
            metavar="[VECTORS]", help=f"Vectors, one per row ({o.FILES}). Without them: the items of the index."
        ),
    ] = None,
    filter: o.IndexFilter = None,
    neighbors: o.NeighborsOption = None,
) -> None:
    """Write vectors or items as points on the manifold.

    The dot product of two points is the manifold kernel of the two: how similar they are along the graph. Use them
    where a program takes vectors: for clustering, a map, or another search engine.

    \b
    longwave embed photos.longwave -o items.npy
    longwave embed photos.longwave new.npy -o new-points.npy
    """
    results.check_output(output, index, [vectors] if vectors else [], suffixes=_SUFFIXES)
    opened = Index.load(index)
    h = None if filter is None else filters.parse(filter)
    if vectors is None:
        if neighbors is not None:
            raise InputError("--neighbors is for VECTORS; items of the index have their place already")
        points = opened.embedding(filter=h)
    else:
        points = opened.embed(vectors_from(vectors), filter=h, neighbors=neighbors)
    _write(points, output)


@app.command()
def kernel(
    index: o.IndexPath,
    first: Annotated[str, typer.Argument(metavar="FIRST", help=f"Vectors, one per row ({o.FILES}).")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Vectors to compare them with; FIRST again is fine.")],
    output: NumbersFile,
    filter: o.IndexFilter = None,
    neighbors: o.NeighborsOption = None,
) -> None:
    """Write how similar vectors are along the manifold.

    A row for each of FIRST, a column for each of SECOND. The matrix is positive semi-definite where both are the same:
    a kernel for any program that takes one.

    \b
    longwave kernel photos.longwave a.npy b.npy -o similar.npy
    """
    results.check_output(output, index, [first, second], suffixes=_SUFFIXES)
    opened = Index.load(index)
    h = None if filter is None else filters.parse(filter)
    options = {"filter": h, "neighbors": neighbors}
    _write(opened.kernel(vectors_from(first), vectors_from(second), **options), output)  # type: ignore[arg-type]


def _write(numbers: Array, path: Path) -> None:
    with writing(path):
        if path.suffix == ".npy":
            np.save(path, numbers)
        else:
            np.savetxt(path, numbers, delimiter=",", fmt="%.9g")
    print(f"{path}: {numbers.shape[0]:,} × {numbers.shape[1]:,} numbers")
