"""Commands that change an index in place: add, remove, replace, relocate, refresh, compact."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from longwave import pictures
from longwave.advice.memory import show
from longwave.cli import options as o
from longwave.cli import picture_options as p
from longwave.cli import text_options as t
from longwave.cli.application import app
from longwave.cli.asking import items_from
from longwave.cli.reading import labels_from, vectors_from
from longwave.cli.screen import err
from longwave.collection import Collection
from longwave.collection import open as open_collection
from longwave.errors import InputError, plural
from longwave.progress import bars
from longwave.texts import Library, is_of_texts


@app.command()
def add(
    index: o.IndexPath,
    vectors: Annotated[
        str | None,
        typer.Argument(metavar="VECTORS", help=f"Vectors, one per row ({o.FILES}); none for an index of pictures."),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the id of each item; by default numbers go on ({o.LABELS})."),
    ] = None,
    groups: o.Groups = None,
    metadata: o.Metadata = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of pictures to look at, within that of the index; by default all of that.",
        ),
    ] = None,
    texts: t.Texts = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Remove pictures, or texts, that are not there any more, too.")
    ] = False,
    by_content: Annotated[
        bool,
        typer.Option("--by-content", help="Read the files of all pictures, also those of the same size and time."),
    ] = False,
    encoder: p.SameEncoder = None,
    workers: p.Workers = None,
) -> None:
    """Add items to an index, without building it again.

    They are on the disk when the command ends, all of them or none. New items are found through their neighbours in
    the graph that is there; `info` says when too many items are outside of it, and `refresh` makes a new graph.

    Of pictures, the new ones in the folder of the index are described as the others were, and so are those whose file
    has changed. Pictures that were renamed or moved within the folder are known by their content: they get the new path
    as id. Those that cannot be read are listed and left out.

    \b
    longwave add photos.longwave new.npy
    longwave add photos.longwave new.npy --ids names.txt --metadata new.csv
    longwave add holiday.longwave                    (what is new in its folder)
    longwave add holiday.longwave --images holiday/2026 --sync
    longwave add notes.longwave --texts more.jsonl   (known ids are replaced)
    longwave add notes.longwave --texts notes --sync (new, changed, gone)
    """
    if texts is not None:
        given = {"VECTORS": vectors, "--ids": ids, "--groups": groups, "--metadata": metadata, "--images": images}
        _leave_out({**given, "--by-content": by_content}, "not for texts")
        with open_collection(index) as opened, bars() as progress:
            before = len(opened)
            found = Library(opened, encoder=encoder).add(texts, remove_gone=sync, progress=progress)
        gone = before + len(found) - len(opened)
        _told(opened, f"{plural(len(found), 'passage')} added" + (f", {gone} removed" if gone else ""))
        return
    own = {"--images": images, "--sync": sync, "--by-content": by_content, "--encoder": encoder, "--workers": workers}
    if vectors is not None:
        _leave_out(own, "for an index of pictures, without VECTORS")
        rows = vectors_from(vectors)
        with open_collection(index) as opened:
            found = opened.add(rows, ids=labels_from(ids), groups=labels_from(groups), metadata=metadata)
            _told(opened, f"{plural(len(found), 'item')} added")
        return
    _leave_out({"--ids": ids, "--groups": groups, "--metadata": metadata}, "for VECTORS; pictures have paths as ids")
    with open_collection(index) as opened:
        if not pictures.is_of_pictures(opened.index.about):
            of, more = ("texts", "--texts F") if is_of_texts(opened.index.about) else ("vectors", "a file of new ones")
            raise InputError(f"{index} was built from {of}: give {more} to add")
        work = Path(f"{index}.add.work")
        with p.described_in(work) as progress:
            done = pictures.sync(
                opened,
                images,
                remove_gone=sync,
                by_content=by_content,
                encoder=encoder,
                workdir=work,
                workers=p.processes(workers),
                progress=progress,
            )
        pictures.remove_finished(work)
        p.list_skipped(done.skipped, len(done.skipped) + len(done.new) + len(done.changed))
        _told(opened, str(done))
    if done.gone and not sync:
        err.print("pictures that are gone from the folder stay in the index; --sync removes them", highlight=False)


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
    vectors: o.Vectors,
    ids: Annotated[str, typer.Option(metavar="F", help=f"File with the id of each item ({o.LABELS}).")],
    groups: o.Groups = None,
    metadata: o.Metadata = None,
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
def relocate(
    index: o.IndexPath,
    to: Annotated[
        Path, typer.Option("--pictures", metavar="FOLDER", help="The folder that the pictures of the index are in now.")
    ],
) -> None:
    """Say where the pictures of an index are, after they were moved.

    They are found by their paths within the folder, or else by their content: these get the new path as id. What is not
    found stays in the index; `add --sync` removes it. Where pictures and index were moved together, nothing is needed.

    \b
    longwave relocate holiday.longwave --pictures /archive/holiday
    """
    with open_collection(index) as opened:
        done = pictures.relocate(opened, to)
        for name in done.lost[:20]:
            err.print(f"not found: {name}", highlight=False, markup=False, soft_wrap=True)
        if len(done.lost) > 20:
            err.print(f"... and {len(done.lost) - 20} more", highlight=False)
        _told(opened, str(done))


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
    """Tidy up an index: merge small files, and remove old ones.

    \b
    longwave compact photos.longwave
    longwave compact photos.longwave --keep 1 --grace 0   (nobody reads it now)
    """
    with open_collection(index) as opened, err.status("compacting"):
        gone = opened.compact(keep=keep, grace=grace)
    files = plural(gone.manifests + gone.files, "file")
    _told(opened, f"{files} of old versions removed, {show(gone.bytes)}")


def _leave_out(options: Mapping[str, Any], why: str) -> None:
    """Raise where one of these options is given."""
    wrong = [name for name, value in options.items() if value not in (None, False)]
    if wrong:
        raise InputError(f"{' and '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} {why}")


def _told(opened: Collection, what: str) -> None:
    print(f"{opened.path}: {what}; {plural(len(opened), 'item')}, version {opened.version}")
