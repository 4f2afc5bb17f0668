"""`longwave experiment` and `longwave report`: the paper's figures and tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from longwave.cli.application import app
from longwave.cli.display import out
from longwave.errors import FileError

if TYPE_CHECKING:
    from longwave.experiments import Experiment


@app.command()
def experiment(
    name: Annotated[
        str, typer.Argument(metavar="NAME|all", help="An experiment, `all`, or `list` to see what there is.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where JSON and pictures go.")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The data; by default that of LONGWAVE_DATA, or ../shared/data beside the clone."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sets and low ranks: minutes, shapes only.")] = False,
    seed: Annotated[int, typer.Option(help="Of all random choices.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Run again what is done with the same settings.")] = False,
) -> None:
    """Run the experiment behind a figure or table of the paper, on real data; write raw JSON and the picture.

    What is there with the same settings is left as it is, so that `all` goes on where it was stopped. A second run
    with the same seed gives the same JSON but for the times.

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
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where `longwave experiment` wrote.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="F", help="The page; FOLDER/index.html by default.")
    ] = None,
) -> None:
    """Collect the runs of a folder into one HTML page that needs nothing else: checks, figures, tables, settings.

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
