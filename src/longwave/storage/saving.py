"""A whole index as the next version of its folder: what `Index.save` does."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import StorageError, StorageWarning
from longwave.storage.disk import DISK, Files
from longwave.storage.reading import State
from longwave.storage.target import check_target
from longwave.storage.writing import Kept, Writer, writer
from longwave.types import Array

#: Seconds for which a version stays that a save has replaced. Who has it open needs none: its maps outlive the names of
#: their files. It is for those who are about to open it by its number, and for a save that was a mistake.
GRACE = 60.0
# Seconds to wait for another writer: what is to be saved may have taken hours.
_PATIENCE = 600.0
_CHUNK = 1 << 22


def save(
    path: str | Path,
    facts: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    force: bool = False,
    message: str = "",
    files: Files = DISK,
) -> int:
    """Make a folder of these facts and arrays, or with `force` the next version in one that is there; its number.

    A second writer waits for the first. Arrays that are in the newest version already are not written again. Versions
    that were replaced `GRACE` seconds ago or earlier are removed at the end, so that a folder that is saved again and
    again holds no more than what was written within that time, and one version before.
    """
    path = Path(path)
    check_target(path, force=force)
    with writer(path, create=True, timeout=_PATIENCE, files=files) as own:
        check_target(path, force=force)  # again: another writer may have come first
        number = own.commit(facts, _kept(own, arrays), message)
        try:
            own.vacuum(grace=GRACE)
        except StorageError as error:
            warnings.warn(
                f"{path} is saved as version {number}, but earlier versions could not be removed ({error}); "
                f"remove them later: longwave vacuum {path}",
                StorageWarning,
                stacklevel=3,
            )
    return number


def _kept(own: Writer, arrays: Mapping[str, Array]) -> dict[str, Array | Kept]:
    """The arrays; in place of those that the newest version has as well, the files that hold them."""
    try:
        state = own.state
    except StorageError:  # damaged: it is replaced as a whole
        state = None
    return {name: Kept(name) if state and _is_in(state, name, array) else array for name, array in arrays.items()}


def _is_in(state: State, name: str, array: Array) -> bool:
    """Whether the state has an array of this name with the same bytes."""
    known, array = state.arrays.get(name), np.asarray(array, order="C")
    if known is None or (known.shape, known.dtype) != (array.shape, array.dtype):
        return False
    one, other = (each.reshape(-1).view(np.uint8) for each in (known, array))
    chunks = (slice(start, start + _CHUNK) for start in range(0, len(one), _CHUNK))
    return all(np.array_equal(one[chunk], other[chunk]) for chunk in chunks)
