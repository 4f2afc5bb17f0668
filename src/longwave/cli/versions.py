"""The commands `verify`, `history` and `vacuum`: the versions in an index folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from longwave import storage
from longwave.advice.memory import show
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.screen import out
from longwave.errors import CorruptIndexError, InputError, StorageError, plural
from longwave.index import Index

_Version = Annotated[
    int | None,
    typer.Option(metavar="N", help="A version that `longwave history` lists; the newest one by default."),
]


@app.command()
def verify(index: o.IndexPath, version: _Version = None) -> None:
    """Check that every file of an index is as it was written.

    Reads everything: all checksums, and all numbers that are places in other arrays. Nothing is changed. A damaged
    index is one line on stderr and exit code 1; what is whole and what is lost, and which earlier version is whole, is
    printed before it.

    A search compares the checksums of small files only, so run this after copying an index, after a
    crash of the machine, or when in doubt.

    \b
    longwave verify photos.longwave
    longwave verify photos.longwave --version 3
    """
    report = storage.verify(index, version)
    number = report.commit.number
    if report.ok:
        checked = _fitting(index, number)
        told = f"version {number}: {plural(len(report.whole), 'array')}, all as they were written; {checked}"
        out.print(told, markup=False, highlight=False, soft_wrap=True)
        return
    for told in (*report.lost.values(), *report.manifests.values()):
        out.print(f"lost: {told}", markup=False, highlight=False, soft_wrap=True)
    kept = f"{len(report.whole)} of {plural(len(report.whole) + len(report.lost), 'array')}"
    out.print(f"whole in version {number}: {kept}", highlight=False)
    raise CorruptIndexError(f"{index} is damaged; {_remedy(index, report)}")


@app.command()
def history(index: o.IndexPath) -> None:
    """List the versions in an index folder.

    Every save, such as `longwave build --force`, adds a version and leaves those before it as they are, until
    a vacuum. The last one is what a search uses. `Index.load(path, version=N)` opens an earlier one. Version 0 was
    written by a Longwave that kept a single one.

    \b
    longwave history photos.longwave
    """
    table = Table(box=None)
    table.add_column("version", justify="right")
    for title in ("from", "time (UTC)", "what was done"):
        table.add_column(title)
    for commit in storage.history(index):
        when = "" if commit.time is None else f"{commit.time:%Y-%m-%d %H:%M:%S}"
        parent = "" if commit.parent is None else str(commit.parent)
        table.add_row(str(commit.number), parent, when, escape(commit.message))
    out.print(table, highlight=False)


@app.command()
def vacuum(
    index: o.IndexPath,
    keep: Annotated[int, typer.Option(metavar="N", help="Keep the N newest versions, whatever their age.")] = 1,
    grace: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Keep a version that was replaced less than SECONDS ago, and files of a save under way or stopped.",
        ),
    ] = 3600.0,
) -> None:
    """Remove versions of an index that were replaced.

    Files that were left by writers which were stopped are removed as well. The newest version always stays, and files
    that Longwave did not write are not touched. Programs that have an older version open keep it: on a local disk its
    files live on without a name until they are closed. On a network disk they may not, so choose a
    grace that outlasts those programs.

    \b
    longwave vacuum photos.longwave                (versions replaced an hour ago)
    longwave vacuum photos.longwave --grace 0      (all but the newest, at once)
    longwave vacuum photos.longwave --keep 3
    """
    done = storage.vacuum(index, keep=keep, grace=grace)
    removed = f"{plural(done.manifests, 'version')} and {plural(done.files, 'file')}"
    left = plural(len(storage.history(index)), "version")
    out.print(f"removed {removed}, {show(done.bytes)}; {left} left", highlight=False)


def _fitting(index: Path, number: int) -> str:
    """Load what has right checksums: numbers may still lie outside of what they point to."""
    try:
        Index.load(index, number)
    except InputError as error:  # a kernel of the user's own, which we do not have
        return f"whether they fit each other was not checked: {error}"
    return "they fit each other"


def _remedy(index: Path, report: storage.Report) -> str:
    """What can be done where something is lost."""
    if not report.lost:
        return (
            f"version {report.commit.number} is whole, but {plural(len(report.manifests), 'other manifest')} cannot be "
            f"read: copy the folder again, or save the index again and run: longwave vacuum {index} --grace 0"
        )
    for commit in reversed(storage.history(index)):
        if commit.number != report.commit.number:
            try:
                if not storage.verify(index, commit.number).lost:
                    return f"version {commit.number} is whole: open it with Index.load(path, version={commit.number})"
            except StorageError:
                continue
    return "no other version is whole: copy the folder again, or build the index again"
