"""Ground truth for `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from longwave.cli.options import read_label_file
from longwave.errors import FileError, InputError
from longwave.evaluation import Judgement, label_judgements
from longwave.files.bounded import read_json
from longwave.types import Array


def judgements(path: Path | None, labels: str | None, query_labels: str | None, ids: Array) -> list[Judgement]:
    """From --truth F, or from --labels F and --query-labels F. ids: of the items."""
    if path is not None and labels is None:
        return from_json(path, ids)
    if labels is not None and path is None:
        return from_labels(labels, query_labels, ids)
    raise InputError("give the ground truth either with --truth F or with --labels F and --query-labels F")


class Names:
    """Paths, found also without their suffix or their folders where that is not ambiguous."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = set(paths)

    @cached_property
    def forms(self) -> dict[str, set[str]]:
        """What else each path may be called."""
        forms: dict[str, set[str]] = {}
        for path in self.paths:
            plain = Path(path)
            for form in (str(plain.with_suffix("")), plain.name, plain.stem) if plain.name else ():
                forms.setdefault(form, set()).add(path)
        return forms

    def find(self, name: str) -> str | None:
        """The path of a name, None where there is none."""
        if name in self.paths:
            return name
        found = self.forms.get(name, set())
        if len(found) > 1:
            first, second, *_ = sorted(found)
            raise InputError(f"'{name}' may be {first!r} or {second!r}; write more of its path")
        return next(iter(found), None)


def read_truth(path: Path) -> dict[str, Any]:
    """The JSON of a ground truth, with its form checked: lists where lists belong."""
    try:
        whole = read_json(path)
        lists = [whole["queries"], whole.get("images", [])]
        lists += [part for entry in whole["queries"] for part in (entry["positive"], entry.get("junk", []))]
        if not all(isinstance(part, list) for part in lists):
            raise TypeError("something other than a list")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not ground truth ({type(error).__name__}: {str(error)[:80]}); expected "
            '{"queries": [{"positive": [3, 17], "junk": [5]}, ...]}, one entry per query'
        ) from error
    return dict(whole)


def from_json(path: Path, ids: Array) -> list[Judgement]:
    """A JSON object with a list `queries` of objects with `positive` and, if any, `junk`: ids, or item numbers.

    Whole numbers are ids where the index's ids are numbers, and places in the collection where they are strings. Where
    the file has a list `images`, they are places in it, and what the index does not have is left out.
    """
    whole = read_truth(path)
    pairs = [(entry["positive"], entry.get("junk", [])) for entry in whole["queries"]]
    images = [str(name) for name in whole.get("images", [])]
    known = set(ids.tolist())
    paths = Names(known) if ids.dtype.kind == "U" else None
    if images and paths is not None:
        names = [paths.find(name) for name in images]
        wrong = [
            i for pair in pairs for part in pair for i in part if not isinstance(i, int) or not 0 <= i < len(names)
        ]
        if wrong:
            raise FileError(f"{path} names image {wrong[0]!r}; its list has places 0 … {len(names) - 1}")
        kept = [[[names[i] for i in part if names[i] is not None] for part in pair] for pair in pairs]
        return [Judgement(*pair) for pair in kept]
    return [
        Judgement(*(_known(part, ids, known, paths, f"{path}: query {row}") for part in (positive, junk)))
        for row, (positive, junk) in enumerate(pairs)
    ]


def from_labels(items: str, queries: str | None, ids: Array) -> list[Judgement]:
    """Positive = same label."""
    if queries is None:
        raise InputError("--labels gives the label of each item; give those of the queries with --query-labels F")
    item_labels, query_labels = read_label_file(items), read_label_file(queries)
    if len(item_labels) != len(ids):
        raise InputError(f"{items} must have a label for each item of the index, {len(ids)}, got {len(item_labels)}")
    return label_judgements(query_labels, item_labels, ids)


def _known(entries: list[Any], ids: Array, known: set[Any], paths: Names | None, where: str) -> list[Any]:
    named = []
    for entry in entries:
        if paths is not None and isinstance(entry, int) and 0 <= entry < len(ids):
            entry = ids[entry].item()
        elif paths is not None and isinstance(entry, str):
            entry = paths.find(entry) or entry
        if not isinstance(entry, int | str) or entry not in known:
            raise InputError(f"{where} names item {entry!r}, which the index does not have")
        named.append(entry)
    return named
