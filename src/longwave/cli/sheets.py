"""The option `--sheet`: hits as a contact sheet of pictures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from longwave.cli.asking import pictures_in
from longwave.cli.results import check_apart, check_picture
from longwave.cli.screen import err
from longwave.errors import DataWarning, FileError, InputError, plural
from longwave.index import Index
from longwave.pictures import Gallery, check_drawing
from longwave.pictures.gallery import Part
from longwave.types import Hits


def check_sheet(sheet: Path | None, index: Index, queries: Sequence[str] | None = None) -> None:
    """Raise before the search if the sheet could not be made, or would replace a picture."""
    if sheet is None:
        return
    if sheet.suffix not in (".png", ".jpg"):
        raise FileError(f"cannot write {sheet}: the suffix of a contact sheet must be .png or .jpg")
    check_picture(sheet)
    asked = [] if queries is None else pictures_in(queries)
    if asked is None:
        raise InputError("--sheet shows pictures; search with a picture or a folder of them")
    check_drawing()
    gallery = Gallery(index)
    check_apart(sheet, *asked)
    if gallery.id_of_file(sheet) in gallery.names.paths:
        raise FileError(f"cannot write {sheet}: it is a picture of the collection; choose another name")


def write_sheet(sheet: Path, asked: Sequence[Sequence[Part]], hits: Hits, index: Index) -> None:
    """The queries and their hits as one picture; hits that are gone are grey, with a warning."""
    gone = Gallery(index).draw(asked, hits, sheet)
    if gone:
        many = plural(len(gone), "picture")
        warnings.warn(f"{many} cannot be read any more; the first: {gone[0]}", DataWarning, stacklevel=2)
    err.print(f"wrote {sheet}", highlight=False, markup=False, soft_wrap=True)
