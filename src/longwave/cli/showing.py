"""The command `demo`: manifold search shown on handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longwave.advice.memory import show
from longwave.cli import results
from longwave.cli.application import app
from longwave.cli.screen import out
from longwave.errors import MissingExtraError


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Picture to write: .png, .pdf, .svg or .jpg.")] = Path("demo.png"),
    index: Annotated[Path, typer.Option(metavar="FOLDER", help="Index folder to write, for `serve`.")] = Path(
        "demo.longwave"
    ),
) -> None:
    """Compare all kinds of search on handwritten digits.

    Prints a table, writes a picture of what Euclidean and manifold search find, and keeps the digits as an index that
    `longwave serve` shows. The digits come with scikit-learn.
    """
    from longwave.experiments import demo as d

    results.check_picture(picture)
    out.print(
        f"1,797 handwritten digits, {d.N_QUERIES} of them held out as queries.\n"
        f"Graph k {d.K}, {d.NEIGHBORS} query neighbours, alpha 0.99, rank {d.RANK}.\n",
        highlight=False,
    )
    table = Table(title_style="")
    table.add_column("search")
    table.add_column("in code")
    for title in ("mAP", "ms / query", "memory"):
        table.add_column(title, justify="right")
    rows, data, queries, collection = d.run()
    for row in rows:
        table.add_row(row.name, row.how, f"{row.mean:.1f}", f"{row.milliseconds:.3f}", show(row.bytes))
    out.print(table, highlight=False)
    try:
        d.draw(rows, data, queries, collection, picture)
        drawn = f"The picture is {picture}: what is found at each rank, right in green, wrong in red."
    except MissingExtraError as error:  # the first command that people try: the table is worth having without it
        drawn = f"No picture was written: {error}"
    labelled = d.keep(index)
    out.print(
        "FSR: fast spectral ranking, by the names of the paper; printed: to the letter of the paper.\n"
        "mAP: mean average precision, higher is better, 100 at best.\n"
        f"ms: time for a query, all {d.N_QUERIES} asked at once. memory: what that search needs.\n{drawn}\n"
        f"All 1,797 digits are in {index}{'' if labelled else ', without labels: these need longwave[metadata]'}.",
        highlight=False,
        markup=False,
    )
    print(f"Look at them: longwave serve {index} (in a clone: make serve)")
