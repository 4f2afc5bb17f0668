"""The commands `propagate` and `cluster`: labels and clusters along the graph."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from longwave import filters
from longwave.cli import options as o
from longwave.cli import results
from longwave.cli.application import app
from longwave.cli.asking import items_from
from longwave.errors import FileError, plural, writing
from longwave.index import Index

_SUFFIXES = (".csv",)

Table = Annotated[
    Path, typer.Option("-o", "--output", metavar="F", help="File to write to, a line for each item: .csv.")
]


@app.command()
def propagate(
    index: o.IndexPath,
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS",
            help="The labels that are known: lines of an id and a label (.csv). Several lines for an "
            "id are several labels.",
        ),
    ],
    output: Table,
    filter: o.IndexFilter = None,
    prior: Annotated[
        str,
        typer.Option(
            help="Size of classes: equal (about as large as each other) or labels (as frequent as in LABELS)."
        ),
    ] = "equal",
) -> None:
    """Spread a few labels to all items, along the graph.

    Writes id, label and confidence of every item; the label is empty where none of the known ones reaches it.

    \b
    longwave propagate photos.longwave known.csv -o all.csv
    """
    results.check_output(output, index, [str(labels)], suffixes=_SUFFIXES)
    opened = Index.load(index)
    known = _known(labels, opened)
    several = any(len(own) > 1 for own in known.values())
    given = {name: own if several else own[0] for name, own in known.items()}
    made = opened.propagate(given, filter=None if filter is None else filters.parse(filter), prior=prior)
    told: list[str] = made.labels.tolist()
    if several:
        told = [" ".join(made.classes[row]) for row in made.labels]
    _write(output, ("id", "label", "confidence"), zip(made.ids, told, np.round(made.confidence, 4), strict=True))
    left = int((~made.reached).sum())
    print(f"{output}: {plural(len(made.ids), 'item')}, {left:,} of them not reached by any label")


@app.command()
def cluster(
    index: o.IndexPath,
    output: Table,
    k: Annotated[
        int | None, typer.Option("-k", help="Number of clusters; by default as many as the graph shows.")
    ] = None,
    filter: o.IndexFilter = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")] = 0,
) -> None:
    """Find clusters of items along the graph.

    Writes id and cluster of every item; clusters are numbered from 0, the largest first.

    \b
    longwave cluster photos.longwave -o clusters.csv
    longwave cluster photos.longwave -k 10 -o clusters.csv
    """
    results.check_output(output, index, suffixes=_SUFFIXES)
    opened = Index.load(index)
    made = opened.cluster(k, filter=None if filter is None else filters.parse(filter), seed=seed)
    _write(output, ("id", "cluster"), zip(made.ids, made.labels, strict=True))
    sizes = f"{plural(len(made), 'cluster')} of {plural(len(made.ids), 'item')}"
    print(f"{output}: {sizes}, modularity {made.modularity:.2f}")


def _known(path: Path, index: Index) -> dict[Any, list[str]]:
    """The labels of each item, as a file gives them."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read labels from {path}: {error}") from error
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) != 2), None)
    if wrong is not None or not rows:
        raise FileError(f"{path}: line {wrong or 1} must be an id and a label, as in: 17,cat")
    if rows[0][0].strip().lower() == "id":
        rows = rows[1:]
    known: dict[Any, list[str]] = {}
    for item, (_, label) in zip(items_from([row[0] for row in rows], index), rows, strict=True):
        known.setdefault(item, []).append(label)
    return known


def _write(path: Path, columns: Sequence[str], rows: Any) -> None:
    with writing(path), path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
