"""Commands that change an index in place: add, remove, replace, refresh, compact."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from longwave.advice.memory import show
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.asking import items_from
from longwave.cli.reading import labels_from, vectors_from
from longwave.cli.screen import err
from longwave.collection import Collection
from longwave.collection import open as open_collection
from longwave.errors import plural
from longwave.progress import bars

Vectors = Annotated[str, typer.Argument(metavar="VECTORS", help=f"Vectors, one per row ({o.FILES}).")]
Groups = Annotated[
    str | None,
    typer.Option(metavar="F", help=f"File with the item of each vector, where items have several ({o.LABELS})."),
]
Metadata = Annotated[
    str | None,
    typer.Option(
        metavar="F", help="File with what is known of each item, one row each, for --where: .parquet, .csv or .jsonl."
    ),
]


@app.command()
def add(
    index: o.IndexPath,
    vectors: Vectors,
    ids: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the id of each item; by default numbers go on ({o.LABELS})."),
    ] = None,
    groups: Groups = None,
    metadata: Metadata = None,
) -> None:
    """Add items to an index, without building it again.

    They are on the disk when the command ends, all of them or none. New items are found by what they are to the graph
    that is there; `info` says when it has too few of them, and `refresh` makes a new one.

    \b
    longwave add photos.longwave new.npy
    longwave add photos.longwave new.npy --ids names.txt --metadata new.csv
    """
    with open_collection(index) as opened:
        found = opened.add(vectors_from(vectors), ids=labels_from(ids), groups=labels_from(groups), metadata=metadata)
        _told(opened, f"{plural(len(found), 'item')} added")


@app.command()
def remove(
    index: o.IndexPath,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Items of the index: ids, or paths of pictures.")],
) -> None:
    """Remove items from an index.

    They are never found again. Until `refresh` their vectors still connect others in the graph.

    \b
    longwave remove photos.longwave 17 42
    longwave remove holiday.longwave beach-3.jpg
    """
    with open_collection(index) as opened:
        named = sorted(set(items_from(ids, opened.index)))
        opened.remove(named)
        _told(opened, f"{plural(len(named), 'item')} removed")


@app.command()
def replace(
    index: o.IndexPath,
    vectors: Vectors,
    ids: Annotated[str, typer.Option(metavar="F", help=f"File with the id of each item ({o.LABELS}).")],
    groups: Groups = None,
    metadata: Metadata = None,
) -> None:
    """Replace the vectors of items of an index, in one step.

    Without --metadata, what is known of the items stays.

    \b
    longwave replace photos.longwave better.npy --ids names.txt
    """
    with open_collection(index) as opened:
        known = labels_from(ids)
        assert known is not None
        opened.replace(vectors_from(vectors), ids=known, groups=labels_from(groups), metadata=metadata)
        _told(opened, "vectors replaced")


@app.command()
def refresh(index: o.IndexPath) -> None:
    """Make a new graph and basis of all items.

    Built as the old ones were: added items become part of the graph, removed ones leave it. Searches go on meanwhile.

    \b
    longwave refresh photos.longwave
    """
    began = time.perf_counter()
    with open_collection(index) as opened, bars() as progress:
        opened.refresh(progress=progress)
    _told(opened, f"{time.perf_counter() - began:.1f} s")


@app.command()
def compact(
    index: o.IndexPath,
    keep: Annotated[int, typer.Option(help="Versions that stay at least, for `history`.")] = 10,
    grace: Annotated[float, typer.Option(help="Seconds for which what was replaced stays at least.")] = 3600.0,
) -> None:
    """Tidy up an index: small files become one, old ones go.

    \b
    longwave compact photos.longwave
    longwave compact photos.longwave --keep 1 --grace 0   (nobody reads it now)
    """
    with open_collection(index) as opened, err.status("compacting"):
        gone = opened.compact(keep=keep, grace=grace)
    files = plural(gone.manifests + gone.files, "file")
    _told(opened, f"{files} of old versions removed, {show(gone.bytes)}")


def _told(opened: Collection, what: str) -> None:
    print(f"{opened.path}: {what}; {plural(len(opened), 'item')}, version {opened.version}")
