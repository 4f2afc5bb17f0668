"""The text files of the Oxford and Paris buildings, as they are published: NAME_query.txt, _good, _ok and _junk."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from longwave.datasets.truth import GroundTruth, made, numbers
from longwave.errors import FileError, InputError
from longwave.evaluation import Judgement
from longwave.files.bounded import open_regular

_PREFIX = "oxc1_"  # before the query images of Oxford, and nowhere else


def read_oxford_text(folder: str | PathLike[str], images: Sequence[str]) -> GroundTruth[Judgement]:
    """The classic protocol: good and ok are positive, junk is ignored; queries in the order of their names.

    images: names in the order of the descriptors, without the suffix .jpg; boxes are those of the queries.
    """
    place = Path(folder)
    rows = numbers([name.removesuffix(".jpg") for name in images], str(place))
    files = sorted(place.glob("*_query.txt"))
    if not files:
        raise FileError(f"{place} has no *_query.txt; give the folder of the published ground truth")
    judgements, boxes = [], []
    for file in files:
        stem = file.name.removesuffix("_query.txt")
        image, *corners = next(iter(_lines(file)), "").split() or [""]
        _row(image.removeprefix(_PREFIX), rows, file)
        try:
            left, top, right, bottom = (float(corner) for corner in corners)
        except ValueError:
            raise FileError(f"{file} must hold an image and the four corners of a box, got {corners}") from None
        boxes.append((left, top, right, bottom))
        good, ok, junk = (
            [_row(name, rows, place / f"{stem}_{kind}.txt") for name in _lines(place / f"{stem}_{kind}.txt")]
            for kind in ("good", "ok", "junk")
        )
        judgements.append(Judgement(good + ok, junk))
    queries = [file.name.removesuffix("_query.txt") for file in files]
    return made(str(place), rows, queries, judgements, tuple(boxes))


def landmark(query: str) -> str:
    """What a query shows: all_souls of all_souls_3."""
    return query.rpartition("_")[0]


def _lines(path: Path) -> list[str]:
    try:
        with open_regular(path) as stream:
            return [line for line in stream.read().decode("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}; the four files of every query must be there") from error


def _row(name: str, rows: dict[str, int], file: Path) -> int:
    if name.strip() not in rows:
        raise InputError(f"{file} names image {name!r}, which is not among the {len(rows):,} images of the collection")
    return rows[name.strip()]
