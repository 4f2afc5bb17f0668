"""Ground truth for `evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longwave.cli.options import read_label_file
from longwave.errors import FileError, InputError
from longwave.evaluation import Judgement, label_judgements
from longwave.index import Index


def from_json(path: Path, index: Index) -> list[Judgement]:
    """A JSON object with a list `queries` of objects with `positive` and, if any, `junk`: ids, or item numbers.

    Whole numbers are ids where the index's ids are numbers, and places in the collection where they are strings. Where
    the file has a list `images`, they are places in it, and what the index does not have is left out.
    """
    try:
        whole = json.loads(path.read_text("utf-8"))
        entries = whole["queries"]
        pairs = [(list(entry["positive"]), list(entry.get("junk", []))) for entry in entries]
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not ground truth ({type(error).__name__}: {str(error)[:80]}); expected "
            '{"queries": [{"positive": [3, 17], "junk": [5]}, ...]}, one entry per query'
        ) from error
    known = set(index.ids.tolist())
    if whole.get("images") and index.ids.dtype.kind == "U":
        by_name = {form: name for name in known for form in (name, Path(name).stem)}
        names = [by_name.get(name) for name in whole["images"]]
        kept = [[[names[i] for i in part if names[i] is not None] for part in pair] for pair in pairs]
        return [Judgement(*pair) for pair in kept]
    return [
        Judgement(_known(positive, index, known, path, row), _known(junk, index, known, path, row))
        for row, (positive, junk) in enumerate(pairs)
    ]


def from_labels(items: str, queries: str | None, index: Index) -> list[Judgement]:
    """Positive = same label."""
    if queries is None:
        raise InputError("--labels gives the label of each item; give those of the queries with --query-labels F")
    item_labels, query_labels = read_label_file(items), read_label_file(queries)
    if len(item_labels) != len(index):
        raise InputError(f"{items} has {len(item_labels)} labels but the index has {len(index)} items")
    return label_judgements(query_labels, item_labels, index.ids)


def _known(entries: list[Any], index: Index, known: set[Any], path: Path, row: int) -> list[Any]:
    strings = index.ids.dtype.kind == "U"
    named = []
    for entry in entries:
        if strings and isinstance(entry, int) and 0 <= entry < len(index):
            entry = index.ids[entry].item()
        if not isinstance(entry, int | str) or entry not in known:
            raise InputError(f"{path}: query {row} names item {entry!r}, which the index does not have")
        named.append(entry)
    return named
