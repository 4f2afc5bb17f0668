"""Which rank: advise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longwave import filters, storage
from longwave.advice import rank as ranks
from longwave.advice.memory import machine_memory, parse_size, show
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.reading import vectors_from
from longwave.cli.screen import err, out
from longwave.errors import plural
from longwave.graph import weights as kernels
from longwave.graph.mutual import Graph
from longwave.index import Index
from longwave.progress import bars
from longwave.spectrum import Exact
from longwave.spectrum.advised import Advised


@app.command()
def advise(
    source: Annotated[
        str, typer.Argument(metavar="VECTORS|INDEX", help=f"Vectors, one per row ({o.FILES}), or an index folder.")
    ],
    k: Annotated[int, typer.Option(help="Neighbours of each vector in the graph, itself not counted.")] = 50,
    recall: Annotated[
        float | None,
        typer.Option(
            help="Share of the true neighbours to find; 1 is exact. By default 1, and 0.99 beyond 30,000 vectors."
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Weight of neighbours in the graph: local (the default), or power:3 (the paper's)."),
    ] = None,
    filter: o.FilterText = "lowpass:0.99",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory that the basis may take, such as 20G; by default what the machine has."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")] = 0,
) -> None:
    """Show what each rank keeps, and what it costs.

    Not needed to begin: `build` chooses a rank by itself. The rank is the size of the basis. This shows for some ranks
    how much of the exact answer a basis of that size would keep, and how much memory and time it takes to compute.
    Nothing is computed yet; `build` does that.

    \b
    longwave advise photos.npy
    longwave advise photos.longwave --filter heat:10
    longwave advise photos.npy --memory 8G
    """
    h = filters.parse(filter)
    limit = machine_memory() if memory is None else parse_size(memory)
    is_built = storage.is_index(Path(source))
    if is_built:
        index = Index.load(source)
    else:
        with bars() as progress:
            chosen = None if kernel is None else kernels.parse(kernel)
            index = Index.build(
                vectors_from(source), k=k, recall=recall, kernel=chosen, spectrum=None, seed=seed, progress=progress
            )
    parts = index.memory()
    held = parts["vectors"] + 2 * parts["graph"]
    with err.status("estimating the eigenvalues"):
        advice = ranks.advise(index.graph, filter=h, memory=None if limit is None else limit - held, seed=seed)
        begin = "" if is_built else f"Begin without --rank: {_of_build(index.graph, kernel is None, seed)}.\n"
    out.print(
        f"{plural(advice.vertices, 'vertex', 'vertices')} in {plural(advice.components, 'component')} share the rank; "
        f"{advice.exact:,} more are solved exactly at any rank.",
        highlight=False,
    )
    table = Table()
    for title in ("rank", "smallest eigenvalue", "energy kept", "error", "memory", "time"):
        table.add_column(title, justify="right")
    for row in advice.rows:
        cells = (f"{row.rank:,}", f"{row.eigenvalue:.4f}", f"{row.energy:.1%}", f"{row.error:.1%}", show(row.memory))
        mark = "bold" if row is advice.suggested else None
        table.add_row(*cells, f"{row.seconds:,.0f} s" if row.seconds >= 1 else "< 1 s", style=mark)
    out.print(table, highlight=False)
    out.print(
        f"{begin}For a basis that answers alone: --rank {advice.suggested.rank} ({advice.reason}).\n"
        "energy kept: share of all that the filter lets pass.\n"
        "error: how far the scores of a random query are off, relatively.\n"
        "memory and time: to compute the basis, on this machine.",
        highlight=False,
    )


def _of_build(graph: Graph, may_soften: bool, seed: int) -> str:
    """What `build` does with this graph where no rank is given, in words. may_soften: no kernel was asked for."""
    own = Advised()
    solved = "and solves on the graph what this leaves out of the first hits"
    if may_soften and not own.serves(graph, seed=seed):
        return f"`build` then makes weights that fewer waves can follow, takes rank {own.rank:,} at most, {solved}"
    chosen = own.for_graph(graph, seed=seed)
    if isinstance(chosen, Exact):
        return "`build` then takes all eigenvectors, and nothing is left out"
    return f"`build` then takes rank {getattr(chosen, 'rank', own.rank):,} {solved}"
