"""What an index of pictures keeps of them: how they were described, where they are, the whitening."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.pictures.describe import Description
from longwave.pictures.treatment import Treatment
from longwave.pictures.whitening import Whitening
from longwave.types import Array

#: The entry of `index.about` that tells of pictures.
KEY = "pictures"


def index_facts(description: Description) -> tuple[dict[str, Any], dict[str, Array]]:
    """What an index of these pictures keeps, for `Index.attach`."""
    about = {KEY: {"recipe": description.treatment.facts(), "folder": description.folder}}
    known = description.whitening
    return about, {} if known is None else {"whitening_mean": known.mean, "whitening_projection": known.projection}


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
