"""A snapshot on the disk: saved as a version of an index folder, and opened again."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from longwave import storage
from longwave.errors import StorageWarning, plural
from longwave.graph.weights import Kernel
from longwave.search import packing
from longwave.search.snapshot import Snapshot

# Bytes of an index from which its arrays are read, to be checked, for as long as numba takes to start (0.4 s): both are
# done at once. Neither goes on when `load` returns.
_LARGE = 1 << 28


def save(snapshot: Snapshot, path: str | Path, *, force: bool) -> None:
    """Write a folder, or with `force` the next version of one. As `Index.save`."""
    message = f"saved {plural(len(snapshot), 'item')}"
    storage.save(path, packing.facts(snapshot, path), packing.pack(snapshot), force=force, message=message)


def load(path: str | Path, version: int | None, *, verify: bool, kernel: Kernel | None) -> Snapshot:
    """Open a folder, its newest version or the one of this number. As `Index.load`."""
    state = storage.read(path, version, verify=verify)
    warn_of_damage(path, state)
    with ThreadPoolExecutor(1) as beside:
        if sum(array.nbytes for array in state.arrays.values()) >= _LARGE:
            beside.submit(lambda: import_module("longwave.rows.compiled").start())
        return packing.restore(path, state.facts, state.arrays, kernel)


def warn_of_damage(path: str | Path, state: storage.State) -> None:
    """Say so where the newest version could not be opened, and an earlier one was."""
    if state.passed_over:
        warnings.warn(
            f"the newest version of {path} is damaged, version {state.number} was opened instead "
            f"({state.passed_over[0]}); see what is lost with: longwave verify {path}",
            StorageWarning,
            stacklevel=4,
        )
