"""Pictures on the command line: the options of a description, and queries by picture."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from longwave import pictures as descriptors
from longwave.cli import options as o
from longwave.cli.display import err, readable
from longwave.cli.results import check_apart, check_picture
from longwave.cli.truth import Names, read_truth
from longwave.errors import DataWarning, FileError, InputError, plural
from longwave.files.bounded import read_json
from longwave.files.formats import READERS
from longwave.files.vectors import split_name
from longwave.index import Index
from longwave.pictures.encoders import DEFAULT, parse_scale
from longwave.pictures.opening import Box
from longwave.progress import bars
from longwave.types import Array, Hits

Boxes = Annotated[
    list[str] | None,
    typer.Option(
        "--box",
        metavar="X0,Y0,X1,Y1",
        help="Part of the query picture to search for, in pixels; one --box for each picture.",
    ),
]
Together = Annotated[bool, typer.Option("--together", help="Take all pictures as one query: views of the same thing.")]
Sheet = Annotated[
    Path | None, typer.Option(metavar="F", help="Picture to write, .png or .jpg: each query beside its hits.")
]
SameEncoder = Annotated[
    str | None,
    typer.Option(metavar="F", help="Where the .onnx file of the index is now, if it was moved; or lite0."),
]


@dataclass(frozen=True)
class Choices:
    """How pictures are to be described."""

    encoder: str
    mean: str | None
    std: str | None
    options: dict[str, Any]

    def describe(self, folder: Path, *, work: Path) -> descriptors.Description:
        """Describe a folder, with progress; finished chunks are kept in `work`."""
        mean, std = (None if text is None else parse_scale(text) for text in (self.mean, self.std))
        descriptors.list_pictures(folder)  # an empty folder is said before an encoder is opened
        encoder = descriptors.open_encoder(self.encoder, mean=mean, std=std)
        with bars() as progress, warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*pictures are left out", DataWarning)  # they are listed below
            try:
                made = descriptors.describe_folder(folder, encoder, workdir=work, progress=progress, **self.options)
            except KeyboardInterrupt:
                err.print(f"pictures described so far are in {work}: the same command goes on", soft_wrap=True)
                raise
        if self.encoder != DEFAULT:
            made = replace(made, recipe=replace(made.recipe, encoder=str(Path(self.encoder).absolute())))
        _list_skipped(made.skipped, len(made.paths) + len(made.skipped))
        return made


def _list_skipped(skipped: Sequence[tuple[str, str]], total: int, *, shown: int = 20) -> None:
    """Pictures that cannot be read, and why, on stderr."""
    lines = [f"pictures left out: {len(skipped):,} of {total:,}"] if skipped else []
    lines += [f"left out: {name} {reason.rpartition(f'{name} ')[2]}" for name, reason in skipped[:shown]]
    lines += [f"... and {len(skipped) - shown} more"] if len(skipped) > shown else []
    for line in lines:
        err.print(line, highlight=False, markup=False, soft_wrap=True)


def description_options(
    encoder: Annotated[
        str,
        typer.Option(
            metavar="F",
            help="Network that describes pictures: lite0 (needs the extra torch), or an .onnx file that ends in a map.",
        ),
    ] = DEFAULT,
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="For an .onnx encoder: subtracted from pixels of 0 to 255; one number or R,G,B. By default 127.",
        ),
    ] = None,
    std: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="For an .onnx encoder: pixels are divided by it, after --mean; one number or R,G,B. By default 128.",
        ),
    ] = None,
    size: Annotated[int, typer.Option(help="Longest side of a picture in pixels; larger ones are made smaller.")] = 512,
    regions: Annotated[
        bool,
        typer.Option(
            "--regions", help="Describe each picture by about 21 regions instead of as a whole: finds small objects."
        ),
    ] = False,
    reduce: Annotated[
        int | None,
        typer.Option(metavar="M", help="With --regions: at most M vectors a picture; similar ones are merged."),
    ] = None,
    pool: Annotated[
        str, typer.Option(help="How the feature map becomes a vector: max, spoc (the mean) or gem (in between).")
    ] = "max",
    scales: Annotated[int, typer.Option(help="How finely pictures are divided into regions: 0 (not at all) to 6.")] = 3,
    whiten: Annotated[
        str,
        typer.Option(
            metavar="W",
            help="Balance the dimensions: pca (learned on these pictures), none, or an .npz of `--save-whitening`.",
        ),
    ] = "pca",
    dimensions: Annotated[
        int | None,
        typer.Option(metavar="D", help="Dimensions that whitening keeps; by default 512, with --regions 128."),
    ] = None,
    shrinkage: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="How cautious whitening is: 0 not at all. By default 5, and more below 100 pictures."
        ),
    ] = None,
    recentre: Annotated[
        bool,
        typer.Option(
            "--recentre", help="With --whiten F.npz: take the mean of these pictures instead of that in the file."
        ),
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="F",
            help="Learn whitening from pictures of the same thing: a .csv with two paths in the folder on each line.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes that read pictures; by default one for each core, 0 for none.")
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

    @property
    def names(self) -> list[str] | None:
        """Of the queries; None for vectors."""
        if not self.shown or self.query_of is None:
            return None
        together = int(self.query_of.max()) + 1 < len(self.shown)
        return [" + ".join(str(path) for path, _ in self.shown)] if together else [str(path) for path, _ in self.shown]


def description_from(
    vectors: str | None, images: Path | None, recipe: Choices, *, work: Path
) -> descriptors.Description | None:
    """What `build` shall index: described now, read from a file of `describe`, or None for plain vectors."""
    if (vectors is None) == (images is None):
        raise InputError("give either a file of vectors or --images FOLDER")
    if images is not None:
        return recipe.describe(images, work=work)
    if recipe != description_options():
        raise InputError(f"options of a description are for --images FOLDER; {vectors} is described already")
    return descriptors.read_description(str(vectors))


def remove_work(folder: Path) -> None:
    """Remove the chunks of a description that is finished."""
    key = folder / "key.json"
    with suppress(OSError, ValueError, AttributeError):
        if read_json(key, follow=False).get("kind") == "pictures":
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
        if descriptors.has_recipe(index.about) and not _is_vectors(texts[0]):
            raise InputError(
                f"{texts[0]} is neither a picture ({' '.join(sorted(descriptors.SUFFIXES))}) nor vectors ({o.FILES})"
            )
        described = descriptors.read_description(texts[0])
        if described is None:
            return Asked(o.vectors_from(texts[0]))
        if descriptors.has_recipe(index.about):
            descriptors.recipe_from(index.about)[0].check_same(described.recipe, what=texts[0])
        return Asked(described.vectors, described.item_of)
    if box and len(box) != len(pictures):
        raise InputError(
            f"{plural(len(pictures), 'picture')} but {plural(len(box), 'box', 'boxes')}: give one --box for each"
        )
    boxes = [descriptors.parse_box(text) for text in box] if box else [None] * len(pictures)
    asked = _described(pictures, boxes, index, encoder, lenient=Path(texts[0]).is_dir())
    return replace(asked, query_of=np.zeros_like(asked.query_of)) if together else asked


def judged_queries(text: str, truth: Path | None, index: Index, encoder: str | None) -> Asked:
    """Queries of `evaluate`: as for `search`, but a folder gives the pictures and boxes that the truth names."""
    if truth is None or not Path(text).is_dir():
        return queries_from([text], index, encoder=encoder)
    entries = read_truth(truth)["queries"]
    names = Names(descriptors.list_pictures(text))
    pictures, boxes = [], []
    for number, entry in enumerate(entries):
        name = names.find(str(entry.get("image")))
        if name is None:
            raise InputError(
                f"{truth}: query {number} has the image {entry.get('image')!r}, which {text} does not hold"
            )
        pictures.append(Path(text) / name)
        boxes.append(_box_from(entry.get("box"), f"{truth}: query {number}"))
    return _described(pictures, boxes, index, encoder)


def _box_from(given: Any, where: str) -> Box | None:
    if given is None:
        return None
    if isinstance(given, str):
        return descriptors.parse_box(given)
    numbers = isinstance(given, list) and all(isinstance(v, int | float) and abs(v) < 1e9 for v in given)
    if not numbers or len(given) != 4:
        raise InputError(f"{where} has the box {given!r}; give four numbers [x0, y0, x1, y1] in pixels")
    return float(given[0]), float(given[1]), float(given[2]), float(given[3])


def ids_from(texts: Sequence[str], index: Index) -> list[Any]:
    """Items as a user names them: ids, and of pictures also paths as the shell completes them, or their names alone."""
    known = index.ids.tolist()
    named: list[Any] = list(texts)
    if index.ids.dtype.kind != "U":
        wrong = [text for text in texts if not re.fullmatch("-?[0-9]+", text)]
        if wrong:
            raise InputError(f"ids of this index are whole numbers, such as {known[0]}, got '{wrong[0]}'")
        named = [int(text) for text in texts]
    elif descriptors.has_recipe(index.about):
        _, folder = descriptors.recipe_from(index.about)
        names = Names(known)
        named = [_item(text, folder, names) or text for text in texts]
    every = set(known)
    missing = [text for text, name in zip(texts, named, strict=True) if name not in every]
    if missing:
        raise InputError(f"the index has no item '{missing[0]}'; its ids look like {known[0]!r}")
    return named


def _item(text: str, folder: Path, names: Names) -> str | None:
    """The id of a picture: as given, by its place on the disk, behind the name of its folder, or by its name alone."""
    forms = (text, _within(Path(text), folder), text.removeprefix("./").removeprefix(f"{folder.name}/"))
    return next((form for form in forms if form in names.paths), None) or names.find(text)


def _within(path: Path, folder: Path) -> str:
    """The path as seen from the folder; nothing where it lies elsewhere."""
    whole, root = path.parent.resolve() / path.name, folder.resolve()  # a picture may itself be a link
    return whole.relative_to(root).as_posix() if root in whole.parents else ""


def items_of(index: Index, ids: Sequence[Any]) -> Asked:
    """Items of an index of pictures as queries, for a sheet."""
    _, folder = descriptors.recipe_from(index.about)
    return Asked(np.zeros((0, index.dimension)), np.arange(len(ids)), tuple((folder / str(name), None) for name in ids))


def check_sheet(sheet: Path | None, index: Index, queries: Sequence[str] | None = None) -> None:
    """Raise before the search if the sheet could not be made, or would replace a picture."""
    if sheet is None:
        return
    if sheet.suffix not in (".png", ".jpg"):
        raise FileError(f"cannot write {sheet}: the suffix of a contact sheet must be .png or .jpg")
    check_picture(sheet)
    asked = [] if queries is None else _pictures_in(queries)
    if asked is None:
        raise InputError("--sheet shows pictures; search with a picture or a folder of them")
    descriptors.check_drawing()
    _, folder = descriptors.recipe_from(index.about)
    check_apart(sheet, *asked)
    if _within(sheet, folder) in set(index.ids.tolist()):
        raise FileError(f"cannot write {sheet}: it is a picture of the collection; choose another name")


def write_sheet(sheet: Path, asked: Asked, hits: Hits, index: Index) -> None:
    """The queries and their hits as one picture; hits that are gone are grey, with a warning."""
    _, folder = descriptors.recipe_from(index.about)
    one_query = len(hits) == 1
    answers = []
    for number, (scores, ids) in enumerate(zip(*hits, strict=True)):
        shown = asked.shown if one_query else asked.shown[number : number + 1]
        queries = [
            descriptors.Cell(path, path.name, "query" if box is None else "query (part)", box) for path, box in shown
        ]
        found = zip(ids.tolist(), scores, strict=True)
        answers.append(
            descriptors.Answer(queries, [descriptors.Cell(folder / name, name, readable(s)) for name, s in found])
        )
    gone = descriptors.draw_sheet(answers, sheet)
    if gone:
        many = plural(len(gone), "picture")
        warnings.warn(f"{many} cannot be read any more; the first: {gone[0]}", DataWarning, stacklevel=2)
    err.print(f"wrote {sheet}", highlight=False, markup=False, soft_wrap=True)


def _described(
    pictures: list[Path], boxes: Sequence[Box | None], index: Index, encoder: str | None, *, lenient: bool = False
) -> Asked:
    """lenient: what cannot be read is listed and left out."""
    recipe, _ = descriptors.recipe_from(index.about)
    if encoder is None and recipe.encoder != DEFAULT and not Path(recipe.encoder).is_file():
        raise FileError(f"the encoder of this index was {recipe.encoder}, which is gone; say where with --encoder F")
    scales = {} if (encoder or recipe.encoder) == DEFAULT else {"mean": recipe.mean, "std": recipe.std}
    opened = descriptors.open_encoder(encoder or recipe.encoder, **scales)
    whitening = descriptors.whitening_from(index.attached)
    parts, shown, skipped = [], [], []
    for path, box in zip(pictures, boxes, strict=True):
        try:
            parts.append(descriptors.describe_queries([path], opened, recipe, whitening, boxes=[box])[0])
            shown.append((path, box))
        except FileError as error:
            if not lenient:
                raise
            skipped.append((str(path), str(error)))
    if not parts:
        raise FileError(f"no picture of the {len(pictures)} can be read; the first: {skipped[0][1]}")
    _list_skipped(skipped, len(pictures))
    query_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Asked(np.concatenate(parts), query_of, tuple(shown))


def _pictures_in(texts: Sequence[str]) -> list[Path] | None:
    """Pictures, or those of a folder; None where the texts are something else."""
    if len(texts) == 1 and Path(texts[0]).is_dir():
        return [Path(texts[0]) / name for name in descriptors.list_pictures(texts[0])]
    return [Path(text) for text in texts] if all(descriptors.is_picture(text) for text in texts) else None


def _is_vectors(text: str) -> bool:
    return Path(split_name(text)[0]).suffix.lower() in READERS


def _pairs_from(path: Path) -> list[tuple[str, str]]:
    import csv

    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 2]
    if not rows:
        raise FileError(f"{path} is empty; it must have two paths within the folder a line, with a comma")
    if wrong:
        raise FileError(f"{path} must have two paths within the folder a line, with a comma; look at line {wrong[0]}")
    return [(row[0], row[1]) for row in rows]
