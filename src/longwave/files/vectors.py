"""Arrays from files, by suffix: vectors (2-D numbers) and labels (1-D integers or text)."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np

from longwave.errors import FileError
from longwave.files.bounded import check_regular
from longwave.files.formats import (
    CONTAINERS,
    LABEL_READERS,
    READERS,
    Array,
    Request,
    check,
    decoding,
    describe,
    open_zarr,
)
from longwave.files.zarr_folders import rows_of_chunk

__all__ = ["is_zarr", "layout_of", "read_vectors", "read_labels", "split_name"]

# Files that are memory-mapped: some rows of one cost nothing of the rest.
_MAPPED = (".npy", ".fvecs", ".bvecs", ".ivecs")


def read_vectors(path: str | PathLike[str], *, name: str | None = None, rows: slice = slice(None)) -> Array:
    """Read the vectors of a file as an array of n rows × d dimensions, in the number type of the file.

    `name` chooses an array of a container (.npz, .mat, .h5, .hdf5, .safetensors, .zarr; a list column of .parquet);
    without it, the only 2-D numeric array is taken. The columns of a .parquet without lists are the
    dimensions. bfloat16 becomes float32 and .csv float64. Choose .npy or .fvecs for what does not fit in
    memory: the result is a read-only memory map. `rows`: some of them; of a .zarr no others are read.
    """
    found = _read(Request(Path(path), name, 2, rows), READERS)
    return found if is_zarr(path) else found[rows]


def layout_of(path: str | PathLike[str], *, name: str | None = None) -> tuple[int, int, int]:
    """Rows and dimensions of a file, and how many rows are read together: all of a format that is loaded whole."""
    request = Request(Path(path), name, 2)
    if is_zarr(path):
        _check_place(request.path)
        array = open_zarr(request)
        return array.shape[0], array.shape[1], rows_of_chunk(array)
    rows, dimension = _read(request, READERS).shape
    return rows, dimension, 1 if request.path.suffix.lower() in _MAPPED else max(1, rows)


def read_labels(path: str | PathLike[str], *, name: str | None = None) -> Array:
    """Read ids, groups or labels as an array of n int64 or n strings, one for each row of the vectors.

    Takes 1-D arrays, and 2-D ones of a single row or column, from .npy and the containers, a flat list from
    .json, or the lines of a .csv or .txt without a header: int64 if all are integers written the usual
    way, otherwise text (so 007 stays 007). Whole floats become int64; other floats are refused.
    """
    request = Request(Path(path), name, 1)
    labels = np.array(_read(request, LABEL_READERS)).ravel()
    if labels.dtype.kind == "U":
        return labels
    if labels.dtype.kind == "S":
        with decoding(request.path, UnicodeDecodeError):
            return np.strings.decode(labels, "utf-8")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels) & (labels == np.floor(labels))):
        raise FileError(f"{path} has fractions or NaN; labels must be whole numbers or text: round them")
    if not -(2**63) <= int(labels.min()) <= int(labels.max()) < 2**63:
        raise FileError(f"{path}: some labels do not fit in 64-bit integers; write them as text")
    return labels.astype(np.int64)


def split_name(text: str) -> tuple[Path, str | None]:
    """Split `file.h5:name`, as given on the command line, into the path and the name (None if there is none).

    Only a container has names, so the colon of any other path, or of an existing file, is left alone.
    """
    head, _, name = text.rpartition(":")
    if Path(head).suffix.lower() in CONTAINERS and not Path(text).is_file():
        return Path(head), name or None
    return Path(text), None


def is_zarr(path: str | PathLike[str]) -> bool:
    """Whether a path names a folder of Zarr, by its suffix."""
    return Path(path).suffix.lower() == ".zarr"


def _check_place(path: Path) -> int:
    """Raise unless there is a file, or a folder where Zarr has one; its size, at least 1 of a folder."""
    if is_zarr(path) and path.is_dir():
        return 1
    size = check_regular(path)
    if is_zarr(path):
        raise FileError(f"{path} is a file, and Zarr is a folder; unpack it first, or give it its own suffix")
    return size


def _read(request: Request, readers: dict[str, Callable[[Request], Array]]) -> Array:
    path, suffix = request.path, request.path.suffix.lower()
    size = _check_place(path)
    if suffix not in readers:
        known = ", ".join(readers)
        raise FileError(f"{path} has the unknown suffix '{suffix}'; convert or rename it to one of {known}")
    if request.name is not None and suffix not in CONTAINERS:
        raise FileError(f"{path}: a {suffix} file holds a single array; leave out the name {request.name!r}")
    if not size:
        raise FileError(f"{path} is empty (0 bytes); write or download it again")
    array = readers[suffix](request)
    check(request, describe(array.shape, array.dtype))
    return array
