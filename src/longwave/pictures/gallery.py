"""The pictures behind an index: searched with a picture or a part of one, and found again on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.display import pictures_html, readable
from longwave.errors import FileError, InputError, plural
from longwave.files.names import Names
from longwave.hits import Hits
from longwave.index import Index
from longwave.pictures.describe import describe_queries
from longwave.pictures.encoders import DEFAULT, Encoder, open_encoder
from longwave.pictures.facts import treatment_from, whitening_from
from longwave.pictures.opening import Box, Picture, picture_name
from longwave.pictures.sheet import Answer, Cell, draw_sheet
from longwave.pictures.thumbnails import thumbnail
from longwave.pictures.whitening import Whitening

#: One box, or one for each picture; None for the whole picture.
Boxes: TypeAlias = Box | Sequence[Box | None] | None
#: A picture and the part of it that is meant.
Part: TypeAlias = tuple[Picture, Box | None]


@dataclass(frozen=True, eq=False)
class PictureQuery:
    """Pictures as queries: ``index.search(query.vectors, query_groups=query.query_of)``.

    vectors: (m, d). query_of: (m,) the query of each. shown: the pictures, with their boxes. skipped: pictures that
    could not be read, with the reason.
    """

    vectors: NDArray[np.float32]
    query_of: NDArray[np.int64]
    shown: tuple[Part, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def n_queries(self) -> int:
        """How many queries these are: one for each picture, or one of all together."""
        return int(self.query_of.max()) + 1

    @property
    def parts(self) -> list[list[Part]]:
        """The pictures of each query."""
        return [list(self.shown)] if self.n_queries < len(self.shown) else [[part] for part in self.shown]

    @property
    def names(self) -> list[str]:
        """What the queries are called: the path of each picture."""
        return [" + ".join(picture_name(picture) for picture, _ in parts) for parts in self.parts]


@dataclass(frozen=True)
class Shown:
    """HTML that a notebook displays."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


