"""From a folder of pictures to an index that can be searched with pictures."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.index import Index
from longwave.pictures.describe import Description, describe_folder
from longwave.pictures.encoders import DEFAULT, Encoder
from longwave.pictures.facts import index_facts
from longwave.progress import shown
from longwave.types import Progress

# Options by these names go to the description; all others go to the build. A seed goes to both.
_DESCRIBING = frozenset(signature(describe_folder).parameters) - {"folder", "encoder", "workdir", "progress", "seed"}


def build_index(
    pictures: str | Path | Description,
    *,
    encoder: Encoder | str | Path = DEFAULT,
    workdir: str | Path | None = None,
    progress: Progress | bool | None = None,
    seed: int = 0,
    **options: Any,
) -> Index:
    """An index of a folder of pictures: described, whitened, built; ids are the paths within the folder.

    The index keeps how pictures were described and where they are, so that `Gallery(index)` can search it with other
    pictures. Pictures that cannot be read are left out with a warning.

    - pictures: the folder; or what `describe_folder` or `read_description` returned.
    - encoder: "lite0", the path of an .onnx file, or an `Encoder`.
    - workdir: a folder for finished parts of the work; after a crash the same call goes on from there.
    - progress: as for `Index.build`.
    - options: those of `describe_folder`, such as regions=True, size=512, workers=2; and those of `Index.build`, such
      as k=50. Each goes where its name is known.
    """
    describing = {name: options.pop(name) for name in list(options) if name in _DESCRIBING}
    taken = [name for name in ("ids", "groups") if name in options]
    if taken:
        raise InputError(f"pictures have their paths as ids and their own groups; leave out {' and '.join(taken)}")
    if isinstance(pictures, Description):
        if describing:
            raise InputError(f"these pictures are described already; leave out {', '.join(describing)}")
        described, stages = pictures, workdir
    else:
        place = None if workdir is None else Path(workdir) / "pictures"
        stages = None if workdir is None else Path(workdir) / "graph"
        with shown(progress) as report:
            described = describe_folder(pictures, encoder, workdir=place, progress=report, seed=seed, **describing)
    index = Index.build(
        described.vectors,
        groups=described.item_of,
        ids=np.array(described.paths),
        workdir=stages,
        progress=progress,
        seed=seed,
        **options,
    )
    return index.attach(*index_facts(described))
