"""The command `build`: from vectors, pictures or texts to an index."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from longwave import filters, storage
from longwave.building.options import Options
from longwave.cli import options as o
from longwave.cli import text_options as t
from longwave.cli.application import app
from longwave.cli.build_options import with_build_options
from longwave.cli.picture_options import Describing, description_options, with_description_options
from longwave.cli.reading import graph_from, labels_from, lists_from, vectors_from
from longwave.cli.results import check_apart
from longwave.cli.screen import err
from longwave.cluster.opening import check_name
from longwave.errors import InputError, plural
from longwave.index import Index
from longwave.metadata import as_table
from longwave.pictures import Description, build_index, read_description, remove_finished
from longwave.progress import bars
from longwave.rows.encoded import NUMBERS, check_kind
from longwave.stores.faiss import check_search
from longwave.texts import build_index as build_texts
from longwave.texts.encoders import DEFAULT as ENCODER
from longwave.texts.passages import WORDS

_NO_PICTURE_METADATA = (
    "--metadata is for vectors. Pictures are sorted by path, and those that cannot be read are left out: build first, "
    "then Index.load(path).with_metadata(table), with one row for each of its ids in their order, and save it"
)


@app.command()
@with_description_options
@with_build_options
def build(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="INDEX", help="The index folder to write.")],
    vectors: Annotated[str | None, typer.Argument(metavar="VECTORS", help=f"Vectors, one per row ({o.FILES}).")] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder of pictures, instead of VECTORS; the options from --encoder on are for them."
        ),
    ] = None,
    texts: t.Texts = None,
    text_encoder: t.TextEncoder = None,
    words: t.Words = WORDS,
    groups: o.Groups = None,
    ids: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the id of each item; by default its row number ({o.LABELS})."),
    ] = None,
    metadata: o.Metadata = None,
    lists: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="File with the neighbours of each vector, if known: .npz with ids and similarities, or .npy of ids.",
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="A graph of your own, beside VECTORS or alone: lines of two ids and perhaps a weight (.csv .txt), or "
            "a sparse matrix of scipy (.npz).",
        ),
    ] = None,
    spectrum: Annotated[
        str,
        typer.Option(
            help="Method for the basis: chebyshev, lanczos, simultaneous (the paper's), exact, or none for no basis."
        ),
    ] = "chebyshev",
    rank: Annotated[
        int | None,
        typer.Option(
            help="Size of the basis: more is more exact, and larger. By default what the graph needs: "
            "1000 at most, and all of it up to 2000 vectors."
        ),
    ] = None,
    oversampling: Annotated[
        int | None, typer.Option(help="Eigenvectors computed beyond --rank, for accuracy, and dropped at the end.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of --spectrum simultaneous; 6 by default.")] = None,
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
            metavar="INDEX",
            help="Earlier index of the same vectors, which may lack the last ones: begins with its basis.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory that the build may take, such as 20G; by default what the machine has."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="Build on a cluster: ray://HOST:10001, dask://HOST:8786, ray:local[3], dask:local[3] or local. "
            "VECTORS may then be a folder of shards; all machines must see it, INDEX and --workdir.",
        ),
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto", hidden=True, help="Accepted for older scripts: it is the default now.")
    ] = False,
    fast: Annotated[
        bool | None,
        typer.Option(
            "--fast/--exact",
            help="Answer single queries approximately, which is quicker, or never do so. By default fast if large.",
        ),
    ] = None,
    store_vectors: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Store the vectors in less memory: float16, int8, or PQ64 (64 bytes each)."),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="With --fast: search over the vectors: links, or a faiss factory string."),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="With --fast: how the best are found: walk (on the graph), or a kind of faiss index over the basis.",
        ),
    ] = None,
    precompute: Annotated[
        str | None,
        typer.Option(
            metavar="H",
            help="Store the answers of one filter, such as lowpass:0.99, for quick searches: --solver precomputed.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the index if it is there already.")] = False,
    *,
    setting: dict[str, Any],
    describing: Describing,
) -> None:
    """Build an index of vectors, a folder of pictures, or texts.

    Done once. It finds the nearest neighbours of each vector, connects them into a graph, and computes the basis of
    that graph, which makes searches fast. The defaults are the best settings known: begin without any option but -o.

    \b
    longwave build photos.npy -o photos.longwave
    longwave build --images holiday/ -o holiday.longwave
    longwave build --images holiday/ --regions -o h.longwave  (for small objects)
    longwave build --texts notes.jsonl -o notes.longwave
    longwave build descriptors.h5 -o holiday.longwave         (of `describe`)
    longwave build regions.npy --groups photo_of_region.npy -o p.longwave
    longwave build photos.npy --ids names.txt --metadata photos.csv -o p.longwave
    longwave build photos.npy --spectrum none -o p.longwave   (for --solver cg)
    longwave build --graph links.csv -o links.longwave        (for `pagerank`)
    longwave build shards/ -o p.longwave --cluster ray:local[3]
    """
    storage.check_target(output, force=force)
    check_apart(output, vectors, images, texts, groups, ids, metadata, lists, graph)
    method = o.spectrum_from(spectrum, rank, oversampling, rounds)
    stored = None if precompute is None else filters.parse(precompute)
    if fast is not True and (first or second):
        raise InputError("--first and --second need --fast")
    for kind in (first, None if second == "walk" else second, None if store_vectors in NUMBERS else store_vectors):
        check_search(kind)
    if images is not None and (groups is not None or ids is not None):
        raise InputError("pictures have their paths as ids and their own groups; leave out --groups and --ids")
    if setting.get("store_basis") is not None and method is None:
        raise InputError("--store-basis needs a basis; leave out --spectrum none")
    if texts is not None and (groups is not None or ids is not None or metadata is not None):
        raise InputError("passages have ids and metadata of their own; leave out --groups, --ids and --metadata")
    if texts is not None and describing != description_options():
        raise InputError(
            "options of a description are for --images FOLDER; for texts there are --text-encoder, --words"
        )
    if texts is None and (text_encoder is not None or words != WORDS):
        raise InputError("--text-encoder and --words are for --texts F")
    began = time.perf_counter()
    if cluster is not None:
        given: dict[str, Any] = {
            "--images": images,
            "--groups": groups,
            "--metadata": metadata,
            "--lists": lists,
            "--graph": graph,
        }
        given |= {"--start": start, "--memory": memory, "--fast": fast, "--store-basis": setting.get("store_basis")}
        given |= {"--store-vectors": store_vectors, "--precompute": precompute}
        _on_cluster(cluster, vectors, output, given, {**setting, "spectrum": method}, ids, workdir, force)
        print(f"{output}: built on {cluster}, {time.perf_counter() - began:.1f} s")
        return
    if metadata is not None and images is not None:
        raise InputError(_NO_PICTURE_METADATA)
    if sum(given is not None for given in (vectors, images, texts)) > 1:
        raise InputError("give one of these: a file of vectors, --images FOLDER, --texts F")
    alone = vectors is None and images is None and (graph is not None or texts is not None)
    described = None if alone else _description(vectors, images, describing, work=Path(f"{output}.work"))
    if metadata is not None and described is not None:
        raise InputError(_NO_PICTURE_METADATA)
    if described is not None and (groups is not None or ids is not None):
        raise InputError("descriptors of pictures have their own ids and groups; leave out --groups and --ids")
    rows = None if alone else vectors_from(str(vectors)) if described is None else described.vectors
    item_of, names, table = labels_from(groups), labels_from(ids), None
    if rows is not None:
        check_kind(store_vectors, rows.shape[-1])
        check_search(first, rows.shape[-1])
        count = len(rows) if item_of is None else len(np.unique(item_of))
        table = None if metadata is None else as_table(metadata, count=count)  # before the work, as it may be refused
    with bars() as progress:
        options: dict[str, Any] = {
            **setting,
            "lists": None if lists is None else lists_from(lists),
            "graph": None if graph is None else graph_from(graph),
            "spectrum": method,
            "start": None if start is None else Index.load(start),
            "memory": memory,
            "fast": None if fast is None else fast and not (first or second),
            "workdir": workdir,
            "progress": progress,
        }
        if texts is not None:
            index = build_texts(texts, encoder=text_encoder or ENCODER, words=words, **options)
        elif described is not None:
            index = build_index(described, **options)
        else:
            index = Index.build(rows, groups=item_of, ids=names, **options)
    if first or second:
        with err.status("making the approximate searches"):
            index = index.accelerate(first=first or "links", second=second or "own")
    if stored is not None:
        with bars() as progress:
            index = index.precompute(filter=stored, progress=progress)
    if store_vectors:
        index = index.compress(vectors=store_vectors)
    if metadata is not None:
        index = index.with_metadata(metadata if table is None else table)
    index.save(output, force=force)
    if images is not None:
        remove_finished(Path(f"{output}.work"))
    rank_text = "no basis" if index.spectrum is None else f"rank {index.spectrum.rank:,}"
    print(f"{output}: {plural(len(index), 'item')}, {rank_text}, {time.perf_counter() - began:.1f} s")


def _on_cluster(
    cluster: str,
    vectors: str | None,
    output: Path,
    given: dict[str, Any],
    setting: dict[str, Any],
    ids: str | None,
    workdir: Path | None,
    force: bool,
) -> None:
    """Build on a cluster. given: options that it does not have, by name."""
    from longwave.cluster import build as clusters

    check_name(cluster)
    wrong = [name for name, value in given.items() if value is not None]
    if wrong or vectors is None:
        raise InputError(f"--cluster builds from VECTORS alone; leave out {', '.join(wrong) or '--cluster'}")
    with bars() as progress:
        work: dict[str, Any] = {"cluster": cluster, "workdir": workdir, "force": force, "progress": progress}
        clusters.build(vectors, output, Options.parse(setting), ids=labels_from(ids), **work)


def _description(vectors: str | None, images: Path | None, describing: Describing, *, work: Path) -> Description | None:
    """What to index: pictures described now, or read from a file of `describe`; None for plain vectors."""
    if vectors is None and images is None:
        raise InputError("give either a file of vectors, --images FOLDER, --texts F, or --graph F")
    if images is not None:
        return describing.describe(images, work=work)
    if describing != description_options():
        raise InputError(f"options of a description are for --images FOLDER; {vectors} is described already")
    return read_description(str(vectors))
