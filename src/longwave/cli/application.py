"""The application that all commands are registered with."""

from __future__ import annotations

from typing import Annotated

import typer

import longwave

app = typer.Typer(
    help="""Manifold search for embeddings at the speed of Euclidean search.

    Nearest neighbours miss what is connected to a query through a chain of neighbours: another view, another light.
    Longwave finds it. Build an index of your vectors or pictures once, then search it. No option is needed to begin.

    \b
    longwave build photos.npy -o photos.longwave    one vector per row
    longwave search photos.longwave queries.npy     a table of hits
    longwave build --images holiday/ -o h.longwave  a folder of pictures
    longwave search h.longwave beach.jpg            pictures like this one
    """,
    epilog="See it work: longwave demo. Help for a command: longwave COMMAND --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(longwave.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options before the command."""
