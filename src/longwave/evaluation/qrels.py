"""Known answers in a qrels file, as TREC has them: on each line a query, a column of no use, an item and its grade."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longwave.errors import FileError, InputError, plural
from longwave.evaluation.average_precision import Judgement
from longwave.files.bounded import check_regular, open_regular
from longwave.files.names import Names
from longwave.types import Array

_MOST_BYTES = 1 << 31
_FORMS = (
    "lines of a qrels file, QUERY 0 ITEM GRADE, such as: 301 0 17 1, with a whole number at the end; or JSON: "
    '[[3, 17], [5]] or {"queries": [{"positive": [3, 17], "junk": [5]}, ...]}'
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


class Line(NamedTuple):
    """One line of the file. grade: above 0 for what is right."""

    number: int
    query: str
    item: str
    grade: int


def judgements_from_qrels(
    path: str | Path, ids: Array, *, names: Sequence[Any] | None = None, count: int | None = None
) -> list[Judgement]:
    """One judgement for each query, by ids of the index. ids: (N,) of the items. count: how many queries there are.

    names: what the file calls the queries, in their order; queries that it does not have are without an answer, and
    those that only it has are passed over. Without names the file must number the queries, and have as many as there
    are: the lowest number is the first. Grades of 0 and below are not right, as in trec_eval.
    """
    lines = list(read_qrels(path))
    rows = _rows(path, lines, names, count)
    item_of = _item_of(ids)
    graded: list[dict[Any, int]] = [{} for _ in range(max(rows.values()) + 1 if names is None else len(names))]
    for line in lines:
        row = rows.get(line.query)
        if row is None:
            continue
        item = item_of(line.item)
        if item is None and line.grade <= 0:
            continue
        if item is None:
            raise InputError(
                f"{path}: line {line.number} names item {line.item[:80]!r}, which the index does not have (its ids "
                f"look like {ids[0].item()!r}); leave out the line, or build the index of all items"
            )
        if graded[row].setdefault(item, line.grade) != line.grade:
            raise FileError(
                f"{path}: line {line.number} gives item {line.item[:80]!r} of query {line.query[:80]!r} another grade "
                "than a line before; leave out one of them"
            )
    right = [{item: float(grade) for item, grade in own.items() if grade > 0} for own in graded]
    return [Judgement(list(grades), grades=grades) for grades in right]


def read_qrels(path: str | Path) -> Iterator[Line]:
    """The lines of the file, checked; empty ones are passed over."""
    if check_regular(path) > _MOST_BYTES:
        raise FileError(f"{path} is larger than 2 GiB; a qrels file has one line for each judged item: check it")
    found = False
    with open_regular(path) as stream:
        for number, raw in enumerate(stream, 1):
            try:
                parts = raw.decode("utf-8-sig" if number == 1 else "utf-8").split()
            except UnicodeDecodeError:
                raise FileError(
                    f"{path} is not ground truth: line {number} is not text in UTF-8; give {_FORMS}"
                ) from None
            if not parts:
                continue
            if len(parts) != 4 or not _WHOLE.fullmatch(parts[3]):
                raise FileError(_no_line(path, number, parts))
            found = True
            yield Line(number, parts[0], parts[2], int(parts[3]))
    if not found:
        raise FileError(f"{path} is empty; give {_FORMS}")


def _no_line(path: str | Path, number: int, parts: list[str]) -> str:
    text = " ".join(parts)
    shown = text if len(text) <= 60 else f"{text[:59]}…"
    wrong = f"has {plural(len(parts), 'word')}" if len(parts) != 4 else f"has the grade {parts[3][:20]!r}"
    return f"{path} is not ground truth: line {number} ({shown!r}) {wrong}; give {_FORMS}"


def _rows(path: str | Path, lines: list[Line], names: Sequence[Any] | None, count: int | None) -> dict[str, int]:
    """The number of each query that is asked, by its name in the file."""
    known = dict.fromkeys(line.query for line in lines)
    if names is not None:
        rows = {str(name): row for row, name in enumerate(names)}
        if len(rows) < len(names):
            raise InputError("query ids must be distinct, as answers are found by them; give each query one of its own")
        if not rows.keys() & known.keys():
            raise InputError(
                f"{path} has answers for none of the query ids: they look like {str(names[0])!r}, those of the file "
                f"like {lines[0].query[:80]!r} (line {lines[0].number})"
            )
        return rows
    numbered = all(_WHOLE.fullmatch(name) for name in known)
    if numbered and len({int(name) for name in known}) == (len(known) if count is None else count):
        place = {number: row for row, number in enumerate(sorted({int(name) for name in known}))}
        return {name: place[int(name)] for name in known}
    many = plural(len(known), "query", "queries")
    how = f"{many}, for {count:,} that are asked" if numbered and count is not None else f"{many} by name"
    raise InputError(
        f"{path} has {how} (line {lines[0].number} is of {lines[0].query[:80]!r}): say which query each row asks, with "
        "--query-ids F, a file with their ids in order (in Python: names=[...])"
    )


def _item_of(ids: Array) -> Callable[[str], Any]:
    """The id of the index that a text means, or None."""
    if ids.dtype.kind == "U":
        return Names(ids.tolist()).find
    known = set(ids.tolist())

    def find(text: str) -> int | None:
        number = int(text) if _WHOLE.fullmatch(text) else None
        return number if number in known else None

    return find
