"""Ground truth for `evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longwave.cli.options import read_label_file
from longwave.errors import FileError, InputError
from longwave.evaluation import Judgement, label_judgements
from longwave.types import Array


def judgements(path: Path | None, labels: str | None, query_labels: str | None, ids: Array) -> list[Judgement]:
    """From --truth F, or from --labels F and --query-labels F. ids: of the items."""
    if path is not None and labels is None:
        return from_json(path, ids)
    if labels is not None and path is None:
        return from_labels(labels, query_labels, ids)
    raise InputError("give the ground truth either with --truth F or with --labels F and --query-labels F")


def from_json(path: Path, ids: Array) -> list[Judgement]:
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
    known = set(ids.tolist())
    if whole.get("images") and ids.dtype.kind == "U":
        by_name = {form: name for name in known for form in (name, Path(name).stem)}
        names = [by_name.get(name) for name in whole["images"]]
        wrong = [
            i for pair in pairs for part in pair for i in part if not isinstance(i, int) or not 0 <= i < len(names)
        ]
        if wrong:
            raise FileError(f"{path} names image {wrong[0]!r}; its list has places 0 … {len(names) - 1}")
        kept = [[[names[i] for i in part if names[i] is not None] for part in pair] for pair in pairs]
        return [Judgement(*pair) for pair in kept]
    return [
        Judgement(_known(positive, ids, known, path, row), _known(junk, ids, known, path, row))
        for row, (positive, junk) in enumerate(pairs)
    ]


def from_labels(items: str, queries: str | None, ids: Array) -> list[Judgement]:
    """Positive = same label."""
    if queries is None:
        raise InputError("--labels gives the label of each item; give those of the queries with --query-labels F")
    item_labels, query_labels = read_label_file(items), read_label_file(queries)
    if len(item_labels) != len(ids):
        raise InputError(f"{items} has {len(item_labels)} labels but the index has {len(ids)} items")
    return label_judgements(query_labels, item_labels, ids)


def _known(entries: list[Any], ids: Array, known: set[Any], path: Path, row: int) -> list[Any]:
    strings = ids.dtype.kind == "U"
    named = []
    for entry in entries:
        if strings and isinstance(entry, int) and 0 <= entry < len(ids):
            entry = ids[entry].item()
        if not isinstance(entry, int | str) or entry not in known:
            raise InputError(f"{path}: query {row} names item {entry!r}, which the index does not have")
        named.append(entry)
    return named
