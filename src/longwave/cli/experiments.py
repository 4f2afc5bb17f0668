"""The commands `experiment` and `report`: the paper's figures and tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from longwave.cli.application import app
from longwave.cli.screen import out
from longwave.errors import FileError

if TYPE_CHECKING:
    from longwave.experiments import Experiment


@app.command()
def experiment(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of an experiment, `all`, or `list` to see what there is.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write JSON and pictures to.")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of the data, see docs/experiments.md; by default the one that LONGWAVE_DATA names.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use small sets and low ranks: minutes, but only the shapes of curves count."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Run again what is done with the same settings.")] = False,
) -> None:
    """Repeat a figure or table of the paper on real data.

    Writes what it found as JSON, and draws the picture. What is done with the same settings is not run again, so that
    `all` goes on where it was stopped. Experiments whose data are not there are left out and listed at the end.

    \b
    longwave experiment list
    longwave experiment rank -o results
    longwave experiment all --quick -o results
    """
    from longwave.datasets.shared import VARIABLE, data_folder
    from longwave.experiments import REGISTRY, Session, find
    from longwave.experiments.runner import run_all

    if name == "list":
        list_experiments([find(known) for known in REGISTRY])
        return
    chosen = [find(known) for known in (REGISTRY if name == "all" else [name])]
    if data is not None or os.environ.get(VARIABLE):
        data_folder(data)  # named, so it must be there
    run_all(chosen, Session(quick, seed, data), output, force=force, report=lambda text: print(text, flush=True))
    print(f"One page of all: longwave report {output}")


def list_experiments(known: list[Experiment]) -> None:
    """On a terminal a table; in a pipe a line each, tab-separated."""
    rows = [(found.name, found.paper, found.title, ", ".join(found.needs) or "nothing") for found in known]
    if not out.is_terminal:
        for row in rows:
            print(*row, sep="\t")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("name", "what it shows", "data it needs"):
        table.add_column(title)
    for name, _, shows, needs in rows:
        table.add_row(name, shows, needs)
    out.print(table, highlight=False)
    print("docs/experiments.md describes the data, and says which figure or table of the paper each is.")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that `longwave experiment` has written.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="F", help="Page to write; by default FOLDER/index.html.")
    ] = None,
) -> None:
    """Collect experiments into one HTML page.

    The page needs no other file. It has the claims of the paper and whether they hold, figures, tables and settings.

    \b
    longwave report results
    """
    from longwave.experiments.report import page
    from longwave.experiments.runner import write

    if not folder.is_dir():
        raise FileError(f"there is no folder {folder}; make one with: longwave experiment all -o {folder}")
    target = output or folder / "index.html"
    write(target, page(folder))
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
