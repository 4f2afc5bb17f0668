"""Known answers in a file, whose form is seen from its content.

- JSON: {"queries": [{"positive": [3, 17], "junk": [5]}, …]}, one entry for each query;
- JSON: [[3, 17], [5]], the right items of each query;
- lines of a qrels file, as TREC has them (`qrels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longwave.errors import FileError, InputError
from longwave.evaluation.average_precision import Judgement
from longwave.evaluation.qrels import judgements_from_qrels
from longwave.files.bounded import open_regular, read_json
from longwave.files.names import Names
from longwave.types import Array


def read_truth_file(path: str | Path) -> dict[str, Any]:
    """The JSON object of a truth file, with its form checked: lists where lists belong. A list of lists becomes one.

    An entry of "queries" may also have "image" and "box", where pictures are asked with.
    """
    try:
        whole = read_json(path)
        if isinstance(whole, list) and whole:
            whole = {"queries": [{"positive": own} if isinstance(own, list) else own for own in whole]}
        if not isinstance(whole, dict):
            raise TypeError(f"a {type(whole).__name__} at the top")
        lists = [whole["queries"], whole.get("images", [])]
        lists += [part for entry in whole["queries"] for part in (entry["positive"], entry.get("junk", []))]
        if not all(isinstance(part, list) for part in lists):
            raise TypeError("something other than a list")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not ground truth ({type(error).__name__}: {str(error)[:80]}); expected "
            '{"queries": [{"positive": [3, 17], "junk": [5]}, ...]}, or [[3, 17], ...], one entry per query'
        ) from error
    return dict(whole)


def is_json(path: str | Path) -> bool:
    """Whether a file begins as JSON does."""
    try:
        with open_regular(path) as stream:
            return stream.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[", b'"')
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error


def judgements_from_file(
    path: str | Path, ids: Array, *, names: Sequence[Any] | None = None, count: int | None = None
) -> list[Judgement]:
    """The judgements of a truth file, by ids of the index. ids: (N,) of the items.

    names, count: what the queries are called, and how many there are, where the file is a qrels file.

    Where ids are whole numbers, the file names these. Where ids are names of files, the file has names, which may lack
    their suffix or folders, or places in the collection. Where the file has a list "images", numbers are places in that
    list, and images that the index does not have are left out.
    """
    if not is_json(path):
        return judgements_from_qrels(path, ids, names=names, count=count)
    whole = read_truth_file(path)
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


def _known(entries: list[Any], ids: Array, known: set[Any], paths: Names | None, where: str) -> list[Any]:
    """Ids of the index for what a file names."""
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
