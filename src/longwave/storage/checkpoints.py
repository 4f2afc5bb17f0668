"""What a long build has finished so far, in a folder, so that the same command goes on after a crash.

::

    work/
        key.json            what is being built: data and settings
        lists-ids.npy ...   one file per array, one prefix per stage

An array is written beside its place and renamed, so a file is whole or absent; a stage counts as done when its mark is
there. The mark has shape, type and checksum of every array, and its own: what is damaged counts as not done, and is
computed again.
"""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from longwave.errors import DataWarning, StorageError, reason
from longwave.files.bounded import npy_header, open_regular, read_json
from longwave.types import Array

# The version of what a work folder holds. A build does not go on in a folder of another version.
_LAYOUT = 3


@dataclass(frozen=True)
class Checkpoint:
    """A folder of finished stages. Make it with `open_checkpoint`."""

    folder: Path
    prefix: str = ""

    def at(self, name: str) -> Checkpoint:
        """The same folder for the stages of one part, such as a component."""
        return Checkpoint(self.folder, f"{self.prefix}{name}-")

    def load(self, stage: str, only: Sequence[str] | None = None) -> dict[str, Array] | None:
        """The arrays of a finished stage, all or those named, or None: also of one that is damaged, with a warning."""
        done = self._path(stage, "done", ".json")
        if not os.path.lexists(done):
            return None
        try:
            entries = _checked_mark(read_json(done, follow=False), done.name)
            return {name: _load(self._path(stage, name), entries[name]) for name in (entries if only is None else only)}
        except (OSError, ValueError, LookupError, TypeError) as error:
            with suppress(OSError):
                done.unlink()
            warnings.warn(
                f"the stage {self.prefix}{stage} in {self.folder} is damaged ({error}): it is computed again",
                DataWarning,
                stacklevel=2,
            )
            return None

    def save(self, stage: str, arrays: Mapping[str, Array]) -> None:
        """Write the arrays of a stage, then the mark that it is done. An earlier state of the stage is replaced."""
        done = self._path(stage, "done", ".json")
        try:
            done.unlink(missing_ok=True)
            entries = {name: _save(self._path(stage, name), array) for name, array in arrays.items()}
            with _replaced(done) as file:
                file.write(json.dumps({"arrays": entries, "crc32": _mark_sum(entries, done.name)}).encode())
        except OSError as error:
            raise StorageError(f"cannot write the checkpoint {done}: {reason(error)}") from error

    def latest(self, stage: str) -> tuple[int, dict[str, Array]] | None:
        """The last finished round of a stage and its arrays, or None."""
        begin, end = f"{self.prefix}{stage}-", "-done.json"
        numbers = [mark.name[len(begin) : -len(end)] for mark in self.folder.glob(f"{begin}*{end}")]
        for number in sorted((int(n) for n in numbers if n.isascii() and n.isdigit()), reverse=True):
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


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file beside the path, which takes its place when it is whole. A link or pipe of its name is not opened."""
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _save(path: Path, array: Array) -> list[Any]:
    """Write an array; what its mark keeps of it."""
    with _replaced(path) as file:
        np.save(file, array, allow_pickle=False)
    return _entry(array)


def _entry(array: Array) -> list[Any]:
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous  # as numpy stores it
    stored = np.ascontiguousarray(array.T if by_columns else array)
    return [[*array.shape], array.dtype.str, bool(by_columns), zlib.crc32(stored.data)]


def _load(path: Path, entry: Any) -> Array:
    """Read an array; ValueError unless it is the one of the mark. Sizes are compared before memory is taken."""
    with open_regular(path, follow=False) as file:
        header = npy_header(file)
        if [[*header.shape], header.dtype.str, header.by_columns] != entry[:3]:
            raise ValueError(f"{path.name} does not have the shape or type that was written")
        if os.fstat(file.fileno()).st_size != header.start + header.n_bytes:
            raise ValueError(f"{path.name} does not have the size that was written")
        array = np.fromfile(file, header.dtype, header.n_bytes // max(1, header.dtype.itemsize))
    array = array.reshape(header.shape, order="F" if header.by_columns else "C")
    if _entry(array) != entry:
        raise ValueError(f"the checksum of {path.name} differs")
    return array


def _mark_sum(entries: Mapping[str, Any], name: str) -> int:
    """Of a mark and its place."""
    return zlib.crc32(json.dumps([name, entries], sort_keys=True).encode())


def _checked_mark(mark: Any, name: str) -> dict[str, Any]:
    entries = mark["arrays"]
    if _mark_sum(entries, name) != mark["crc32"]:
        raise ValueError(f"the checksum of {name} differs")
    return dict(entries)


def fingerprint(array: Array) -> list[int]:
    """Shape and checksum: what tells one array from another."""
    return [*array.shape, zlib.crc32(np.ascontiguousarray(array).data)]


def open_checkpoint(folder: Path, vectors: Array, settings: Mapping[str, Any]) -> Checkpoint:
    """Open or create the folder; one that belongs to other data or settings is an error, nothing is overwritten."""
    key = {"layout": _LAYOUT, "vectors": fingerprint(vectors), **settings}
    file = folder / "key.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(file):
            found = read_json(file, follow=False)
            if not isinstance(found, dict):
                raise ValueError("its key.json is damaged; remove the folder, or choose another one")
            other = [name for name in key if found.get(name) != json.loads(json.dumps(key[name]))]
            if other:
                raise StorageError(
                    f"{folder} holds the work of another build (its {', '.join(other)} differ); "
                    "choose another workdir, or remove that one"
                )
        elif any(folder.iterdir()):
            raise StorageError(f"{folder} is not empty and not a workdir of Longwave; choose another one")
        else:
            with _replaced(file) as stream:
                stream.write(json.dumps(key).encode())
    except StorageError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot use {folder} as workdir: {error}") from error
    return Checkpoint(folder)
