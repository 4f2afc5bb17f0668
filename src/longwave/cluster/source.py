"""Where the vectors come from: files, one or many, of which no machine reads more than its pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.cluster.engine import Cluster
from longwave.errors import InputError
from longwave.files.formats import READERS
from longwave.files.vectors import is_zarr, layout_of, read_vectors, split_name
from longwave.files.zarr_folders import stored
from longwave.rows.vectors import check_vectors, normalize
from longwave.types import Array

# Rows of a piece at least, where some rows of a file can be read without the others.
_ROWS = 65_536


@dataclass(frozen=True)
class Piece:
    """Rows of a file. first: the number of its first row in the whole collection."""

    file: str
    start: int
    stop: int
    first: int

    def unit(self) -> NDArray[np.float32]:
        """The rows, checked, of unit length. (m, d)"""
        path, name = split_name(self.file)
        rows = read_vectors(path, name=name, rows=slice(self.start, self.stop))
        return normalize(check_vectors(rows, name=f"{self.file} from row {self.start}"))


@dataclass(frozen=True)
class Source:
    """The collection as pieces. shape: (n, d)"""

    pieces: list[Piece]
    shape: tuple[int, int]


def files_of(given: str | Path | Sequence[str | Path]) -> list[str]:
    """The files of a collection, in order: one, a list, or those of a folder sorted by name."""
    if not isinstance(given, (str, Path)):
        names = [str(name) for name in given]
    elif Path(given).is_dir() and not is_zarr(given):
        names = sorted(str(path) for path in Path(given).iterdir() if path.suffix.lower() in READERS)
    else:
        names = [str(given)]
    if not names:
        raise InputError(f"{given} holds no file of vectors; its shards may be {', '.join(READERS)}")
    return names


def table_of(files: Sequence[str]) -> Array:
    """Size and time of every file: what tells one collection from another. (files, 2)"""
    return np.array([_size_and_time(split_name(name)[0]) for name in files], dtype=np.int64)


def _size_and_time(path: Path) -> tuple[int, int]:
    if path.is_dir():
        return stored(path)
    own = path.stat()
    return own.st_size, own.st_mtime_ns


def read_source(cluster: Cluster, files: Sequence[str]) -> Source:
    """Cut the files into pieces. Workers look at the files."""
    layouts = cluster.gather([cluster.submit(layout_of_file, name) for name in files])
    dimension, pieces, first = layouts[0][1], [], 0
    for name, (rows, own, together) in zip(files, layouts, strict=True):
        if own != dimension:
            raise InputError(f"{name} has {own} dimensions, {files[0]} has {dimension}; use one encoder for all shards")
        step = -(-_ROWS // together) * together  # no chunk is read by two
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            pieces.append(Piece(name, start, stop, first))
            first += stop - start
    return Source(pieces, (first, dimension))


def layout_of_file(file: str) -> tuple[int, int, int]:
    """Rows and dimensions of a file, and rows that are read together."""
    path, name = split_name(file)
    return layout_of(path, name=name)
