"""Descriptors with their recipe, in an HDF5 file or with an index."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longwave.descriptors.describe import Description
from longwave.descriptors.recipe import Recipe
from longwave.descriptors.whitening import Whitening
from longwave.errors import FileError, InputError, MissingExtraError, reason
from longwave.types import Array

# The attribute that makes an HDF5 file one of ours, and the name under which an index keeps the same facts.
_MARK, _FACTS = "longwave", "pictures"


def write_description(description: Description, path: str | Path) -> None:
    """As .h5: `vectors` (m, d), `paths` (N,), `item_of` (m,) for regions, the whitening, the recipe as JSON."""
    h5py = _h5py()
    target = Path(path)
    partial = target.with_suffix(".partial")
    about, arrays = index_facts(description)
    try:
        with h5py.File(partial, "w") as file:
            file.attrs[_MARK] = json.dumps({**about[_FACTS], "skipped": description.skipped})
            file["vectors"] = description.vectors
            file["paths"] = [name.encode("utf-8", "surrogateescape") for name in description.paths]
            if description.item_of is not None:
                file["item_of"] = description.item_of
            for name, array in arrays.items():
                file[name] = array.ravel()  # flat: `vectors` stays the only matrix, which all readers then find
        partial.rename(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise FileError(f"cannot write {target}: {reason(error)}") from error


def read_description(path: str | Path) -> Description | None:
    """The description in a file, or None where it is not one that `write_description` has written."""
    if Path(path).suffix.lower() not in (".h5", ".hdf5") or not Path(path).is_file():
        return None
    h5py = _h5py()
    try:
        with h5py.File(path, "r") as file:
            if _MARK not in file.attrs:
                return None
            facts = json.loads(file.attrs[_MARK])
            arrays = {name: file[name][()] for name in file if name.startswith("whitening")}
            if arrays:
                arrays["whitening_projection"] = arrays["whitening_projection"].reshape(
                    len(arrays["whitening_mean"]), -1
                )
            return Description(
                file["vectors"][()],
                file["item_of"][()] if "item_of" in file else None,
                tuple(name.decode("utf-8", "surrogateescape") for name in file["paths"][()]),
                facts["folder"],
                Recipe.from_facts(facts["recipe"]),
                whitening_from(arrays),
                tuple((name, reason) for name, reason in facts["skipped"]),
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is damaged ({error}); describe the pictures again") from error


def index_facts(description: Description) -> tuple[dict[str, Any], dict[str, Array]]:
    """What an index of these pictures keeps, for `Index.attach`."""
    about = {_FACTS: {"recipe": description.recipe.facts(), "folder": description.folder}}
    known = description.whitening
    return about, {} if known is None else {"whitening_mean": known.mean, "whitening_projection": known.projection}


def has_recipe(about: Mapping[str, Any]) -> bool:
    """Whether an index was built from pictures, by `index.about`."""
    return _FACTS in about


def recipe_from(about: Mapping[str, Any]) -> tuple[Recipe, Path]:
    """The recipe and the folder of the pictures, from `index.about`."""
    if not has_recipe(about):
        raise InputError(
            "this index was built from vectors and does not know how pictures are described; "
            "build it with --images FOLDER, or search with vectors"
        )
    return Recipe.from_facts(about[_FACTS]["recipe"]), Path(about[_FACTS]["folder"])


def whitening_from(attached: Mapping[str, Array]) -> Whitening | None:
    """The whitening, from `index.attached`."""
    if "whitening_mean" not in attached:
        return None
    return Whitening(np.asarray(attached["whitening_mean"]), np.asarray(attached["whitening_projection"]))


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("a file of descriptors", "images") from error
    return h5py
