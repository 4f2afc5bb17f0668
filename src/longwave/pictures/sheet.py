"""A contact sheet: each query in a column of its own, and beside it its hits as small pictures, numbered by rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.errors import FileError, InputError, MissingExtraError, writing
from longwave.pictures.opening import Box, Picture, open_picture, picture_name

_SIDE, _GAP, _LINE = 160, 10, 16
_WIDE, _HIGH = _SIDE + _GAP, _SIDE + 2 * _LINE + _GAP
# The column of the queries, with its margins; the hits begin behind it.
_ASIDE = _SIDE + 2 * _GAP
# Hits beside each other, and lines of them: JPEG ends at 65,500 pixels.
_ACROSS, _DOWN = 10, 300


@dataclass(frozen=True)
class Cell:
    """A picture, the part of it that is meant, and the two lines below it."""

    picture: Picture
    title: str
    text: str
    box: Box | None = None


@dataclass(frozen=True)
class Answer:
    """What was asked with, one picture or several, and what was found, best first."""

    queries: Sequence[Cell]
    hits: Sequence[Cell]

    @property
    def lines(self) -> int:
        """Lines that it takes on the sheet."""
        return max(len(self.queries), -(-len(self.hits) // _ACROSS))


def check_drawing() -> None:
    """Raise unless Pillow is there to draw with."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("a contact sheet", "images") from error


def draw_sheet(answers: Sequence[Answer], target: str | Path) -> list[Path]:
    """Write the answers as one picture, below each other. Returns the paths of pictures that cannot be read."""
    check_drawing()
    from PIL import Image, ImageDraw

    lines = sum(answer.lines for answer in answers)
    if lines > _DOWN:
        raise InputError(
            f"a contact sheet has at most {_DOWN} lines of {_ACROSS} hits, these are {lines}; ask with fewer pictures, "
            "or for fewer hits with -k"
        )
    across = max(min(len(answer.hits), _ACROSS) for answer in answers)
    sheet = Image.new("RGB", (_ASIDE + _GAP + across * _WIDE, lines * _HIGH + _GAP), "white")
    pen = ImageDraw.Draw(sheet)
    pen.rectangle((0, 0, _ASIDE, sheet.height), fill="#e9e9e9")
    gone, top = [], _GAP
    for answer in answers:
        if top > _GAP:
            pen.line((0, top - _GAP // 2, sheet.width, top - _GAP // 2), fill="#999999")
        queries = [(cell, _GAP, top + y * _HIGH, "") for y, cell in enumerate(answer.queries)]
        hits = [
            (cell, _ASIDE + _GAP + place % _ACROSS * _WIDE, top + place // _ACROSS * _HIGH, str(place + 1))
            for place, cell in enumerate(answer.hits)
        ]
        for cell, left, upper, rank in queries + hits:
            if not _draw(cell, sheet, pen, left, upper, rank):
                gone.append(Path(picture_name(cell.picture)))
        top += answer.lines * _HIGH
    with writing(target):
        sheet.save(target)
    return gone


def _draw(cell: Cell, sheet: Any, pen: Any, left: int, top: int, rank: str) -> bool:
    """One picture with its lines and, if any, its rank in the corner. False where the picture cannot be read."""
    from PIL import Image, ImageOps

    font, large = _font(11), _font(14)
    readable = True
    try:
        opened = Image.fromarray(open_picture(cell.picture, size=2 * _SIDE, box=cell.box))
        small = ImageOps.contain(opened, (_SIDE, _SIDE))
        sheet.paste(small, (left + (_SIDE - small.width) // 2, top + (_SIDE - small.height) // 2))
    except FileError:
        readable = False
        pen.rectangle((left, top, left + _SIDE - 1, top + _SIDE - 1), fill="#cccccc")
        pen.text((left + _SIDE // 2, top + _SIDE // 2), "cannot be read", fill="black", font=font, anchor="mm")
    if rank:
        width = round(pen.textlength(rank, font=large)) + 10
        pen.rectangle((left, top, left + width, top + 20), fill="black")
        pen.text((left + width // 2, top + 10), rank, fill="white", font=large, anchor="mm")
    for number, text in enumerate((cell.title, cell.text)):
        place = left, top + _SIDE + 2 + number * _LINE
        pen.text(place, _fitting(" ".join(text.split()), pen, font), fill="black", font=font)
    return readable


def _font(size: int) -> Any:
    """DejaVu, which has more letters than Pillow's own, where matplotlib brings it."""
    from importlib.util import find_spec

    from PIL import ImageFont

    spec = find_spec("matplotlib")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "mpl-data/fonts/ttf/DejaVuSans.ttf"
        if path.is_file():
            return ImageFont.truetype(str(path), size)
    return ImageFont.load_default(size)


def _fitting(line: str, pen: Any, font: Any) -> str:
    """The line, or as much of its two ends as is not wider than a cell."""
    ends = [line, *(f"{line[: n - n // 2]}…{line[-(n // 2) :]}" for n in range(len(line) - 1, 1, -1))]
    return next(text for text in ends if pen.textlength(text, font=font) <= _SIDE or text is ends[-1])
