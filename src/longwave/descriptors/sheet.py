"""A contact sheet: each query and its hits as small pictures in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.descriptors.pictures import Box, open_picture
from longwave.errors import FileError, InputError

_SIDE, _GAP, _LINE = 160, 8, 14
# Cells beside each other, and lines of them: JPEG ends at 65,500 pixels.
_ACROSS, _DOWN = 11, 300


@dataclass(frozen=True)
class Cell:
    """A picture, the part of it that is meant, and what stands below it. framed: a query."""

    path: Path
    title: str
    text: str
    box: Box | None = None
    framed: bool = False


def draw_sheet(rows: Sequence[Sequence[Cell]], target: str | Path) -> list[Path]:
    """Write the rows as one picture, long ones on several lines. Returns the paths that are gone."""
    from PIL import Image, ImageDraw, ImageOps

    lines = [row[start : start + _ACROSS] for row in rows for start in range(0, len(row), _ACROSS)]
    if len(lines) > _DOWN:
        raise InputError(f"a contact sheet has at most {_DOWN} lines of {_ACROSS} pictures, not {len(lines)}; ask less")
    wide, high = _SIDE + _GAP, _SIDE + 2 * _LINE + _GAP
    sheet = Image.new("RGB", (wide * max(len(line) for line in lines) + _GAP, high * len(lines) + _GAP), "white")
    pen, font = ImageDraw.Draw(sheet), _font()
    gone = []
    for y, line in enumerate(lines):
        for x, cell in enumerate(line):
            left, top = _GAP + x * wide, _GAP + y * high
            try:
                opened = Image.fromarray(open_picture(cell.path, size=2 * _SIDE, box=cell.box))
                small = ImageOps.contain(opened, (_SIDE, _SIDE))
                sheet.paste(small, (left + (_SIDE - small.width) // 2, top + (_SIDE - small.height) // 2))
            except FileError:
                gone.append(cell.path)
                pen.rectangle((left, top, left + _SIDE, top + _SIDE), fill="#dddddd")
                pen.text((left + 8, top + _SIDE // 2), "cannot be read", fill="black", font=font)
            if cell.framed:
                pen.rectangle((left - 3, top - 3, left + _SIDE + 2, top + _SIDE + 2), outline="#d08000", width=3)
            for number, text in enumerate((cell.title, cell.text)):
                place = left, top + _SIDE + 2 + number * _LINE
                pen.text(place, _fitting(" ".join(text.split()), pen, font), fill="black", font=font)
    try:
        sheet.save(target)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write {target}: {error}") from error
    return gone


def _font() -> Any:
    """DejaVu, which has more letters than Pillow's own, where matplotlib brings it."""
    from importlib.util import find_spec

    from PIL import ImageFont

    spec = find_spec("matplotlib")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "mpl-data/fonts/ttf/DejaVuSans.ttf"
        if path.is_file():
            return ImageFont.truetype(str(path), 10)
    return ImageFont.load_default()


def _fitting(line: str, pen: Any, font: Any) -> str:
    """The line, or as much of its two ends as is not wider than a cell."""
    ends = [line, *(f"{line[: n - n // 2]}…{line[-(n // 2) :]}" for n in range(len(line) - 1, 1, -1))]
    return next(text for text in ends if pen.textlength(text, font=font) <= _SIDE or text is ends[-1])
