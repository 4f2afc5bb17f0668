"""MATLAB files of the field: ground truth (`gnd_*.mat`) and the descriptors that the paper's authors published."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.datasets.formats import HDF5_SIGNATURE, decoding, need
from longwave.datasets.truth import GroundTruth, made
from longwave.errors import FileError
from longwave.evaluation import Judgement
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
    entries = _variable(content, ("gnd",), place)
    images = [_text(name) for name in _variable(content, ("imlist", "feature_name"), place)]
    queries = [_query_name(row) for row in _variable(content, ("qimlist", "query_list"), place)]
    try:
        judgements = [Judgement(_rows(entry["ok"]), _rows(entry.get("junk", []))) for entry in entries]
        boxes = tuple(tuple(np.ravel(entry["bbx"]).astype(float).tolist()) for entry in entries if "bbx" in entry)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        found = ", ".join(entries[0]) if len(entries) and isinstance(entries[0], dict) else type(entries).__name__
        raise FileError(f"{path}: gnd must have the fields ok, junk and bbx; it has {found}") from error
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
    with decoding(path), path.open("rb") as stream:
        head = stream.read(520)
    if HDF5_SIGNATURE in (head[:8], head[512:]):
        h5py = need("h5py", path)
        with decoding(path, RuntimeError, LookupError, ValueError, TypeError), h5py.File(path, "r") as file:
            names = [name for name in file if not name.startswith("#")]
            wanted = [only] if only in names else names
            return {name: _hdf5(file[name], file) if name in wanted else None for name in names}
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    errors = (MatReadError, zlib.error, ValueError, TypeError, LookupError, ArithmeticError, RuntimeError)
    with decoding(path, *errors):
        names = [name for name, *_ in whosmat(path) if not name.startswith("__")]
        wanted = [only] if only in names else names
        found = loadmat(path, variable_names=wanted, struct_as_record=True)
        return {name: _plain(found[name]) if name in wanted else None for name in names}


def _plain(value: Any) -> Any:
    """A variable as scipy reads it, without its wrappings."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        entries = [{name: _plain(record[name]) for name in value.dtype.names} for record in value.ravel()]
        return entries[0] if len(entries) == 1 else entries
    if isinstance(value, np.ndarray) and value.dtype == object:
        rows = [[_plain(cell) for cell in row] for row in np.atleast_2d(value)]
        return [cell for row in rows for cell in row] if 1 in value.shape else rows
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return str(value.ravel()[0]) if value.size else ""
    return value


def _hdf5(node: Any, file: Any) -> Any:
    """A variable of v7.3: groups are structs, references cells; arrays are stored by columns."""
    if not hasattr(node, "dtype"):
        fields = {name: _hdf5(node[name], file) for name in node}
        # A struct array keeps a reference for each entry in every field; only true cells say that they are.
        many = all(node[name].dtype == object and "MATLAB_class" not in node[name].attrs for name in node)
        return [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)] if many else fields
    if node.dtype == object:
        return [_hdf5(file[reference], file) for reference in node[()].ravel(order="F")]
    if node.attrs.get("MATLAB_empty", 0):
        return np.zeros((0, 0))
    if bytes(node.attrs.get("MATLAB_class", b"")) == b"char":
        return "".join(map(chr, node[()].ravel(order="F")))
    return node[()].T


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


def _text(name: Any) -> str:
    return name if isinstance(name, str) else str(np.ravel(name)[0])


def _query_name(row: Any) -> str:
    return _text(row[0] if isinstance(row, list) else row)


def _stack(cells: Any, path: Path) -> tuple[Array, NDArray[np.int64]]:
    parts = cells if isinstance(cells, list) else [cells]
    if not all(isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype.kind in "iuf" for part in parts):
        raise FileError(f"{path}: V and Q must be cells of real matrices, dimensions × regions")
    sizes = {part.shape[0] for part in parts if part.shape[1]}
    if len(sizes) != 1:
        raise FileError(f"{path}: the vectors have {sorted(sizes)} dimensions; they must all have as many")
    item_of = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    return np.concatenate([part.T for part in parts if part.shape[1]]).astype(np.float32), item_of
