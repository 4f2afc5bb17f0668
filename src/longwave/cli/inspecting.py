"""What an index holds: info."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from longwave import filters
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.screen import out
from longwave.collection import open as open_collection
from longwave.inspection import describe, describe_collection


@app.command()
def info(
    index: o.IndexPath,
    filter: o.IndexFilter = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all files, and check that they are as they were written.")
    ] = False,
) -> None:
    """Show what an index holds.

    Its sizes, how it was built, the parts of its graph, how exact the basis is, what a search does by default, and how
    much memory it takes. The line "in words" says the most important in plain words.
    """
    collection = open_collection(index, verify=verify)
    opened = collection.index
    h = filters.parse(opened.settings.search.filter if filter is None else filter)
    table = Table(show_header=False, box=None)
    for name, value in (describe(opened, h) | describe_collection(collection)).items():
        table.add_row(name, escape(value))
    if verify:
        table.add_row("checksums", "all files are as they were written")
    out.print(table, highlight=False)
