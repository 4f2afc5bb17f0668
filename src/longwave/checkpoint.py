"""What a long build has finished so far, in a folder, so that the same command goes on after a crash.

::

    work/
        key.json            what is being built: data and settings
        lists-ids.npy ...   one file per array, one prefix per stage

An array is written beside its place and renamed, so a file is whole or absent; a stage counts as done when its mark is
there.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import StorageError, reason
from longwave.types import Array

# Of the arrays of a round; a folder of another one is not resumed.
_LAYOUT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A folder of finished stages. Make it with `open_checkpoint`."""

    folder: Path
    prefix: str = ""

    def at(self, name: str) -> Checkpoint:
        """The same folder for the stages of one part, such as a component."""
        return Checkpoint(self.folder, f"{self.prefix}{name}-")

    def load(self, stage: str, only: Sequence[str] | None = None) -> dict[str, Array] | None:
        """The arrays of a finished stage, all or those named, or None."""
        done = self._path(stage, "done", ".json")
        if not done.is_file():
            return None
        names = json.loads(done.read_text("utf-8")) if only is None else only
        return {name: np.load(self._path(stage, name), allow_pickle=False) for name in names}

    def save(self, stage: str, arrays: Mapping[str, Array]) -> None:
        """Write the arrays of a stage, then the mark that it is done. An earlier state of the stage is replaced."""
        done = self._path(stage, "done", ".json")
        done.unlink(missing_ok=True)
        for name, array in arrays.items():
            self._replace(self._path(stage, name), array)
        partial = done.with_suffix(".partial")
        partial.write_text(json.dumps(list(arrays)), "utf-8")
        _sync(partial)
        partial.rename(done)

    def latest(self, stage: str) -> tuple[int, dict[str, Array]] | None:
        """The last finished round of a stage and its arrays, or None."""
        marks = self.folder.glob(f"{self.prefix}{stage}-*-done.json")
        numbers = [int(mark.name.removeprefix(f"{self.prefix}{stage}-").split("-")[0]) for mark in marks]
        for number in sorted(numbers, reverse=True):
            arrays = self.load(f"{stage}-{number}")
            if arrays is not None:
                return number, arrays
        return None

    def save_round(self, stage: str, number: int, arrays: Mapping[str, Array]) -> None:
        """Write a round; the one before is removed only when this one is whole."""
        self.save(f"{stage}-{number}", arrays)
        self.remove(f"{stage}-{number - 1}")

    def remove(self, stage: str) -> None:
        """Remove the arrays of a stage, its mark first."""
        self._path(stage, "done", ".json").unlink(missing_ok=True)
        for path in self.folder.glob(f"{self.prefix}{stage}-*.npy"):
            path.unlink()

    def _path(self, stage: str, name: str, suffix: str = ".npy") -> Path:
        return self.folder / f"{self.prefix}{stage}-{name}{suffix}"

    def _replace(self, path: Path, array: Array) -> None:
        partial = path.with_suffix(".partial")
        try:
            with partial.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            _sync(partial)
            partial.rename(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise StorageError(f"cannot write the checkpoint {path}: {reason(error)}") from error


def fingerprint(array: Array) -> list[int]:
    """Shape and checksum: what tells one array from another."""
    return [*array.shape, zlib.crc32(np.ascontiguousarray(array).data)]


def open_checkpoint(folder: Path, vectors: Array, settings: Mapping[str, Any]) -> Checkpoint:
    """Open or create the folder; one that belongs to other data or settings is an error, nothing is overwritten."""
    key = {"layout": _LAYOUT, "vectors": fingerprint(vectors), **settings}
    file = folder / "key.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.is_file():
            found = json.loads(file.read_text("utf-8"))
            other = [name for name in key if found.get(name) != json.loads(json.dumps(key[name]))]
            if other:
                raise StorageError(
                    f"{folder} holds the work of another build (its {', '.join(other)} differ); "
                    "choose another workdir, or remove that one"
                )
        elif any(folder.iterdir()):
            raise StorageError(f"{folder} is not empty and not a workdir of Longwave; choose another one")
        else:
            partial = folder / "key.partial"
            partial.write_text(json.dumps(key), "utf-8")
            partial.rename(file)
    except StorageError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot use {folder} as workdir: {error}") from error
    return Checkpoint(folder)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
