"""Hits as a table on the screen, or as a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from longwave.cli.screen import out
from longwave.cli.text_options import print_passages
from longwave.display import readable
from longwave.errors import FileError, plural, writing
from longwave.files.vectors import split_name
from longwave.texts.passages import TEXT
from longwave.types import Array, Hits

SUFFIXES = (".npz", ".json", ".csv")
# Hits that are listed below each other at most: a screenful.
_LINES = 40


def check_output(
    path: Path | None, index: Path, inputs: Sequence[str] = (), *, suffixes: Sequence[str] = SUFFIXES
) -> None:
    """Raise before the search if the result could not be written, or would replace what is read."""
    if path is None:
        return
    if path.suffix not in suffixes:
        raise FileError(f"cannot write {path}: the suffix must be one of {', '.join(suffixes)}")
    check_folder(path)
    check_apart(path, *inputs)
    if index.resolve() in path.resolve().parents:
        raise FileError(f"cannot write {path}: it would lie in the index {index}; choose another folder")


def check_apart(output: Path, *inputs: str | Path | None) -> None:
    """Raise where the output is, or contains, a file or folder that is read."""
    target = output.resolve()
    for given in inputs:
        source = None if given is None else split_name(str(given))[0].resolve()
        if source is not None and target in (source, *source.parents):
            how = "is" if source == target else "contains"
            raise FileError(f"{output} {how} the input {given}; choose another name for the output")


def deliver(hits: Hits, path: Path | None, asked: str, names: Sequence[str] | None = None) -> None:
    """On the screen, or into a file with a line that says so.

    asked: what each row answers, "query" or "item". names: of the queries, their numbers by default.
    """
    if path is None:
        print_hits(hits, asked=asked, names=names)
    else:
        write_hits(hits, path, names)
        print(f"{path}: {plural(hits.n_queries, asked)} × {plural(hits.ids.shape[1], 'hit')}")


def write_hits(hits: Hits, path: Path, names: Sequence[str] | None = None) -> None:
    """Write ids and scores by suffix: .npz (arrays), .json (a list per query), .csv (query, rank, id, score).

    Metadata goes into .json and .csv.
    """
    with writing(path):
        if path.suffix == ".npz":
            more: dict[str, Any] = {} if hits.confidence is None else {"confidence": hits.confidence}
            if names is not None:
                more["queries"] = np.array(names)
            np.savez(path, ids=hits.ids, scores=hits.scores, **more)
            return
        text = hits.to_json(names) if path.suffix == ".json" else hits.to_csv(names)
        path.write_text(text, "utf-8", "surrogateescape", newline="")  # names of files need not be Unicode


def check_picture(path: Path) -> None:
    """Raise before the work if the picture could not be written."""
    if path.suffix not in (".png", ".pdf", ".svg", ".jpg"):
        raise FileError(f"cannot write {path}: the suffix must be .png, .pdf, .svg or .jpg")
    check_folder(path)


def check_folder(path: Path) -> None:
    """Raise unless a file can be written at this place."""
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; choose another name")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise FileError(f"cannot write {path}: you may not write there; choose another folder")


def print_hits(hits: Hits, *, asked: str = "query", queries: int = 10, names: Sequence[str] | None = None) -> None:
    """In a pipe a line per hit, tab-separated; on a terminal a table, or lists where ids are too long for one."""
    labels: Sequence[Any] = range(hits.n_queries) if names is None else names
    known = hits.columns or {}
    if not out.is_terminal:
        print("query", "rank", "id", "score", *known, sep="\t")
        for query, found in zip(labels, hits.records(), strict=True):
            for hit in found:
                told = map(_one_line, hit.get("columns", {}).values())
                print(query, hit["rank"], hit["id"], f"{hit['score']:.6g}", *told, sep="\t")
        return
    if TEXT in known:
        print_passages(hits[:queries], labels[:queries])
        _print_rest(hits, asked, queries, hits.ids.shape[1])
        return
    cells = [
        [(str(hit["id"]), readable(hit["score"]), *map(_one_line, hit.get("columns", {}).values())) for hit in found]
        for found in hits.records()
    ]
    widest = max(len(text) for row in cells[:queries] for pair in row for text in pair)
    beside = max(len(str(label)) for label in labels[:queries])
    shown = max(1, min(hits.ids.shape[1], (out.width - 9 - min(beside, 30)) // (widest + 3)))
    if shown < min(3, hits.ids.shape[1]):
        queries, shown = max(1, _LINES // hits.ids.shape[1]), hits.ids.shape[1]
        for query, row in zip(labels, cells[:queries], strict=False):
            print(f"{query}: {', '.join(('score', 'id', *known))}, best first")
            for rank, (i, s, *more) in enumerate(row, 1):
                print(f"{rank:>4}  {s:<10}  {'  '.join((i, *more))}")
    else:
        titles = ("id", "score", *known)
        table = Table(title=f"{', '.join(titles[:-1])} and {titles[-1]}, best first", title_style="")
        table.add_column("query", justify="right", max_width=30)
        for rank in range(1, shown + 1):
            table.add_column(str(rank), no_wrap=True, overflow="ignore")
        for query, row in zip(labels, cells[:queries], strict=False):
            table.add_row(escape(str(query)), *(escape("\n".join(cell)) for cell in row[:shown]))
        out.print(table)
    _print_rest(hits, asked, queries, shown)


def _print_rest(hits: Hits, asked: str, queries: int, shown: int) -> None:
    """What was left out, and what is known of the answers. queries, shown: how many of them and of their hits were."""
    if hits.n_queries > queries or hits.ids.shape[1] > shown:
        size = f"{plural(hits.n_queries, asked)} × {plural(hits.ids.shape[1], 'hit')}"
        print(f"{size}; write all of them with -o hits.csv (or .npz, .json)")
    if hits.counts is not None:
        print(f"relevant by their scores: the first {_range(hits.counts, 'd')}")
    if hits.confidence is not None:
        print(f"confidence {_range(hits.confidence, '.2f')}: how far to trust the graph, from 0 to 1")
    if hits.errors is not None and hits.steps is not None:
        print(f"relative error at most {hits.errors.max():.1e}, steps on the graph: {_range(hits.steps, 'd')}")


def _one_line(value: Any) -> str:
    """A value of the metadata in a table: nothing where it is missing, no line breaks or tabs."""
    return "" if value is None else " ".join(str(value).split())


def _range(values: Array, form: str) -> str:
    """From the least to the largest, or the only one."""
    low, high = f"{values.min():{form}}", f"{values.max():{form}}"
    return low if low == high else f"{low} to {high}"
