"""The commands `describe` and `encoder`: from pictures to vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from longwave import pictures
from longwave.cli.application import app
from longwave.cli.picture_options import Describing, with_description_options
from longwave.cli.results import check_folder
from longwave.cli.screen import err
from longwave.errors import FileError, InputError, plural


@app.command()
@with_description_options
def describe(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of pictures; those in folders within it count too.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F", help="The .h5 file to write.")],
    save_whitening: Annotated[
        Path | None,
        typer.Option(metavar="F", help="File to write the whitening to, .npz, for --whiten with other pictures."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there already.")] = False,
    *,
    describing: Describing,
) -> None:
    """Describe pictures by vectors, for `build` and `search`.

    `build --images` does this by itself. Use `describe` to keep the vectors, or to build several indexes of them. The
    file holds vectors, paths and how they were made. Pictures that cannot be read are listed and left out. After an
    interruption the same command goes on from F.work.

    \b
    longwave describe holiday/ -o holiday.h5
    longwave describe holiday/ -o holiday.h5 --regions --reduce 5
    longwave describe holiday/ -o h.h5 --encoder mine.onnx --mean 124,116,104
    """
    _check_target(output, ".h5", force)
    if save_whitening is not None:
        _check_target(save_whitening, ".npz", force)
        if not describing.options["whiten"]:
            raise InputError("--save-whitening has nothing to save with --whiten none")
    began = time.perf_counter()
    work = Path(f"{output}.work")
    made = describing.describe(folder, work=work)
    pictures.write_description(made, output)
    if save_whitening is not None and made.whitening is not None:
        pictures.write_whitening(made.whitening, save_whitening)
    pictures.remove_finished(work)
    rows, dimensions = made.vectors.shape
    seconds = time.perf_counter() - began
    print(f"{output}: {plural(len(made.paths), 'picture')}, {rows:,} × {dimensions} numbers, {seconds:.1f} s")


@app.command()
def encoder(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F", help="The .onnx file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there already.")] = False,
) -> None:
    """Write the default encoder as .onnx, to do without torch.

    It then starts faster, and runs where torch is not installed.

    \b
    longwave encoder -o lite0.onnx
    longwave build --images holiday/ --encoder lite0.onnx -o h.longwave
    """
    _check_target(output, ".onnx", force)
    with err.status("converting"):
        pictures.write_onnx(pictures.default_encoder(), output)
    print(f"{output}: EfficientNet-Lite0, {output.stat().st_size / 1e6:.1f} MB; use it with --encoder {output}")


def _check_target(path: Path, suffix: str, force: bool) -> None:
    """Raise before the work if the file could not be written."""
    if path.suffix != suffix:
        raise FileError(f"cannot write {path}: the suffix must be {suffix}")
    check_folder(path)
    if path.exists() and not force:
        raise FileError(f"{path} exists already; give --force to replace it")
