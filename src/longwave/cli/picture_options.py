"""Options of commands that take pictures, and what they say of how pictures are described."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from longwave.cli import options as o
from longwave.cli.screen import err
from longwave.errors import DataWarning, FileError, InputError
from longwave.pictures import Description, describe_folder, read_whitening
from longwave.pictures.encoders import DEFAULT, parse_scale
from longwave.progress import bars
from longwave.types import Progress

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
    typer.Option(metavar="F", help="Where the encoder of the index is now, if its file was moved; or lite0."),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes that read pictures; by default one for each core, 0 for none.")
]


@dataclass(frozen=True)
class Describing:
    """How pictures are to be described: what `describe_folder` is given."""

    encoder: str
    options: dict[str, Any]

    def describe(self, folder: Path, *, work: Path) -> Description:
        """Describe a folder, with progress; finished parts are kept in `work`."""
        with described_in(work) as progress, warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*pictures are left out", DataWarning)  # they are listed below
            made = describe_folder(folder, self.encoder, workdir=work, progress=progress, **self.options)
        list_skipped(made.skipped, len(made.paths) + len(made.skipped))
        return made


@contextmanager
def described_in(work: Path) -> Iterator[Progress]:
    """Bars for pictures that are being described; whoever stops them is told where the finished ones are."""
    with bars() as progress:
        try:
            yield progress
        except KeyboardInterrupt:
            if work.exists():
                err.print(f"pictures described so far are in {work}: the same command goes on", soft_wrap=True)
            raise


def processes(workers: int | None) -> int:
    """How many read pictures: as many as are wanted, or one for each core."""
    if workers is not None and workers < 0:
        raise InputError(f"--workers must be at least 0, got {workers}")
    return (os.cpu_count() or 1) if workers is None else workers


def list_skipped(skipped: Sequence[tuple[str, str]], total: int, *, shown: int = 20) -> None:
    """Say which pictures were left out, and why."""
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
            help="Network that describes pictures: lite0 (needs the extra torch), or an .onnx file that gives maps.",
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
    workers: Workers = None,
) -> Describing:
    """What the options say."""
    if whiten not in ("pca", "none") and not whiten.endswith(".npz"):
        raise InputError(f"--whiten must be pca, none or an .npz file, got '{whiten}'")
    if pairs is not None and whiten != "pca":
        raise InputError("--pairs learns the whitening; leave out --whiten")
    chosen = {
        "mean": None if mean is None else parse_scale(mean),
        "std": None if std is None else parse_scale(std),
        "size": size,
        "regions": regions,
        "reduce": reduce,
        "pool": pool,
        "scales": scales,
        "whitening": read_whitening(whiten) if whiten.endswith(".npz") else None,
        "whiten": whiten != "none",
        "dimensions": dimensions,
        "shrinkage": shrinkage,
        "recentre": recentre,
        "pairs": None if pairs is None else _pairs_from(pairs),
        "workers": processes(workers),
    }
    return Describing(encoder, chosen)


#: The options of `description_options`; the command receives them as `describing`.
with_description_options = o.with_options(description_options, "describing")


def _pairs_from(path: Path) -> list[tuple[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 2]
    if not rows:
        raise FileError(
            f"{path} is empty; it must have two paths on each line, relative to the folder, with a comma between them"
        )
    if wrong:
        raise FileError(
            f"{path} must have two paths on each line, relative to the folder, with a comma between them; look at "
            f"line {wrong[0]}"
        )
    return [(row[0], row[1]) for row in rows]
