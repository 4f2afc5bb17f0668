"""What a user asks with: vectors in a file, pictures, a folder of them, texts, or items of the index by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave import pictures
from longwave.cli import options as o
from longwave.cli.picture_options import list_skipped
from longwave.cli.reading import vectors_from
from longwave.errors import InputError, plural
from longwave.evaluation import is_json, read_truth_file
from longwave.files.formats import READERS
from longwave.files.names import Names
from longwave.files.vectors import is_zarr, split_name
from longwave.index import Index
from longwave.pictures.gallery import Part
from longwave.pictures.opening import Box
from longwave.texts import Library, is_of_texts
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Question:
    """Query vectors (m, d), and the query of each where some have several; of pictures and texts also their names."""

    vectors: Array
    query_of: NDArray[np.int64] | None = None
    names: list[str] | None = None
    parts: Sequence[Sequence[Part]] = ()


def question_from(
    given: Sequence[str],
    index: Index,
    *,
    texts: Sequence[str] | None = None,
    box: Sequence[str] | None = None,
    together: bool = False,
    encoder: str | None = None,
) -> Question:
    """Vectors from a file, or pictures described as those of the index were, or texts encoded likewise."""
    if bool(given) == bool(texts):
        raise InputError("give either QUERIES (a file of vectors, or pictures) or --text TEXT")
    if texts:
        if box or together:
            raise InputError("--box and --together are for pictures")
        return Question(Library(index, encoder=encoder).query(texts), names=list(texts))
    files = pictures_in(given)
    if files is None:
        if len(given) > 1:
            raise InputError(f"give one file of vectors, or pictures; got {' '.join(given)}")
        if box or together or encoder:
            raise InputError("--box, --together and --encoder are for pictures")
        if is_of_texts(index.about) and not Path(given[0]).exists():
            raise InputError(f'no such file: {given[0]}; to ask a question of texts, give --text "{given[0]}"')
        return _from_file(given[0], index)
    if box and len(box) != len(files):
        raise InputError(
            f"{plural(len(files), 'picture')} but {plural(len(box), 'box', 'boxes')}: give one --box for each"
        )
    boxes = [pictures.parse_box(text) for text in box] if box else [None] * len(files)
    return _described(files, boxes, index, encoder, together=together, skip=Path(given[0]).is_dir())


def judged_question(text: str, truth: Path | None, index: Index, encoder: str | None) -> Question:
    """As `question_from`; but a folder gives the pictures and boxes that the file of known answers names."""
    if truth is None or not Path(text).is_dir() or is_zarr(text):
        return question_from([text], index, encoder=encoder)
    if truth.suffix in (".mat", ".pkl") or truth.is_dir() or not is_json(truth):
        raise InputError(
            f"{truth} does not say which pictures of {text} are the queries; give query vectors, or the answers as "
            'JSON with {"image": NAME, "box": [x0, y0, x1, y1], "positive": [...]} for each query'
        )
    names = Names(pictures.list_pictures(text))
    files, boxes = [], []
    for number, entry in enumerate(read_truth_file(truth)["queries"]):
        name = names.find(str(entry.get("image")))
        if "image" not in entry:
            raise InputError(
                f'{truth}: query {number} does not say which picture of {text} it is: give it "image": NAME'
            )
        if name is None:
            raise InputError(
                f"{truth}: query {number} has the image {entry.get('image')!r}, which {text} does not hold"
            )
        files.append(Path(text) / name)
        boxes.append(_box_from(entry.get("box"), f"{truth}: query {number}"))
    return _described(files, boxes, index, encoder)


def items_from(texts: Sequence[str], index: Index) -> list[Any]:
    """Items as a user names them: ids, and of pictures also paths as the shell completes them, or their names alone."""
    known = index.ids.tolist()
    named: list[Any] = list(texts)
    if index.ids.dtype.kind != "U":
        wrong = [text for text in texts if not re.fullmatch("-?[0-9]+", text)]
        if wrong:
            raise InputError(f"ids of this index are whole numbers, such as {known[0]}, got '{wrong[0]}'")
        named = [int(text) for text in texts]
    elif pictures.is_of_pictures(index.about):
        gallery = pictures.Gallery(index)
        named = [gallery.item(text) or text for text in texts]
    every = set(known)
    missing = [text for text, name in zip(texts, named, strict=True) if name not in every]
    if missing:
        raise InputError(f"the index has no item '{missing[0]}'; its ids look like {known[0]!r}")
    return named


def pictures_in(texts: Sequence[str]) -> list[Path] | None:
    """Pictures, or those of a folder; None where the texts are something else."""
    if len(texts) == 1 and Path(texts[0]).is_dir() and not is_zarr(texts[0]):
        return [Path(texts[0]) / name for name in pictures.list_pictures(texts[0])]
    return [Path(text) for text in texts] if all(pictures.is_picture(text) for text in texts) else None


def _from_file(text: str, index: Index) -> Question:
    """Vectors, or what `longwave describe` has written."""
    of_pictures = pictures.is_of_pictures(index.about)
    if of_pictures and Path(split_name(text)[0]).suffix.lower() not in READERS:
        raise InputError(f"{text} is neither a picture ({' '.join(sorted(pictures.SUFFIXES))}) nor vectors ({o.FILES})")
    described = pictures.read_description(text)
    if described is None:
        return Question(vectors_from(text))
    if of_pictures:
        pictures.treatment_from(index.about)[0].check_same(described.treatment, what=text)
    return Question(described.vectors, described.item_of)


def _described(
    files: Sequence[Path],
    boxes: Sequence[Box | None],
    index: Index,
    encoder: str | None,
    *,
    together: bool = False,
    skip: bool = False,
) -> Question:
    """skip: what cannot be read is listed and left out."""
    gallery = pictures.Gallery(index, encoder=encoder)
    asked = gallery.query(files, box=boxes, together=together, skip=skip)
    list_skipped(asked.skipped, len(files))
    return Question(asked.vectors, asked.query_of, asked.names, asked.parts)


def _box_from(given: Any, where: str) -> Box | None:
    if given is None:
        return None
    if isinstance(given, str):
        return pictures.parse_box(given)
    numbers = isinstance(given, list) and all(isinstance(v, int | float) and abs(v) < 1e9 for v in given)
    if not numbers or len(given) != 4:
        raise InputError(f"{where} has the box {given!r}; give four numbers [x0, y0, x1, y1] in pixels")
    return float(given[0]), float(given[1]), float(given[2]), float(given[3])
