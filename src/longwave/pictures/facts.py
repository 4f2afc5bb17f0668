"""What an index of pictures keeps of them: how they were described, where they are, the whitening."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.pictures.contents import NAME, pack_states, states_from
from longwave.pictures.describe import Description
from longwave.pictures.treatment import Treatment
from longwave.pictures.whitening import Whitening
from longwave.types import Array

#: The entry of `index.about` that tells of pictures.
KEY = "pictures"


def index_facts(description: Description) -> tuple[dict[str, Any], dict[str, Array]]:
    """What an index of these pictures keeps, for `Index.attach`."""
    about: dict[str, Any] = {KEY: {"recipe": description.treatment.facts(), "folder": description.folder}}
    about["paths"] = [f"{KEY}.folder"]
    if Path(description.treatment.encoder).is_absolute():
        about["paths"].append(f"{KEY}.recipe.encoder")
    arrays: dict[str, Array] = {}
    if description.whitening is not None:
        known = description.whitening
        arrays |= {"whitening_mean": known.mean, "whitening_projection": known.projection}
    if description.files is not None:
        states = zip(description.paths, states_from(description.files), strict=True)
        arrays[NAME] = pack_states({path: state for path, state in states if state is not None})
    return about, arrays


def moved_to(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """What an index keeps of its pictures, where they are in another folder now."""
    known, own = about.get("paths"), f"{KEY}.folder"
    paths = [own, *(name for name in known if name != own)] if isinstance(known, list) else [own]
    return {**about, KEY: {**about[KEY], "folder": str(folder.absolute())}, "paths": paths}


def is_of_pictures(about: Mapping[str, Any]) -> bool:
    """Whether an index was built from pictures, by `index.about`."""
    return KEY in about


def treatment_from(about: Mapping[str, Any]) -> tuple[Treatment, Path]:
    """How the pictures were described and the folder they were in, from `index.about`."""
    if not is_of_pictures(about):
        raise InputError(
            "this index was built from vectors and does not know how pictures are described; "
            "build it with --images FOLDER, or search with vectors"
        )
    return Treatment.from_facts(about[KEY]["recipe"]), Path(about[KEY]["folder"])


def whitening_from(attached: Mapping[str, Array]) -> Whitening | None:
    """The whitening, from `index.attached`."""
    if "whitening_mean" not in attached:
        return None
    return Whitening(np.asarray(attached["whitening_mean"]), np.asarray(attached["whitening_projection"]))
