"""Files that options name, as arrays: FILE, or FILE:NAME for one array of several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from longwave.datasets import GroundTruth, read_mat_truth, read_oxford_text, read_revisited
from longwave.errors import FileError, InputError
from longwave.evaluation import Labels
from longwave.files.bounded import read_npy
from longwave.files.vectors import is_zarr, read_labels, read_vectors, split_name
from longwave.metadata import Condition, all_of, parse_text
from longwave.pictures import is_picture
from longwave.storage import is_index
from longwave.types import Array


def vectors_from(text: str) -> Array:
    """Read FILE or FILE:NAME."""
    path, name = split_name(text)
    if path.is_dir() and not is_zarr(path):
        raise FileError(_folder_hint(path))
    if is_picture(path) and path.is_file():
        raise FileError(f"{path} is a picture; index its folder with: longwave build --images {path.parent} -o INDEX")
    return read_vectors(path, name=name)


def _folder_hint(folder: Path) -> str:
    """What to do with a folder where a file of vectors is expected."""
    if is_index(folder):
        return f"{folder} is an index; give the file of vectors that it was built from"
    if any(is_picture(path) for path in folder.iterdir()):
        return f"{folder} is a folder of pictures; index it with: longwave build --images {folder} -o INDEX"
    return f"{folder} is a folder; give a file of vectors, or a folder of pictures with: longwave build --images FOLDER"


def read_label_file(text: str) -> Array:
    """Read FILE or FILE:NAME of ints or strings."""
    path, name = split_name(text)
    return read_labels(path, name=name)


def labels_from(text: str | None) -> Array | None:
    """As `read_label_file`; None stays None."""
    return None if text is None else read_label_file(text)


def numbers_from(text: str) -> Array:
    """A flat list of numbers: .npy, or text with one per line."""
    path = Path(text)
    try:
        array = read_npy(path) if path.suffix == ".npy" else np.loadtxt(path, ndmin=1)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read numbers from {text}: {error}") from error
    return np.ravel(array)


def where_from(texts: Sequence[str]) -> Array | Condition:
    """Conditions that must all hold; or the ids of one file, or a mask where it holds true and false."""
    files = [text for text in texts if split_name(text)[0].is_file() or not re.search("[=<>?{]", text)]
    if not files:
        return all_of(parse_text(text) for text in texts)
    if len(texts) > 1:
        raise InputError(f"--where takes one file, or conditions; {files[0]} is a file, and there are {len(texts)}")
    return _allowed_from(files[0])


def _allowed_from(text: str) -> Array:
    """The ids of a file, or a mask."""
    path, name = split_name(text)
    if path.suffix == ".npy" and path.is_file():
        try:
            array: Array = read_npy(path)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {text}: {error}") from error
        if array.dtype == bool:
            return array
    return read_labels(path, name=name)


def lists_from(text: str) -> Array | tuple[Array, Array]:
    """Row numbers from one file, or a pair with their similarities from an .npz with `ids` and `similarities`."""
    path, name = split_name(text)
    if path.suffix == ".npz" and name is None:
        return read_vectors(path, name="ids"), read_vectors(path, name="similarities")
    return read_vectors(path, name=name)


def graph_from(text: str) -> Any:
    """Edges: lines of two ids and perhaps a weight (.csv .txt), rows of numbers (.npy), or a sparse matrix (.npz)."""
    path = Path(text)
    try:
        if path.suffix == ".npz":
            return sp.load_npz(path)
        if path.suffix == ".npy":
            return read_npy(path)
        with path.open(encoding="utf-8", newline="") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"cannot read a graph from {text}: {error}") from error
    rows = [re.split(r"[,;\t ]\s*", line.strip()) for line in lines]
    wrong = next((number for number, row in enumerate(rows, 1) if len(row) not in (2, 3)), None)
    if wrong is not None or not rows:
        raise FileError(
            f"{text}: line {wrong or 1} is not an edge; write two ids and perhaps a weight, as in: 17,42,0.5"
        )
    whole = all(re.fullmatch("-?[0-9]+", name) for row in rows for name in row[:2])
    try:
        return [(*(int(n) if whole else n for n in row[:2]), float(row[2]) if len(row) == 3 else 1.0) for row in rows]
    except ValueError as error:
        raise FileError(f"{text}: a weight is not a number: {error}") from error


def truth_from(
    path: Path | None, labels: str | None, query_labels: str | None, ids: Array
) -> Path | Labels | GroundTruth[Any]:
    """From --truth F, or from --labels F and --query-labels F. ids: (N,) of the items."""
    if path is not None and labels is None:
        return _official(path, ids)
    if labels is None or path is not None:
        raise InputError("give the ground truth either with --truth F or with --labels F and --query-labels F")
    if query_labels is None:
        raise InputError("--labels gives the label of each item; give those of the queries with --query-labels F")
    return Labels(read_label_file(labels), read_label_file(query_labels))


def _official(path: Path, ids: Array) -> Path | GroundTruth[Any]:
    """Ground truth as it is published: .mat, .pkl, or a folder of text files; a JSON file is left to its reader."""
    if path.is_dir():
        if ids.dtype.kind != "U":
            raise InputError(
                f"the text files of {path} name images, and this index has numbers as ids; build it with the names: "
                "longwave build VECTORS --ids names.txt, in the order of the vectors"
            )
        return read_oxford_text(path, [Path(name).name for name in ids.tolist()])
    if path.suffix == ".mat":
        return read_mat_truth(path)
    return read_revisited(path) if path.suffix == ".pkl" else path
