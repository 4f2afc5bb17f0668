"""MATLAB files of the field: ground truth (`gnd_*.mat`) and the descriptors that the paper's authors published."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.datasets.truth import GroundTruth, made
from longwave.errors import FileError
from longwave.evaluation import Judgement
from longwave.files.bounded import check_regular
from longwave.files.formats import decoding
from longwave.files.hdf5 import HDF5_SIGNATURE, open_reader
from longwave.files.mat5 import MatFile
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Descriptors:
    """vectors: (n, d), item_of: (n,) their images; queries: (m, d), query_of: (m,)."""

    vectors: Array
    item_of: NDArray[np.int64]
    queries: Array
    query_of: NDArray[np.int64]


def read_mat_truth(path: str | PathLike[str]) -> GroundTruth[Judgement]:
    """Oxford5k, Paris6k, INSTRE or Holidays in the form of the authors' `gnd_NAME.mat`: ok, junk and bbx, from 1.

    Images are in `imlist` or `feature_name`, query images in `qimlist` or `query_list`.
    """
    place = Path(path)
    content = read_mat(place)
    found = _variable(content, ("gnd",), place)
    entries = [found] if isinstance(found, dict) else found
    images = _names(_variable(content, ("imlist", "feature_name"), place), place)
    queries = _names(_variable(content, ("qimlist", "query_list"), place), place)
    try:
        judgements = [Judgement(_rows(entry["ok"]), _rows(entry.get("junk", []))) for entry in entries]
        boxes = tuple(tuple(map(float, np.ravel(entry["bbx"]))) for entry in entries if "bbx" in entry)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        first = entries[0] if isinstance(entries, list) and entries else entries
        fields = ", ".join(first) if isinstance(first, dict) else type(first).__name__
        raise FileError(f"{path}: gnd must have the fields ok, junk and bbx; it has {fields}") from error
    return made(str(path), images, queries, judgements, boxes if len(boxes) == len(judgements) else None)


def read_author_descriptors(path: str | PathLike[str], *, regional: bool = False) -> Descriptors:
    """`oxford5k_resnet.mat` and its like: structs `glob` and `reg`, each with cells V (images) and Q (queries).

    A cell is d × m, one column per region. Up to v7 and v7.3.
    """
    place, name = Path(path), "reg" if regional else "glob"
    part = _variable(read_mat(place, only=name), (name,), place)
    if not isinstance(part, dict) or not {"V", "Q"} <= set(part):
        found = ", ".join(part) if isinstance(part, dict) else "no fields"
        raise FileError(f"{path}: {name} must be a struct of V (images) and Q (queries); it has {found}")
    return Descriptors(*_stack(part["V"], place), *_stack(part["Q"], place))


def read_mat(path: Path, *, only: str | None = None) -> dict[str, Any]:
    """Variables as plain Python: structs are dicts, cells lists, struct arrays lists of dicts, matrices arrays.

    only: the variable to decode, where it is there; the names of the others are still listed, with None.
    """
    check_regular(path)
    with decoding(path), path.open("rb") as stream:
        head = stream.read(520)
    if HDF5_SIGNATURE in (head[:8], head[512:]):
        with open_reader(path) as reader:
            return reader.matlab(path, only)
    with decoding(path, ValueError, zlib.error):
        content = MatFile(path)
        wanted = [only] if only in content.variables else [*content.variables]
        return {name: content.read(name) if name in wanted else None for name in content.variables}


def _variable(content: dict[str, Any], names: tuple[str, ...], path: Path) -> Any:
    for name in names:
        if content.get(name) is not None:
            return content[name]
    wanted = " or ".join(map(repr, names))
    raise FileError(
        f"{path} has no variable {wanted}; it has {', '.join(content) or 'none'}: give the file that has it"
    )


def _rows(numbers: Any) -> list[int]:
    """Row numbers from 0 of MATLAB's from 1."""
    return [int(i) - 1 for i in np.ravel(numbers)]


def _names(rows: Any, path: Path) -> list[str]:
    """Text of every cell, or of the first in its row."""
    try:
        first = [row[0] if isinstance(row, list) else row for row in rows]
        return [name if isinstance(name, str) else str(np.ravel(name)[0]) for name in first]
    except (LookupError, TypeError, ValueError) as error:
        raise FileError(f"{path}: images and queries must be cells with a name each") from error


def _stack(cells: Any, path: Path) -> tuple[Array, NDArray[np.int64]]:
    parts = cells if isinstance(cells, list) else [cells]
    if not all(isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype.kind in "iuf" for part in parts):
        raise FileError(f"{path}: V and Q must be cells of real matrices, dimensions × regions")
    sizes = {part.shape[0] for part in parts if part.shape[1]}
    if len(sizes) != 1:
        raise FileError(f"{path}: the vectors have {sorted(sizes)} dimensions; they must all have as many")
    item_of = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    with np.errstate(over="ignore"):  # what is not finite is refused where it is used
        return np.concatenate([part.T for part in parts if part.shape[1]]).astype(np.float32), item_of
