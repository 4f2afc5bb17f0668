"""Descriptors with all that is known of them, in an HDF5 file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import FileError, MissingExtraError, reason
from longwave.files.hdf5 import open_reader
from longwave.pictures.describe import Description
from longwave.pictures.facts import KEY, index_facts, whitening_from
from longwave.pictures.treatment import Treatment
from longwave.types import Array

# The attribute that makes an HDF5 file one of ours.
_MARK = "longwave"
_ARRAYS = ("vectors", "item_of", "paths", "whitening_mean", "whitening_projection", "files")


def write_description(description: Description, path: str | Path) -> None:
    """As .h5: `vectors` (m, d), `paths` (N,), `files`, `item_of` (m,) for regions, whitening, treatment as JSON."""
    h5py = _h5py()
    target = Path(path)
    partial = target.with_suffix(".partial")
    about = index_facts(description)[0]
    known = description.whitening
    flat: dict[str, Array] = (
        {} if known is None else {"whitening_mean": known.mean, "whitening_projection": known.projection}
    )
    flat |= {} if description.files is None else {"files": description.files}
    try:
        with h5py.File(partial, "w") as file:
            file.attrs[_MARK] = json.dumps({**about[KEY], "skipped": description.skipped})
            file["vectors"] = description.vectors
            file["paths"] = [name.encode("utf-8", "surrogateescape") for name in description.paths]
            if description.item_of is not None:
                file["item_of"] = description.item_of
            for name, array in flat.items():
                file[name] = array.ravel()  # flat: `vectors` stays the only matrix, which all readers then find
        partial.rename(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise FileError(f"cannot write {target}: {reason(error)}") from error


def read_description(path: str | Path) -> Description | None:
    """The description in a file, or None where it is not one that `write_description` has written."""
    file = Path(path)
    if file.suffix.lower() not in (".h5", ".hdf5") or not file.is_file():
        return None
    with open_reader(file, extra="images") as reader:
        mark = reader.attribute(file, _MARK)
        if mark is None:
            return None
        names = [name for name in reader.listing(file) if name in _ARRAYS]
        arrays = dict(zip(names, reader.read(file, names, errors="surrogateescape"), strict=True))
    try:
        return _described(json.loads(mark), arrays)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} is damaged ({error}); describe the pictures again") from error


def _described(facts: dict[str, Any], arrays: dict[str, Array]) -> Description:
    """Checked, as what is made of it is; ValueError where something does not fit."""
    vectors, item_of, paths = arrays["vectors"], arrays.get("item_of"), arrays["paths"]
    if vectors.ndim != 2 or vectors.dtype != np.float32 or not vectors.size or not np.isfinite(vectors).all():
        raise ValueError(f"vectors are {vectors.shape} {vectors.dtype}, not finite rows of float32")
    if paths.ndim != 1 or paths.dtype.kind != "U" or not len(paths):
        raise ValueError(f"paths are {paths.shape} {paths.dtype}, not names")
    if item_of is None and len(paths) != len(vectors):
        raise ValueError(f"there are {len(paths)} paths for {len(vectors)} vectors")
    if item_of is not None:
        if item_of.shape != vectors.shape[:1] or item_of.dtype != np.int64:
            raise ValueError(f"item_of is {item_of.shape} {item_of.dtype}, not a whole number for each vector")
        if item_of.min() < 0 or item_of.max() >= len(paths):
            raise ValueError(f"item_of has numbers outside of 0 … {len(paths) - 1}")
    known = {name: array for name, array in arrays.items() if name.startswith("whitening")}
    if known:
        mean = known["whitening_mean"]
        known["whitening_projection"] = known["whitening_projection"].reshape(len(mean), vectors.shape[1])
        if any(array.dtype != np.float32 for array in known.values()) or mean.ndim != 1:
            raise ValueError("the whitening is not of float32")
    files = arrays.get("files")
    if files is not None:
        files = files.reshape(len(paths), 4)
        if files.dtype != np.int64:
            raise ValueError(f"files are {files.dtype}, not whole numbers")
    treatment = Treatment.from_facts(facts["recipe"])
    folder, skipped = facts["folder"], tuple((name, reason) for name, reason in facts["skipped"])
    if not all(isinstance(text, str) for text in (folder, *(text for pair in skipped for text in pair))):
        raise ValueError("the folder and the pictures left out are not text")
    names, whitening = tuple(paths.tolist()), whitening_from(known)
    return Description(vectors, item_of, names, folder, treatment, whitening, skipped, files)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("a file of descriptors", "images") from error
    return h5py
