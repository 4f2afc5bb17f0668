"""The command `info`: what an index holds, and whether it is well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from longwave import filters
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.screen import out
from longwave.collection import open as open_collection
from longwave.inspection import describe, describe_collection, summarize


@app.command()
def info(
    index: o.IndexPath,
    details: Annotated[
        bool, typer.Option("--details", help="Show the numbers for experts too: graph, basis, error, plan, settings.")
    ] = False,
    filter: Annotated[
        str | None,
        typer.Option("--filter", metavar="H", help=f"Show the details, with the error for this filter: {o.FILTERS}."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all files, and check that they are as they were written.")
    ] = False,
) -> None:
    """Show what an index holds, in plain words.

    What is in it, how its items are connected, what a search does, how good that was measured to be, how much memory it
    takes, and what to do where something is not well. With --details the numbers behind it follow.

    \b
    longwave info photos.longwave
    longwave info photos.longwave --details
    """
    collection = open_collection(index, verify=verify)
    opened = collection.index
    lines = summarize(collection)
    if verify:
        lines["checksums"] = "All files are as they were written."
    _show(lines)
    if details or filter is not None:
        h = filters.parse(opened.settings.search.filter if filter is None else filter)
        out.print()
        _show(describe(opened, h) | describe_collection(collection))


def _show(lines: Mapping[str, str]) -> None:
    """A line for each title, in columns."""
    table = Table(show_header=False, box=None)
    for title, text in lines.items():
        table.add_row(title, escape(text))
    out.print(table, highlight=False)
