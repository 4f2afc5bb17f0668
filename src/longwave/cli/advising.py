"""The command `advise`: which rank a collection needs, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from longwave import filters, storage
from longwave.advice import rank as ranks
from longwave.advice import scale
from longwave.advice.memory import parse_size, show
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.reading import vectors_from
from longwave.cli.screen import err, out
from longwave.errors import InputError, plural
from longwave.graph import weights as kernels
from longwave.graph.mutual import Graph
from longwave.index import Index
from longwave.machine import machine_memory as memory_here
from longwave.progress import bars
from longwave.spectrum import Exact
from longwave.spectrum.advised import Advised


@app.command()
def advise(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[VECTORS|INDEX]", help=f"Vectors, one per row ({o.FILES}), or an index folder."),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Instead of a file: plan a build of so many vectors, such as 1e8, on a cluster."
        ),
    ] = None,
    dimensions: Annotated[int | None, typer.Option(metavar="D", help="With --vectors: their dimensions.")] = None,
    rank: Annotated[
        int | None, typer.Option(help="With --vectors: the rank; by default what their number suggests.")
    ] = None,
    cores: Annotated[int, typer.Option(help="With --vectors: cores of one machine.")] = 32,
    machine_memory: Annotated[
        str, typer.Option(metavar="SIZE", help="With --vectors: memory of one machine, such as 256G.")
    ] = "256G",
    network: Annotated[float, typer.Option(help="With --vectors: gigabits per second between machines.")] = 10.0,
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
    longwave advise --vectors 1e8 --dimensions 768
    """
    if (source is None) == (vectors is None):
        raise InputError("give a file of vectors or an index, or --vectors N and --dimensions D for a plan")
    if vectors is not None:
        machine = scale.Machine(cores, parse_size(machine_memory), network * 1e9 / 8)
        _show_plan(scale.plan(*_size(vectors, dimensions), k=k, rank=rank, machine=machine))
        return
    assert source is not None
    h = filters.parse(filter)
    limit = memory_here() if memory is None else parse_size(memory)
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


def _size(vectors: str, dimensions: int | None) -> tuple[int, int]:
    """The size of a collection as it is written: 1e8, 100000000."""
    if dimensions is None:
        raise InputError("--vectors needs --dimensions D, the dimensions of a vector")
    try:
        count = float(vectors)
    except ValueError:
        count = 0.0
    if not 1 <= count <= 1e12 or dimensions < 1:
        raise InputError(
            f"--vectors is a number from 1 to 1e12 and --dimensions at least 1, got {vectors}, {dimensions}"
        )
    return int(count), dimensions


def _show_plan(made: scale.Plan) -> None:
    """Machines, hours, memory, and every stage."""
    work, machine = made.collection, made.machine
    out.print(
        f"{work.n:,} vectors of {work.dimension:,} dimensions, k {work.k}, rank {work.rank:,}: "
        f"{plural(made.machines, 'machine')} of {machine.cores} cores and {show(machine.memory)}, "
        f"about {_time(made.hours)}, by {made.engine}.",
        highlight=False,
    )
    table = Table()
    for title in ("stage", "operations", "core-hours", "over the network", "to the disk"):
        table.add_column(title, justify="left" if title == "stage" else "right")
    for stage in made.stages:
        cells = (
            stage.name,
            f"{stage.operations:.1e}",
            f"{stage.seconds / 3600:,.2f}",
            show(stage.network),
            show(stage.disk),
        )
        table.add_row(*cells)
    out.print(table, highlight=False)
    out.print(
        f"memory of all machines: {show(made.memory)}; of the process that hands out the work: {show(made.driver)}.\n"
        f"the basis: {show(made.basis)}; a quarter of that as int8 (Index.compress).\n"
        f"{work.blocks:,} blocks of rows, {work.cells:,} cells. Formulas and how they were checked: docs/scale.md.",
        highlight=False,
    )


def _time(hours: float) -> str:
    """Hours as people say them."""
    if hours < 2:
        return plural(max(1, round(60 * hours)), "minute")
    return f"{hours:,.1f} hours" if hours < 48 else f"{hours / 24:,.1f} days"


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
