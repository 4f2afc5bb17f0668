"""Commands of the offline stage: build, advise, tune."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from longwave import filters, storage
from longwave.advice.memory import machine_memory, parse_size, show
from longwave.cli import options as o
from longwave.cli import pictures, truth
from longwave.cli.application import app
from longwave.cli.display import err, out
from longwave.cli.results import check_apart
from longwave.errors import InputError, plural
from longwave.evaluation import Judgement, average_precision, label_judgements
from longwave.evaluation.tuning import Tuning
from longwave.graph import weights as kernels
from longwave.index import PAPER, Index
from longwave.pictures import index_facts
from longwave.progress import bars
from longwave.rows.encoded import NUMBERS, check_basis_kind, check_kind
from longwave.rows.vectors import unit_queries, unit_vectors
from longwave.stores.faiss import check_search
from longwave.types import Array


@app.command()
@pictures.with_description_options
def build(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="INDEX", help="The index folder to write.")],
    vectors: Annotated[str | None, typer.Argument(metavar="VECTORS", help=f"Vectors, one per row ({o.FILES}).")] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of pictures, instead of VECTORS; --encoder to --workers are for them."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the item of each vector, where items have several ({o.LABELS})."),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the id of each item; by default its row number ({o.LABELS})."),
    ] = None,
    lists: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="File with the neighbours of each vector, if known: .npz with ids and similarities, or .npy of ids.",
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option(help="Neighbours of each vector in the graph, itself not counted; 50 by default.")
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of the true neighbours to find; 1 is exact. By default 1, and 0.95 for large sets."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="How neighbours weigh: local (by the spacing around them; the default), or power:3 (the paper's)."
        ),
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Short for --kernel power:GAMMA.")] = None,
    balanced: Annotated[
        bool | None,
        typer.Option(help="Divide scores by the root of the edges' weight, so that popular items do not win; on."),
    ] = None,
    filter: Annotated[
        str | None,
        typer.Option(metavar="H", help="Filter that searches use unless told otherwise; lowpass:0.99 by default."),
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option(help="Nearest vectors that a query starts from, unless told otherwise; 5 by default."),
    ] = None,
    blend: Annotated[
        str | None,
        typer.Option(
            metavar="W",
            help="What Euclidean similarity adds to searches, unless told otherwise: anchor (the default), W or 0.",
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Take the paper's setting where nothing is said: power:3, 10 neighbours, no blend."
        ),
    ] = False,
    spectrum: Annotated[
        str,
        typer.Option(
            help="How the basis is computed: chebyshev, lanczos, simultaneous (the paper's) or exact; or none."
        ),
    ] = "chebyshev",
    rank: Annotated[
        int | None,
        typer.Option(
            help="Size of the basis, in eigenvectors of the graph. By default what the graph needs, 1000 at most."
        ),
    ] = None,
    oversampling: Annotated[
        int | None, typer.Option(help="Eigenvectors computed beyond --rank, for accuracy, and dropped at the end.")
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Rounds of --spectrum simultaneous; 6 by default.")] = None,
    components: Annotated[
        str,
        typer.Option(
            help="Parts of the graph that have a basis: blocks (each its own), giant (the largest only) or whole (one "
            "for all)."
        ),
    ] = "blocks",
    min_rank: Annotated[
        int, typer.Option(help="Eigenvectors that each part keeps at least, with --components blocks.")
    ] = 5,
    pooling: Annotated[
        str,
        typer.Option(help="How the vectors of an item become one answer: gmp (what is frequent counts less) or sum."),
    ] = "gmp",
    sparsity: Annotated[
        float | None,
        typer.Option(
            help="Share of the basis to drop, smallest numbers first, such as 0.9: less memory, slightly worse hits."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")] = 0,
    workdir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder to keep finished stages in: after an interruption the same command goes on from there.",
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="INDEX", help="Earlier index to begin with: of the same vectors, except for new ones at the end."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory that the build may take, such as 20G; by default what the machine has."
        ),
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto", hidden=True, help="Accepted for older scripts: it is the default now.")
    ] = False,
    fast: Annotated[
        bool | None,
        typer.Option(
            "--fast/--exact",
            help="Make single queries quicker by approximate search, or never do; by default if large.",
        ),
    ] = None,
    store_basis: Annotated[
        str | None, typer.Option(metavar="KIND", help="Store the basis in less memory: float16 or int8.")
    ] = None,
    store_vectors: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Store the vectors in less memory: float16, int8, or PQ64 (64 bytes each)."),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="With --fast: kind of faiss index over the vectors; by default IVF,SQfp16."),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="With --fast: kind of faiss index over the basis; by default IVF,SQfp16."),
    ] = None,
    precompute: Annotated[
        str | None,
        typer.Option(
            metavar="H",
            help="Store all answers of one filter, such as lowpass:0.99; search them with --solver precomputed.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the index if it is there already.")] = False,
    *,
    recipe: pictures.Choices,
) -> None:
    """Build an index of vectors or of a folder of pictures.

    Done once: finds the neighbours of each vector, makes a graph of them, and computes a basis of its longest waves.

    \b
    longwave build photos.npy -o photos.longwave
    longwave build regions.npy --groups photo_of_region.npy --k 200 -o p.longwave
    longwave build photos.npy --spectrum none -o p.longwave   (for --solver cg)
    longwave build --images holiday/ -o holiday.longwave
    longwave build --images holiday/ --regions -o h.longwave  (for small objects)
    longwave build descriptors.h5 -o holiday.longwave         (of `describe`)
    """
    said: dict[str, Any] = {
        "k": k,
        "kernel": None if kernel is None else kernels.parse(kernel),
        "gamma": gamma,
        "balanced": balanced,
        "filter": None if filter is None else filters.parse(filter),
        "neighbors": neighbors,
        "blend": blend,
    }
    setting = {name: value for name, value in said.items() if value is not None}
    if paper:
        setting = {**{name: value for name, value in PAPER.items() if name != "kernel" or gamma is None}, **setting}
    storage.check_target(output, force=force)
    check_apart(output, vectors, images, groups, ids, lists)
    method = o.spectrum_from(spectrum, rank, oversampling, iterations)
    stored = None if precompute is None else filters.parse(precompute)
    if fast is not True and (first or second):
        raise InputError("--first and --second need --fast")
    for kind in (first, second, None if store_vectors in NUMBERS else store_vectors):
        check_search(kind)
    if images is not None and (groups is not None or ids is not None):
        raise InputError("pictures have their paths as ids and their own groups; leave out --groups and --ids")
    if store_basis is not None:
        check_basis_kind(store_basis)
        if method is None:
            raise InputError("--store-basis needs a basis; leave out --spectrum none")
    group_labels, item_ids = o.labels_from(groups), o.labels_from(ids)
    began = time.perf_counter()
    described = pictures.description_from(vectors, images, recipe, work=Path(f"{output}.work"))
    if described is not None:
        if groups is not None or ids is not None:
            raise InputError("descriptors of pictures have their own ids and groups; leave out --groups and --ids")
        group_labels, item_ids = described.item_of, np.array(described.paths)
    rows = o.vectors_from(str(vectors)) if described is None else described.vectors
    check_kind(store_vectors, rows.shape[-1])
    check_search(first, rows.shape[-1])
    with bars() as progress:
        index = Index.build(
            rows,
            groups=group_labels,
            ids=item_ids,
            lists=None if lists is None else o.lists_from(lists),
            recall=recall,
            **setting,
            spectrum=method,
            components=components,
            min_rank=min_rank,
            pooling=pooling,
            sparsity=sparsity,
            seed=seed,
            start=None if start is None else Index.load(start),
            workdir=workdir,
            memory=memory,
            fast=None if fast is None else fast and not (first or second),
            progress=progress,
        )
    if first or second:
        with err.status("making the approximate searches"):
            index = index.accelerate(first=first or "IVF,SQfp16", second=second or "IVF,SQfp16")
    if stored is not None:
        with bars() as progress:
            index = index.precompute(filter=stored, progress=progress)
    if store_basis or store_vectors:
        index = index.compress(basis=store_basis, vectors=store_vectors)
    if described is not None:
        index = index.attach(*index_facts(described))
    index.save(output, force=force)
    if images is not None:
        pictures.remove_work(Path(f"{output}.work"))
    rank_text = "no basis" if index.spectrum is None else f"rank {index.spectrum.rank:,}"
    print(f"{output}: {plural(len(index), 'item')}, {rank_text}, {time.perf_counter() - began:.1f} s")


@app.command()
def advise(
    source: Annotated[
        str, typer.Argument(metavar="VECTORS|INDEX", help=f"Vectors, one per row ({o.FILES}), or an index folder.")
    ],
    k: Annotated[int, typer.Option(help="Neighbours of each vector in the graph, itself not counted.")] = 50,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of the true neighbours to find; 1 is exact. By default 1, and 0.95 for large sets."),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="How neighbours weigh: local (the default), or power:3 (the paper's).")
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
    """Suggest a rank: what each keeps, and what it costs.

    For some ranks, how much of the exact answer a basis of that size would keep, and its memory and time. No basis is
    computed.

    \b
    longwave advise photos.npy
    longwave advise photos.longwave --filter heat:10
    longwave advise photos.npy --memory 8G
    """
    from longwave.advice import rank as planning

    h = filters.parse(filter)
    limit = machine_memory() if memory is None else parse_size(memory)
    if storage.is_index(Path(source)):
        index = Index.load(source)
    else:
        with bars() as progress:
            chosen = None if kernel is None else kernels.parse(kernel)
            index = Index.build(
                o.vectors_from(source), k=k, recall=recall, kernel=chosen, spectrum=None, seed=seed, progress=progress
            )
    parts = index.memory()
    held = parts["vectors"] + 2 * parts["graph"]
    with err.status("estimating the eigenvalues"):
        advice = planning.advise(index.graph, filter=h, memory=None if limit is None else limit - held, seed=seed)
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
        f"Suggested: --rank {advice.suggested.rank} ({advice.reason}).\n"
        "energy kept: share of all that the filter lets pass.\n"
        "error: how far the scores of a random query are off, relatively.\n"
        "memory and time: to compute the basis, on this machine.",
        highlight=False,
    )


@app.command()
def tune(
    source: Annotated[
        str, typer.Argument(metavar="VECTORS|INDEX", help=f"Vectors, one per row ({o.FILES}), or an index folder.")
    ],
    queries: Annotated[
        str | None, typer.Option(metavar="F", help="File of query vectors with known answers, to choose by them.")
    ] = None,
    truth_file: Annotated[
        Path | None,
        typer.Option("--truth", metavar="F", help="JSON file with the answers of the queries, as for `evaluate`."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the label of each vector, instead of --truth ({o.LABELS})."),
    ] = None,
    query_labels: Annotated[
        str | None, typer.Option(metavar="F", help="File with the label of each query, with --labels.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")] = 0,
) -> None:
    """Look for better settings, where answers are known.

    Without answers there is nothing to tune: the defaults fit every collection that was tried. With --queries and
    --truth, or --labels and --query-labels, one setting after the other is varied; with --labels alone some of the
    vectors themselves are the queries. What it prints are options of `build`.

    \b
    longwave tune photos.npy --labels labels.npy
    longwave tune photos.npy --queries queries.npy --truth truth.json
    """
    from longwave.evaluation import tuning

    if truth_file is None and labels is None:
        raise InputError(
            "tune compares settings by answers that you know; give --labels F, or --queries F with --truth F. Without "
            "answers there is nothing to tune: `longwave build` has the best setting known"
        )
    names: Array | None = None
    if storage.is_index(Path(source)):
        opened = Index.load(source)
        if opened.items.item_of is not None or opened.added is not None or opened.items.live is not None:
            raise InputError(
                "tune takes an index of one vector for each item, all in the graph; give the vectors instead"
            )
        vectors, names = opened.vectors.rows(slice(None)), opened.ids
        vectors = vectors if opened.items.row_of is None else vectors[opened.items.row_of]
    else:
        vectors = o.vectors_from(source)
    unit = unit_vectors(vectors)
    known = np.arange(len(unit)) if names is None else names
    if queries is None:
        if labels is None or query_labels is not None:
            raise InputError("answers need the queries that they belong to: give --queries F")
        unit, known, asked, judgements = _held_out(unit, known, o.read_label_file(labels), seed)
    else:
        asked = unit_queries(o.vectors_from(queries), dimension=unit.shape[1])
        judgements = truth.judgements(truth_file, labels, query_labels, known)
    if len(judgements) != len(asked):
        raise InputError(f"there are {plural(len(asked), 'query', 'queries')} but ground truth for {len(judgements)}")
    kept = np.flatnonzero([bool(len(judgement.positive)) for judgement in judgements])
    if not len(kept):
        raise InputError("no query has a positive item; there is nothing to tune by")

    def judge(ranked: Array, rows: Array) -> Array:
        pairs = zip(known[ranked], (judgements[kept[row]] for row in rows), strict=True)
        return np.array([average_precision(ids, judgement) for ids, judgement in pairs])

    with bars() as progress:
        found = tuning.tune(unit, asked[kept], judge, seed=seed, progress=progress)
    _print_tuning(found)


def _held_out(unit: Array, known: Array, labels: Array, seed: int) -> tuple[Array, Array, Array, list[Judgement]]:
    """A tenth of the vectors, 200 at most, as queries, the others as the collection, and the answers by label."""
    if len(labels) != len(unit):
        raise InputError(f"there must be a label for each vector, {len(unit)}, got {len(labels)}")
    order = np.random.default_rng(seed).permutation(len(unit))
    count = max(1, min(200, len(unit) // 10))
    queries, rest = order[:count], np.sort(order[count:])
    return unit[rest], known[rest], unit[queries], label_judgements(labels[queries], labels[rest], known[rest])


def _print_tuning(found: Tuning) -> None:
    table = Table()
    for title in (*found.chosen.choice.words(), "mAP"):
        table.add_column(title, justify="right")
    for row in found.rows:
        style = "bold" if row is found.chosen else None
        table.add_row(*row.choice.words().values(), f"{100 * row.score:.1f}", style=style)
    out.print(table, highlight=False)
    default, chosen = found.rows[0], found.chosen
    asked = plural(len(default.values), "query", "queries")
    plain, ours_score = 100 * found.euclidean, 100 * default.score
    told = f"On these {asked} Euclidean search has {plain:.1f} mAP, the defaults have {ours_score:.1f}."
    if chosen is default:
        out.print(f"{told} Nothing that was tried is clearly better: keep the defaults.", highlight=False)
        return
    ours, theirs = default.choice.words(), chosen.choice.words()
    options = " ".join(f"--{name} {text}" for name, text in theirs.items() if text != ours[name])
    out.print(f"{told} Better by more than chance, with {100 * chosen.score:.1f}:\nbuild {options}", highlight=False)
