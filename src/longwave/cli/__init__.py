"""The command line: every command is the library, with files in and tables out."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

import longwave
from longwave import filters, storage
from longwave.cli import options as o
from longwave.cli import results, truth
from longwave.cli.display import err, out, progress_bars, warn_in_one_line
from longwave.errors import InputError, LongwaveError
from longwave.evaluation import average_precision
from longwave.index import Index
from longwave.resources import machine_memory, parse_size, show
from longwave.types import COPIED, Filter
from longwave.vectors import row_blocks

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


@app.command()
def build(
    vectors: Annotated[str, typer.Argument(metavar="VECTORS", help=f"Vectors, one per row ({o.FILES}).")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="INDEX", help="The index folder to write.")],
    groups: Annotated[
        str | None, typer.Option(metavar="F", help=f"Item of each vector, for regional search ({o.LABELS}).")
    ] = None,
    ids: Annotated[
        str | None, typer.Option(metavar="F", help=f"Id of each item; row numbers by default ({o.LABELS}).")
    ] = None,
    lists: Annotated[
        str | None,
        typer.Option(metavar="F", help="Neighbours from elsewhere: .npz with ids, similarities; or .npy of ids."),
    ] = None,
    k: Annotated[int, typer.Option(help="Neighbours of each vector in the graph, itself not counted.")] = 50,
    recall: Annotated[
        float | None, typer.Option(help="Of the neighbour lists: 1 is exact. By default 1, and 0.95 for large sets.")
    ] = None,
    gamma: Annotated[float, typer.Option(help="Similarity is the dot product to this power.")] = 3.0,
    spectrum: Annotated[
        str, typer.Option(help="chebyshev, lanczos, simultaneous (as printed), exact, or none.")
    ] = "chebyshev",
    rank: Annotated[int | None, typer.Option(help="Eigenpairs to keep: 1000 by default, all for exact.")] = None,
    oversampling: Annotated[int | None, typer.Option(help="Extra columns of the iteration.")] = None,
    iterations: Annotated[int | None, typer.Option(help="simultaneous: rounds (6 by default).")] = None,
    components: Annotated[
        str, typer.Option(help="blocks (each by itself), giant (the largest only) or whole.")
    ] = "blocks",
    min_rank: Annotated[int, typer.Option(help="blocks: eigenpairs that every component keeps.")] = 5,
    pooling: Annotated[str, typer.Option(help="Regions to items: gmp or sum.")] = "gmp",
    sparsity: Annotated[float | None, typer.Option(help="Fraction of the basis to drop, such as 0.9.")] = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    workdir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep finished stages and rounds here; the same command resumes."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="INDEX", help="An earlier index of the same vectors but for new ones at the end, to begin with."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="At most, such as 20G; what the machine has by default.")
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Add approximate searches: one query then takes sublinear time.")
    ] = False,
    first: Annotated[
        str | None, typer.Option(metavar="KIND", help="--fast: over the vectors, as faiss names it (HNSW32).")
    ] = None,
    second: Annotated[
        str | None, typer.Option(metavar="KIND", help="--fast: over the basis, as faiss names it (HNSW32,SQfp16).")
    ] = None,
    precompute: Annotated[
        str | None, typer.Option(metavar="H", help="Store rows for this filter, for --solver precomputed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an index that is there.")] = False,
) -> None:
    """Build an index: neighbour graph and Fourier basis, once, offline.

    \b
    longwave build photos.npy -o photos.longwave
    longwave build regions.npy --groups photo_of_region.npy --k 200 -o photos.longwave
    longwave build photos.npy --spectrum none -o photos.longwave      (for --solver cg only)
    """
    storage.check_target(output, force=force)
    method = o.spectrum_from(spectrum, rank, oversampling, iterations)
    stored = None if precompute is None else filters.parse(precompute)
    if not fast and (first or second):
        raise InputError("--first and --second need --fast")
    group_labels, item_ids = o.labels_from(groups), o.labels_from(ids)
    began = time.perf_counter()
    with progress_bars() as progress:
        index = Index.build(
            o.vectors_from(vectors),
            groups=group_labels,
            ids=item_ids,
            lists=None if lists is None else o.lists_from(lists),
            k=k,
            recall=recall,
            gamma=gamma,
            spectrum=method,
            components=components,
            min_rank=min_rank,
            pooling=pooling,
            sparsity=sparsity,
            seed=seed,
            start=None if start is None else Index.load(start),
            workdir=workdir,
            memory=memory,
            progress=progress,
        )
    if fast:
        with err.status("making the approximate searches"):
            index = index.accelerate(first=first or "HNSW32", second=second or "HNSW32,SQfp16")
    if stored is not None:
        with progress_bars() as progress:
            index = index.precompute(filter=stored, progress=progress)
    index.save(output, force=force)
    rank_text = "no basis" if index.spectrum is None else f"rank {index.spectrum.rank:,}"
    print(f"{output}: {len(index):,} items, {rank_text}, {time.perf_counter() - began:.1f} s")


@app.command()
def advise(
    source: Annotated[
        str, typer.Argument(metavar="VECTORS|INDEX", help=f"Vectors, one per row ({o.FILES}), or an index folder.")
    ],
    k: Annotated[int, typer.Option(help="Neighbours of each vector in the graph, itself not counted.")] = 50,
    recall: Annotated[
        float | None, typer.Option(help="Of the neighbour lists: 1 is exact. By default 1, and 0.95 for large sets.")
    ] = None,
    gamma: Annotated[float, typer.Option(help="Similarity is the dot product to this power.")] = 3.0,
    filter: o.FilterText = "lowpass:0.99",
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="What the basis may take, such as 20G; the machine's by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
) -> None:
    """Which rank? What each keeps of the filter, its memory and time; no basis is computed.

    \b
    longwave advise photos.npy
    longwave advise photos.longwave --filter heat:10
    longwave advise photos.npy --memory 8G
    """
    from longwave import planning

    h = filters.parse(filter)
    limit = machine_memory() if memory is None else parse_size(memory)
    if storage.is_index(Path(source)):
        index = Index.load(source)
    else:
        with progress_bars() as progress:
            index = Index.build(
                o.vectors_from(source), k=k, recall=recall, gamma=gamma, spectrum=None, seed=seed, progress=progress
            )
    parts = index.memory()
    held = parts["vectors"] + 2 * parts["graph"]
    with err.status("estimating the eigenvalues"):
        advice = planning.advise(index.graph, filter=h, memory=None if limit is None else limit - held, seed=seed)
    out.print(
        f"{advice.vertices:,} vertices in {advice.components:,} component(s) share the rank; "
        f"{advice.exact:,} others are solved exactly at any rank.",
        highlight=False,
    )
    table = Table()
    for title in ("rank", "smallest eigenvalue", "energy kept", "error with complement", "memory", "time"):
        table.add_column(title, justify="right")
    for row in advice.rows:
        cells = (f"{row.rank:,}", f"{row.eigenvalue:.4f}", f"{row.energy:.1%}", f"{row.error:.1%}", show(row.memory))
        mark = "bold" if row is advice.suggested else None
        table.add_row(*cells, f"{row.seconds:,.0f} s" if row.seconds >= 1 else "< 1 s", style=mark)
    out.print(table, highlight=False)
    out.print(
        f"Suggested: --rank {advice.suggested.rank} ({advice.reason}).\n"
        "energy: share of the squared response of the filter over all eigenvalues. error: of h(W)y for a random y.\n"
        "memory and time: of the basis, at its peak, on this machine.",
        highlight=False,
    )


@app.command()
@o.with_search_options
def search(
    index: o.IndexPath,
    queries: o.Queries,
    k: Annotated[int, typer.Option("-k", help="Hits per query.")] = 10,
    output: o.HitsFile = None,
    *,
    chosen: dict[str, Any],
) -> None:
    """Rank the items of an index along the manifold, for each query.

    \b
    longwave search photos.longwave queries.npy -k 5
    longwave search photos.longwave queries.npy --filter heat:10 -o hits.csv
    longwave search photos.longwave queries.npy --solver hybrid --tolerance 1e-3
    """
    results.check_output(output)
    with err.status("searching"):
        hits = Index.load(index).search(o.vectors_from(queries), k, **chosen)
    results.deliver(hits, output, "queries")


@app.command()
@o.with_search_options
def similar(
    index: o.IndexPath,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Items of the index.")],
    k: Annotated[int, typer.Option("-k", help="Hits per item.")] = 10,
    output: o.HitsFile = None,
    *,
    chosen: dict[str, Any],
) -> None:
    """More like these: items of the index are the queries; each is left out of its own hits.

    \b
    longwave similar photos.longwave 17 42
    longwave similar photos.longwave beach-3.jpg -k 20
    """
    for name in ("query_groups", "weights"):
        if chosen.pop(name) is not None:
            raise InputError(f"similar takes its queries from the index; leave out --{name.replace('_', '-')}")
    results.check_output(output)
    opened = Index.load(index)
    hits = opened.search_by_id(o.ids_from(ids, opened.ids), k, **chosen)
    results.deliver(hits, output, "items")


@app.command()
def explain(
    index: o.IndexPath,
    queries: o.Queries,
    item: Annotated[str, typer.Argument(metavar="ID", help="The item to explain.")],
    row: Annotated[int, typer.Option(help="Which row of QUERIES.")] = 0,
    filter: o.FilterText = "lowpass:0.99",
    neighbors: o.NeighborsOption = 10,
) -> None:
    """Why an item was found: what each neighbour of the query contributes, and the way through the graph.

    \b
    longwave explain photos.longwave queries.npy 4711 --row 3
    """
    opened = Index.load(index)
    vectors = o.vectors_from(queries)
    if not 0 <= row < len(vectors):
        raise InputError(f"--row must be from 0 to {len(vectors) - 1}, got {row}")
    (name,) = o.ids_from([item], opened.ids)
    print(opened.explain(vectors[row], name, filter=filters.parse(filter), neighbors=neighbors))


@app.command()
def info(
    index: o.IndexPath,
    filter: o.FilterText = "lowpass:0.99",
    verify: Annotated[bool, typer.Option("--verify", help="Read all files and compare their checksums.")] = False,
) -> None:
    """Show what an index holds: sizes, components, eigenvalues, residuals, memory, error of the truncation."""
    h = filters.parse(filter)
    table = Table(show_header=False, box=None)
    for name, value in describe(Index.load(index, verify=verify), h).items():
        table.add_row(name, escape(value))
    if verify:
        table.add_row("checksums", "all files are as they were written")
    out.print(table, highlight=False)


def describe(index: Index, h: Filter) -> dict[str, str]:
    """The lines of `longwave info`."""
    settings = asdict(index.settings)
    sizes = index.graph.component_sizes
    degree = np.diff(index.graph.normalized.indptr)
    lines = {
        "items": f"{len(index):,}",
        "vectors": f"{len(index.vectors):,} × {index.dimension}",
        "built with": ", ".join(f"{k}={settings[k]}" for k in ("gamma", "components", "pooling", "sparsity", "seed")),
        "graph": f"{index.graph.normalized.nnz // 2:,} edges, {degree.mean():.1f} per vertex, k {settings['k_used']}",
        "components": f"{len(sizes):,}, the largest {sizes[0]:,} vertices, {int((degree == 0).sum()):,} isolated",
    }
    if settings["k_used"] < settings["k"] and settings["recall"] is not None:
        lines["graph"] += f" (clipped from {settings['k']}: there are only {index.graph.n_vertices} vectors)"
    measured = settings["recall"]
    lines["graph"] += ", lists " + (
        "given" if measured is None else "exact" if measured == 1 else f"of recall {measured:.3f}"
    )
    added = len(index.vectors) - index.graph.n_vertices
    if added:
        lines["extension"] = f"{added:,} vectors outside of the graph"
    s = index.spectrum
    if s is None:
        lines["basis"] = "none; search with --solver cg, walk or chebyshev"
    else:
        asked = settings["spectrum"]
        lines["basis"] = f"rank {s.rank:,} of {index.graph.n_vertices:,} vertices, by {asked}"
        wanted = settings["rank"]
        if wanted is not None and wanted > index.graph.n_vertices:
            lines["basis"] += f" (clipped: there are only {index.graph.n_vertices:,} vertices)"
        elif wanted is not None and wanted != s.rank:
            lines["basis"] += f" ({wanted:,} asked for; small components are kept whole, and shares are rounded)"
        if s.rank:
            lines["eigenvalues"] = f"{s.eigenvalues.max():.6f} … {s.eigenvalues.min():.6f}"
            lines["residuals"] = f"median {np.median(s.residuals):.1e}, largest {s.residuals.max():.1e}"
        lines["row norms η"] = f"median {np.median(s.row_norms):.3f}, smallest {s.row_norms.min():.3f}"
        if s.next_eigenvalue is None:
            lines["truncation"] = "none: the basis is complete"
        else:
            bound = s.truncation_bound(h)
            with_complement = s.truncation_bound(h, complement=True)
            lines["truncation"] = (
                f"largest eigenvalue left out about {s.next_eigenvalue:.4f}; for {h!r} the error is at most "
                f"{bound:.2g} · ‖y‖ as printed, {with_complement:.2g} · ‖y‖ with the complement"
            )
        if settings["sparsity"]:
            lines["truncation"] += f"; {settings['sparsity']:.0%} of the entries were dropped, see the residuals"
        if (s.kinds == COPIED).any():
            lines["truncation"] += "; outside of the giant component y is copied"
    for name in ("first", "second"):
        if settings[name]:
            kept = index.settings.first if name == "first" else index.settings.second
            assert kept is not None
            lines[f"{name} search"] = (
                f"approximate: {kept.kind}, effort {kept.effort}, recall {kept.recall:.3f} measured"
            )
    if settings["rows"]:
        lines["rows"] = f"precomputed for {settings['rows']}"
    lines["memory"] = ", ".join(f"{part} {show(n)}" for part, n in index.memory().items() if n)
    return lines


@app.command()
@o.with_search_options
def evaluate(
    index: o.IndexPath,
    queries: o.Queries,
    truth_file: Annotated[
        Path | None,
        typer.Option(
            "--truth", metavar="F", help='JSON: {"queries": [{"positive": [...], "junk": [...]}, ...]}, ids of items.'
        ),
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="F", help=f"Label of each item, instead of --truth ({o.LABELS}).")
    ] = None,
    query_labels: Annotated[str | None, typer.Option(metavar="F", help="Label of each query.")] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the average precision of each query.")] = False,
    *,
    chosen: dict[str, Any],
) -> None:
    """Search with known answers and print mAP (trapezoid of the Oxford protocol; junk counts neither way).

    \b
    longwave evaluate oxford.longwave queries.npy --truth truth.json --solver euclidean
    longwave evaluate digits.longwave queries.npy --labels items.npy --query-labels queries_labels.npy
    """
    opened = Index.load(index)
    if truth_file is not None and labels is None:
        judgements = truth.from_json(truth_file, opened)
    elif labels is not None and truth_file is None:
        judgements = truth.from_labels(labels, query_labels, opened)
    else:
        raise InputError("give the ground truth either with --truth F or with --labels F and --query-labels F")
    vectors = o.vectors_from(queries)
    if chosen["where"] is not None:
        raise InputError("evaluate ranks all items; leave out --where")
    given, weights = chosen.pop("query_groups"), chosen.pop("weights")
    query_of = np.arange(len(vectors)) if given is None else given
    if len(query_of) != len(vectors):
        raise InputError(f"--query-groups has {len(query_of)} entries but there are {len(vectors)} query rows")
    if weights is not None and len(weights) != len(vectors):
        raise InputError(f"--weights has {len(weights)} entries but there are {len(vectors)} query rows")
    n_queries = int(query_of.max()) + 1
    if n_queries != len(judgements):
        raise InputError(f"there are {n_queries} queries but ground truth for {len(judgements)}")
    opened.search(vectors[:1], len(opened), **chosen)  # load compiled code outside of the time
    judged: list[tuple[int, float]] = []
    start = time.perf_counter()
    with progress_bars() as progress:
        for chunk in row_blocks(n_queries, len(opened)):  # a whole ranking each: not all of them at once
            rows = (query_of >= chunk.start) & (query_of < chunk.stop)
            own = {"query_groups": query_of[rows] - chunk.start, "weights": None if weights is None else weights[rows]}
            hits = opened.search(vectors[rows], len(opened), **own, **chosen)
            pairs = zip(range(chunk.start, chunk.stop), hits.ids, strict=True)
            judged += [(q, average_precision(ids, judgements[q])) for q, ids in pairs if judgements[q].positive]
            progress("queries", chunk.stop, n_queries)
    elapsed = time.perf_counter() - start
    if not judged:
        raise InputError("no query has a positive item; there is nothing to evaluate")
    if per_query:
        for q, value in judged:
            print(f"query {q}: {100 * value:.2f}")
    left_out = n_queries - len(judged)
    print(
        f"mAP {100 * np.mean([value for _, value in judged]):.2f} over {len(judged)} queries"
        + (f" ({left_out} without positives left out)" if left_out else "")
        + f", {1000 * elapsed / n_queries:.2f} ms per query for the whole ranking"
    )


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("demo.png"),
) -> None:
    """Handwritten digits: Euclidean search against every variant of manifold search, in one table and a picture."""
    from longwave import demo as d

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
    d.draw(rows, data, queries, collection, picture)
    out.print(
        "mAP: mean average precision, higher is better.\n"
        f"ms: both searches and the whole ranking, in a batch of {d.N_QUERIES}. memory: what that search keeps.\n"
        f"The picture is {picture}: hits at growing rank, right and wrong marked.",
        highlight=False,
    )


def main() -> None:
    """Run the command line; an error of Longwave's is one line on stderr and exit code 1."""
    warn_in_one_line()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × or λ still gets its answer
    try:
        app()
    except LongwaveError as error:
        print(f"longwave: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"longwave: cannot write the output: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("longwave: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
