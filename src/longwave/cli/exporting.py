"""The command `export`: an index written to a vector engine that you already have."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer

from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.screen import err
from longwave.collection import Collection
from longwave.collection import open as open_collection
from longwave.engines.opening import FORMS, NAME
from longwave.errors import RemoteError
from longwave.progress import bars

EngineName = Annotated[str, typer.Option("--name", metavar="NAME", help="What the collection is called in the engine.")]


@app.command()
def export(
    index: o.IndexPath,
    url: Annotated[str, typer.Argument(metavar="URL", help=f"The engine: {FORMS}.")],
    name: EngineName = NAME,
    exact: Annotated[
        bool, typer.Option("--exact", help="Make no index of vectors there: searches scan all rows.")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Write everything, whatever is there: where it was damaged.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Stay, and write what is added and removed, until Ctrl-C.")
    ] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks, with --follow.")] = 5.0,
) -> None:
    """Write an index to a vector engine, to search it there.

    Vectors, spectral coordinates, ids and metadata become rows of the engine; `longwave search URL` and
    `longwave.Remote(URL)` then ask it. What was there before stays until the new export is complete. Called again, it
    goes on where it was broken off, or writes what has changed since.

    \b
    longwave export photos.longwave postgresql://me@localhost/shop
    longwave export photos.longwave qdrant://localhost --name photos --follow
    longwave export photos.longwave duckdb:photos.duckdb --exact
    longwave search duckdb:photos.duckdb queries.npy -k 5
    """
    with open_collection(index) as opened:
        with bars() as report:
            done = opened.export(url, name=name, approximate=not exact, anew=anew, progress=report)
        err.print(str(done), markup=False, highlight=False, soft_wrap=True)
        if follow:
            keep_following(opened, url, name=name, exact=exact, wait=lambda: time.sleep(interval))


def keep_following(opened: Collection, url: str, *, name: str, exact: bool, wait: Callable[[], None]) -> None:
    """Write every change, forever. While an engine cannot be reached this is said, and it is asked again."""
    written: int | None = opened.version
    while True:
        wait()
        opened.reload()
        if opened.version == written:
            continue
        try:
            done = opened.export(url, name=name, approximate=not exact, progress=False)
        except RemoteError as error:
            written = None
            err.print(f"{error}; trying again", markup=False, highlight=False, soft_wrap=True)
            continue
        written = opened.version
        err.print(f"version {written}: {done}", markup=False, highlight=False, soft_wrap=True)