class Gallery:
    """An index of pictures, searched by picture.

    index: one that `build_index` or `longwave build --images` has made. folder: where the pictures are now, if they
    were moved. encoder: where the .onnx file is now, if it was moved, or an `Encoder`. The encoder is opened when first
    needed, and kept: make one gallery and use it for many searches.

        gallery = Gallery(Index.load("holiday.longwave"))
        hits = gallery.search("beach.jpg", box=(40, 60, 300, 280))
        gallery.path(hits.ids[0, 0])
    """

    def __init__(
        self, index: Index, *, folder: str | Path | None = None, encoder: Encoder | str | Path | None = None
    ) -> None:
        self.index = index
        self.treatment, known = treatment_from(index.about)
        self.folder = known if folder is None else Path(folder)
        self._encoder = encoder

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that the index was made with."""
        given, known = self._encoder, self.treatment.encoder
        if given is not None and not isinstance(given, str | Path):
            return given
        if given is None and known != DEFAULT and not Path(known).is_file():
            raise FileError(
                f"the encoder of this index was {known}, which is gone; say where it is now with --encoder F"
            )
        name = str(given or known)
        scales = {} if name == DEFAULT else {"mean": self.treatment.mean, "std": self.treatment.std}
        return open_encoder(name, **scales)

    @cached_property
    def whitening(self) -> Whitening | None:
        """The whitening that the index was made with."""
        return whitening_from(self.index.attached)

    def query(
        self,
        pictures: Picture | Sequence[Picture],
        *,
        box: Boxes = None,
        together: bool = False,
        skip: bool = False,
    ) -> PictureQuery:
        """Pictures as query vectors, described as the collection was.

        pictures: one or several; paths, or the bytes of a file. box: the part that is meant, x0, y0, x1, y1 in pixels;
        one for each picture. together: all pictures are one query, views of the same thing. skip: leave out pictures
        that cannot be read, rather than raise.
        """
        given = [pictures] if isinstance(pictures, str | Path | bytes) else list(pictures)
        boxes = _boxes(box, len(given))
        parts, shown, skipped = [], [], []
        for picture, part in zip(given, boxes, strict=True):
            try:
                own, _ = describe_queries([picture], self.encoder, self.treatment, self.whitening, boxes=[part])
            except FileError as error:
                if not skip:
                    raise
                skipped.append((picture_name(picture), str(error)))
                continue
            parts.append(own)
            shown.append((picture, part))
        if not parts:
            raise FileError(
                f"no picture of the {len(given)} can be read; the first: {skipped[0][1]}"
                if skipped
                else "there is no picture to search with; give at least one"
            )
        query_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return PictureQuery(
            np.concatenate(parts), np.zeros_like(query_of) if together else query_of, tuple(shown), tuple(skipped)
        )

    def search(
        self,
        pictures: Picture | Sequence[Picture],
        k: int = 10,
        *,
        box: Boxes = None,
        together: bool = False,
        **options: Any,
    ) -> Hits:
        """The k best items for each picture. box, together: as for `query`. options: those of `Index.search`."""
        asked = self.query(pictures, box=box, together=together)
        return self.index.search(asked.vectors, k, query_groups=asked.query_of, **options)

    @cached_property
    def names(self) -> Names:
        """The ids of all items, found also by a part of their path."""
        return Names(self.index.ids.tolist())

    def item(self, name: str | Path) -> str | None:
        """The id of the picture that is meant; None where the index does not have it.

        name: an id, a path on the disk, a path that begins with the name of the folder, or the name of the file alone.
        """
        text = str(name)
        forms = (text, self.id_of_file(text) or "", text.removeprefix("./").removeprefix(f"{self.folder.name}/"))
        return next((form for form in forms if form in self.names.paths), None) or self.names.find(text)

    def id_of_file(self, path: str | Path) -> str | None:
        """The id that a file has, or would have, by its place in the folder; None where it lies elsewhere."""
        given, root = Path(path), self.folder.resolve()
        whole = given.parent.resolve() / given.name  # a picture may itself be a link
        return whole.relative_to(root).as_posix() if root in whole.parents else None

    def place(self, item: str) -> Path:
        """Where the picture of an item should be; whether it is there is not looked at."""
        if item not in self.names.paths:
            raise InputError(f"the index has no item '{item}'; its ids look like {self.index.ids[0].item()!r}")
        inside = PurePosixPath(item)
        if inside.is_absolute() or ".." in inside.parts:
            raise FileError(f"'{item}' does not lie in the folder of the pictures; build the index again")
        return self.folder / inside

    def path(self, item: str) -> Path:
        """The file of an item; an error that says what to do where it is gone."""
        found = self.place(item)
        if not found.is_file():
            what = "the picture" if self.folder.is_dir() else "the folder of the pictures"
            raise FileError(
                f"{found} is gone: {what} was moved or removed since the index was built; if it was moved, say where: "
                "longwave relocate INDEX --pictures FOLDER, or for once Gallery(index, folder=...)"
            )
        return found

    def thumbnail(self, item: str, *, size: int = 256) -> bytes:
        """A small copy of the picture of an item, as the bytes of a JPEG file. size: its longest side."""
        return thumbnail(self.path(item), size=size)

    def show(self, hits: Hits, *, size: int = 128, queries: int = 10) -> Shown:
        """The pictures of hits, for a notebook: small copies with id and score. queries: rows at most."""
        rows = []
        for number, found in enumerate(hits[:queries].records()):
            cells: list[tuple[str, str, bytes | None]] = []
            for hit in found:
                there = self.place(hit["id"]).is_file()
                copy = self.thumbnail(hit["id"], size=size) if there else None
                cells.append((hit["id"], readable(hit["score"]), copy))
            rows.append((f"query {number}" if hits.n_queries > 1 else "", cells))
        return Shown(pictures_html(rows))

    def draw(self, asked: Sequence[Sequence[Part]], hits: Hits, target: str | Path) -> list[Path]:
        """Write a contact sheet, .png or .jpg: each query beside its hits. asked: the pictures of each query.

        Returns the pictures that cannot be read any more; they are grey on the sheet.
        """
        answers = []
        for parts, found in zip(asked, hits.records(), strict=True):
            queries = [
                Cell(picture, Path(picture_name(picture)).name, "query" if box is None else "query (part)", box)
                for picture, box in parts
            ]
            shown = [Cell(self.place(hit["id"]), hit["id"], readable(hit["score"])) for hit in found]
            answers.append(Answer(queries, shown))
        return draw_sheet(answers, target)


def query(
    index: Index, picture: Picture, box: Box | None = None, *, encoder: Encoder | str | Path | None = None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Query vectors of a picture, or of a part of it, and their query, for `Index.search`: (m, d), (m,) of zeros.

    For one search. `Gallery` keeps the encoder open for many.
    """
    asked = Gallery(index, encoder=encoder).query(picture, box=box)
    return asked.vectors, asked.query_of


def _boxes(box: Boxes, count: int) -> list[Box | None]:
    """One for each picture."""
    if box is None:
        return [None] * count
    given: list[Any] = [box] if all(isinstance(side, int | float | np.number) for side in box) else list(box)
    if len(given) != count:
        raise InputError(f"{plural(count, 'picture')} but {plural(len(given), 'box', 'boxes')}: give one for each")
    wrong = [one for one in given if one is not None and len(one) != 4]
    if wrong:
        raise InputError(f"a box is four numbers x0, y0, x1, y1 in pixels, got {wrong[0]!r}")
    return [None if one is None else (float(one[0]), float(one[1]), float(one[2]), float(one[3])) for one in given]
