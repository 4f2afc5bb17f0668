"""Pictures on the command line: the options of a description, and queries by picture."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from longwave import descriptors
from longwave.cli import options as o
from longwave.cli.display import err, progress_bars
from longwave.cli.results import check_picture
from longwave.descriptors.encoders import DEFAULT, parse_scale
from longwave.descriptors.pictures import Box
from longwave.errors import DataWarning, FileError, InputError
from longwave.index import Index
from longwave.types import Array, Hits

Boxes = Annotated[
    list[str] | None,
    typer.Option("--box", metavar="X0,Y0,X1,Y1", help="The part of the picture that is meant; once for each picture."),
]
Together = Annotated[bool, typer.Option("--together", help="All pictures are one query: views of the same thing.")]
Sheet = Annotated[Path | None, typer.Option(metavar="F", help="Write pictures of queries and hits: .png or .jpg.")]
SameEncoder = Annotated[
    str | None,
    typer.Option(metavar="F", help="Pictures: where the encoder of the index is now (.onnx), or lite0."),
]


@dataclass(frozen=True)
class Choices:
    """How pictures are to be described."""

    encoder: str
    mean: str | None
    std: str | None
    options: dict[str, Any]

    def describe(self, folder: Path, *, work: Path, workers: int | None = None) -> descriptors.Description:
        """Describe a folder, with progress; finished chunks are kept in `work`."""
        mean, std = (None if text is None else parse_scale(text) for text in (self.mean, self.std))
        descriptors.list_pictures(folder)  # an empty folder is said before an encoder is opened
        encoder = descriptors.open_encoder(self.encoder, mean=mean, std=std)
        with progress_bars() as progress:
            made = descriptors.describe_folder(folder, encoder, workdir=work, progress=progress, **self.options)
        if self.encoder != DEFAULT:
            made = replace(made, recipe=replace(made.recipe, encoder=str(Path(self.encoder).absolute())))
        for name, reason in made.skipped[:20]:
            err.print(f"left out: {name}: {reason}", highlight=False, markup=False, soft_wrap=True)
        return made


def description_options(
    encoder: Annotated[
        str, typer.Option(metavar="F", help="Pictures: lite0 (needs the extra torch), or an .onnx file with a map.")
    ] = DEFAULT,
    mean: Annotated[
        str | None, typer.Option(metavar="M", help="Of an .onnx: pixels of 0 to 255 become (x - M) / S; M or R,G,B.")
    ] = None,
    std: Annotated[str | None, typer.Option(metavar="S", help="Of an .onnx: see --mean; S or R,G,B.")] = None,
    size: Annotated[int, typer.Option(help="Pictures: longest side in pixels; larger ones are made smaller.")] = 512,
    regions: Annotated[
        bool, typer.Option("--regions", help="Keep the regions apart: about 21 vectors a picture; finds small objects.")
    ] = False,
    reduce: Annotated[
        int | None, typer.Option(metavar="M", help="--regions: at most M a picture, by a Gaussian mixture.")
    ] = None,
    pool: Annotated[str, typer.Option(help="Pictures: a region's vector is max, gem or spoc of its map.")] = "max",
    scales: Annotated[int, typer.Option(help="Pictures: scales of the region grid; 0 is the whole alone.")] = 3,
    whiten: Annotated[
        str, typer.Option(metavar="W", help="Pictures: pca (learned on them), none, or an .npz: mean, projection.")
    ] = "pca",
    dimensions: Annotated[
        int | None, typer.Option(metavar="D", help="Pictures: kept by the whitening; 512, of regions 128.")
    ] = None,
    shrinkage: Annotated[
        float, typer.Option(metavar="S", help="Whitening: S × the mean variance is added; less for many pictures.")
    ] = descriptors.SHRINKAGE,
    recentre: Annotated[
        bool, typer.Option("--recentre", help="--whiten F.npz: with the mean of these pictures instead of its own.")
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Whiten from pairs that show the same: .csv, two paths in the folder a line."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Pictures: processes that decode; by default one for each core.")
    ] = None,
) -> Choices:
    """What the options say."""
    if whiten not in ("pca", "none") and not whiten.endswith(".npz"):
        raise InputError(f"--whiten must be pca, none or an .npz file, got '{whiten}'")
    if pairs is not None and whiten != "pca":
        raise InputError("--pairs learns the whitening; leave out --whiten")
    cores = (os.cpu_count() or 1) if workers is None else workers
    if cores < 0:
        raise InputError(f"--workers must be at least 0, got {cores}")
    chosen = {
        "size": size,
        "regions": regions,
        "reduce": reduce,
        "pool": pool,
        "scales": scales,
        "whitening": descriptors.read_whitening(whiten) if whiten.endswith(".npz") else None,
        "whiten": whiten != "none",
        "dimensions": dimensions,
        "shrinkage": shrinkage,
        "recentre": recentre,
        "pairs": None if pairs is None else _pairs_from(pairs),
        "workers": cores,
    }
    return Choices(encoder, mean, std, chosen)


#: The options of `description_options`; the command receives them as `recipe`.
with_description_options = o.with_options(description_options, "recipe")


@dataclass(frozen=True, eq=False)
class Asked:
    """Query vectors (m, d), the query of each or None, and for pictures those of each query with their boxes."""

    vectors: Array
    query_of: NDArray[np.int64] | None = None
    shown: tuple[tuple[Path, Box | None], ...] = ()


def description_from(
    vectors: str | None, images: Path | None, recipe: Choices, *, work: Path
) -> descriptors.Description | None:
    """What `build` shall index: described now, read from a file of `describe`, or None for plain vectors."""
    if (vectors is None) == (images is None):
        raise InputError("give either a file of vectors or --images FOLDER")
    return descriptors.read_description(str(vectors)) if images is None else recipe.describe(images, work=work)


def facts_of(described: descriptors.Description) -> tuple[dict[str, Any], dict[str, Array]]:
    """For `Index.attach`."""
    return descriptors.index_facts(described)


def remove_work(folder: Path) -> None:
    """Remove the chunks of a description that is finished."""
    if (folder / "key.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)


def queries_from(
    texts: Sequence[str], index: Index, *, box: Sequence[str] | None = None, together: bool = False, encoder: str | None
) -> Asked:
    """Vectors from a file, or from pictures, described by the recipe of the index."""
    pictures = _pictures_in(texts)
    if pictures is None:
        if len(texts) > 1:
            raise InputError(f"give one file of vectors, or pictures; got {' '.join(texts)}")
        if box or together or encoder:
            raise InputError("--box, --together and --encoder are for pictures")
        described = descriptors.read_description(texts[0])
        if described is None:
            return Asked(o.vectors_from(texts[0]))
        if index.about:
            descriptors.recipe_from(index.about)[0].check_same(described.recipe, what=texts[0])
        return Asked(described.vectors, described.item_of)
    if box and len(box) != len(pictures):
        raise InputError(f"there are {len(pictures)} pictures but {len(box)} boxes; give one --box for each, or none")
    boxes = [descriptors.parse_box(text) for text in box] if box else [None] * len(pictures)
    asked = _described(pictures, boxes, index, encoder)
    return replace(asked, query_of=np.zeros_like(asked.query_of)) if together else asked


def judged_queries(text: str, truth: Path | None, index: Index, encoder: str | None) -> Asked:
    """Queries of `evaluate`: as for `search`, but a folder gives the pictures and boxes that the truth names."""
    if truth is None or not Path(text).is_dir():
        return queries_from([text], index, encoder=encoder)
    entries = json.loads(truth.read_text("utf-8"))["queries"]
    by_name = {form: name for name in descriptors.list_pictures(text) for form in (name, Path(name).stem)}
    pictures, boxes = [], []
    for number, entry in enumerate(entries):
        name = by_name.get(str(entry.get("image")))
        if name is None:
            raise InputError(
                f"{truth}: query {number} has the image {entry.get('image')!r}, which {text} does not hold"
            )
        pictures.append(Path(text) / name)
        boxes.append(tuple(entry["box"]) if entry.get("box") else None)
    return _described(pictures, boxes, index, encoder)


def check_sheet(sheet: Path | None, queries: Sequence[str]) -> None:
    """Raise before the search if the sheet could not be made."""
    if sheet is None:
        return
    if sheet.suffix not in (".png", ".jpg"):
        raise FileError(f"cannot write {sheet}: the suffix of a contact sheet must be .png or .jpg")
    check_picture(sheet)
    if _pictures_in(queries) is None:
        raise InputError("--sheet shows pictures; search with a picture or a folder of them")


def write_sheet(sheet: Path, asked: Asked, hits: Hits, index: Index) -> None:
    """The queries and their hits as one picture; hits that are gone are grey, with a warning."""
    import warnings

    _, folder = descriptors.recipe_from(index.about)
    one_query = len(hits) == 1
    rows = []
    for number, (scores, ids) in enumerate(zip(*hits, strict=True)):
        shown = asked.shown if one_query else asked.shown[number : number + 1]
        cells = [descriptors.Cell(path, "query", box, framed=True) for path, box in shown]
        rows.append(cells + [descriptors.Cell(folder / i, f"{s:.3g}") for i, s in zip(ids, scores, strict=True)])
    gone = descriptors.draw_sheet(rows, sheet)
    if gone:
        warnings.warn(f"{len(gone)} pictures cannot be read any more; the first: {gone[0]}", DataWarning, stacklevel=2)
    err.print(f"wrote {sheet}", highlight=False, markup=False, soft_wrap=True)


def _described(pictures: list[Path], boxes: Sequence[Box | None], index: Index, encoder: str | None) -> Asked:
    recipe, _ = descriptors.recipe_from(index.about)
    scales = {} if (encoder or recipe.encoder) == DEFAULT else {"mean": recipe.mean, "std": recipe.std}
    opened = descriptors.open_encoder(encoder or recipe.encoder, **scales)
    whitening = descriptors.whitening_from(index.attached)
    vectors, query_of = descriptors.describe_queries(pictures, opened, recipe, whitening, boxes=boxes)
    return Asked(vectors, query_of, tuple(zip(pictures, boxes, strict=True)))


def _pictures_in(texts: Sequence[str]) -> list[Path] | None:
    """Pictures, or those of a folder; None where the texts are something else."""
    if len(texts) == 1 and Path(texts[0]).is_dir():
        return [Path(texts[0]) / name for name in descriptors.list_pictures(texts[0])]
    return [Path(text) for text in texts] if all(descriptors.is_picture(text) for text in texts) else None


def _pairs_from(path: Path) -> list[tuple[str, str]]:
    import csv

    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 2]
    if wrong or not rows:
        raise FileError(f"{path} must have two paths a line, with a comma; look at line {wrong[0] if wrong else 1}")
    return [(row[0], row[1]) for row in rows]
