"""A contact sheet: each query and its hits as small pictures in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.descriptors.pictures import Box, open_picture
from longwave.errors import FileError

_SIDE, _GAP, _LINE = 160, 8, 14


@dataclass(frozen=True)
class Cell:
    """A picture, the part of it that is meant, and what stands below it. framed: a query."""

    path: Path
    text: str
    box: Box | None = None
    framed: bool = False


def draw_sheet(rows: Sequence[Sequence[Cell]], target: str | Path) -> list[Path]:
    """Write the rows as one picture. Returns the paths that are gone."""
    from PIL import Image, ImageDraw, ImageOps

    wide, high = _SIDE + _GAP, _SIDE + 2 * _LINE + _GAP
    sheet = Image.new("RGB", (wide * max(len(row) for row in rows) + _GAP, high * len(rows) + _GAP), "white")
    pen = ImageDraw.Draw(sheet)
    gone = []
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            left, top = _GAP + x * wide, _GAP + y * high
            try:
                opened = Image.fromarray(open_picture(cell.path, size=2 * _SIDE, box=cell.box))
                small = ImageOps.contain(opened, (_SIDE, _SIDE))
                sheet.paste(small, (left + (_SIDE - small.width) // 2, top + (_SIDE - small.height) // 2))
            except FileError:
                gone.append(cell.path)
                pen.rectangle((left, top, left + _SIDE, top + _SIDE), fill="#dddddd")
                pen.text((left + 8, top + _SIDE // 2), "cannot be read", fill="black")
            if cell.framed:
                pen.rectangle((left - 3, top - 3, left + _SIDE + 2, top + _SIDE + 2), outline="#d08000", width=3)
            for number, line in enumerate((cell.path.name, cell.text)):
                pen.text((left, top + _SIDE + 2 + number * _LINE), _fitting(line, pen), fill="black")
    try:
        sheet.save(target)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot write {target}: {error}") from error
    return gone


def _fitting(line: str, pen: Any) -> str:
    """The line, or as much of its two ends as is not wider than a cell."""
    ends = [line, *(f"{line[: n - n // 2]}…{line[-(n // 2) :]}" for n in range(len(line) - 1, 1, -1))]
    return next(text for text in ends if pen.textlength(text) <= _SIDE or text is ends[-1])
