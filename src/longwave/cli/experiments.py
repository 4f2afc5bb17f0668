"""`longwave experiment` and `longwave report`: the paper's figures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longwave.cli.application import app
from longwave.errors import FileError


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
    from longwave.datasets.shared import data_folder
    from longwave.experiments import REGISTRY, Session, find
    from longwave.experiments.runner import run_all

    if name == "list":
        for known in REGISTRY:
            found = find(known)
            print(f"{known:<12} {found.paper:<38} {found.title}")
        return
    chosen = [find(known) for known in (REGISTRY if name == "all" else [name])]
    folder = data_folder(data)
    run_all(chosen, Session(quick, seed, folder), output, force=force, report=lambda text: print(text, flush=True))


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
