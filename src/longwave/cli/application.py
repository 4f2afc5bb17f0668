"""The application that all commands are registered with."""

from __future__ import annotations

from typing import Annotated

import typer

import longwave

app = typer.Typer(
    help="Manifold search for embeddings at the speed of Euclidean search.",
    epilog="Start with: longwave demo",
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
