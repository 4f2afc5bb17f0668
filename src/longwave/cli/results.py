"""Hits as a table on the screen, or as a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from rich.table import Table

from longwave.cli.display import out
from longwave.errors import FileError
from longwave.types import Hits

SUFFIXES = (".npz", ".json", ".csv")


def check_output(path: Path | None) -> None:
    """Raise before the search if the result could not be written."""
    if path is None:
        return
    if path.suffix not in SUFFIXES:
        raise FileError(f"cannot write {path}: the suffix must be one of {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}")


def write_hits(hits: Hits, path: Path) -> None:
    """Write ids and scores by suffix: .npz (arrays), .json (a list per query), .csv (query, rank, id, score)."""
    try:
        if path.suffix == ".npz":
            np.savez(path, ids=hits.ids, scores=hits.scores)
        elif path.suffix == ".json":
            rows = [{"ids": i.tolist(), "scores": s.tolist()} for s, i in zip(*hits, strict=True)]
            path.write_text(json.dumps(rows), "utf-8")
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["query", "rank", "id", "score"])
                for query, (scores, ids) in enumerate(zip(*hits, strict=True)):
                    writer.writerows(
                        [query, rank, i, s] for rank, (i, s) in enumerate(zip(ids, scores, strict=True), 1)
                    )
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def print_hits(hits: Hits, *, queries: int = 10, columns: int = 10) -> None:
    """A readable table: one row per query, id and score of each hit."""
    shown = min(columns, hits.ids.shape[1])
    table = Table(title="id (score), best first", title_style="")
    table.add_column("query", justify="right")
    for rank in range(1, shown + 1):
        table.add_column(str(rank))
    for query, (scores, ids) in enumerate(zip(hits.scores[:queries], hits.ids[:queries], strict=True)):
        cells = [f"{i}\n({s:.3g})" for i, s in zip(ids[:shown], scores[:shown], strict=True)]
        table.add_row(str(query), *cells)
    out.print(table)
    if len(hits) > queries or hits.ids.shape[1] > shown:
        out.print(f"{len(hits)} queries × {hits.ids.shape[1]} hits; write all of them with -o hits.npz|.json|.csv")
    if hits.errors is not None and hits.steps is not None:
        out.print(f"relative error at most {hits.errors.max():.1e}, {hits.steps.min()}–{hits.steps.max()} steps")
