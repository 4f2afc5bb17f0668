"""The index folder: `manifest.json` and one `.npy` per array. It appears complete or not at all; no pickle.

::

    flowers.longwave/
        manifest.json       format, version, settings, and shape, type, size and checksum of every array
        vectors.npy ...     opened as memory maps
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import (
    CorruptIndexError,
    IndexExistsError,
    NewerIndexError,
    NotAnIndexError,
    StorageError,
    is_full,
    reason,
)
from longwave.types import Array

FORMAT = "longwave index"
FORMAT_VERSION = 2
MANIFEST = "manifest.json"


def check_target(path: Path, *, force: bool) -> None:
    """Raise before any work if the path cannot take an index; `force` allows an existing index, nothing else."""
    if not path.parent.is_dir():
        raise StorageError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK):
        raise StorageError(f"cannot write {path}: you may not write to {path.parent.absolute()}; choose another folder")
    if not path.exists() and not path.is_symlink():
        return
    if not is_index(path):
        raise IndexExistsError(
            f"{path} is a {'folder' if path.is_dir() else 'file'} that is not a Longwave index, and is left as it is; "
            f"choose another name for the index, such as {path.resolve().stem or 'index'}.longwave"
        )
    if not force:
        raise IndexExistsError(f"{path} exists; choose another path, or overwrite it with force (--force)")
    own = {MANIFEST, *(f"{name}.npy" for name in json.loads((path / MANIFEST).read_text("utf-8")).get("arrays", {}))}
    foreign = sorted(p.name for p in path.iterdir() if p.name not in own)
    if foreign:
        raise IndexExistsError(
            f"{path} also holds {foreign[0]}, which is not of the index; choose another path, or move that file away"
        )


def is_index(path: Path) -> bool:
    """Whether the path is a folder with a manifest of ours, readable or not."""
    try:
        return bool(json.loads((path / MANIFEST).read_text("utf-8")).get("format") == FORMAT)
    except (OSError, ValueError, AttributeError):
        return False


def write(path: Path, settings: Mapping[str, Any], arrays: Mapping[str, Array], *, force: bool = False) -> None:
    """Write a folder beside the target, then rename it into place.

    Killed at any moment, the target is the old one, the new one or absent, never half. A full disk is an error that
    says how much is needed, and leaves nothing behind.
    """
    path = path.resolve()  # through a link, the folder it points to is replaced
    _remove_stale(path)
    check_target(path, force=force)
    needed = sum(array.nbytes for array in arrays.values())
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise StorageError(_no_space(path, needed, free))
    partial = path.parent / f".{path.name}.partial-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        partial.mkdir()
        entries = {name: _write_array(partial / f"{name}.npy", array) for name, array in arrays.items()}
        manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, **settings, "arrays": entries}
        _write_synced(partial / MANIFEST, json.dumps(manifest, indent=1).encode())
        _sync_folder(partial)
        _swap(partial, path)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        if is_full(error):
            raise StorageError(_no_space(path, needed, shutil.disk_usage(path.parent).free)) from error
        raise StorageError(f"cannot write {path}: {reason(error)}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read(path: Path, *, verify: bool = False) -> tuple[dict[str, Any], dict[str, Array]]:
    """Open a folder: the manifest, and every array as a read-only memory map.

    Presence, size, shape and type of every file are checked; with `verify` also the checksums, which reads it all.
    """
    manifest = _read_manifest(path)
    arrays = {name: _open_array(path, name, entry) for name, entry in manifest["arrays"].items()}
    if verify:
        for name, entry in manifest["arrays"].items():
            if _checksum(path / f"{name}.npy") != entry["crc32"]:
                raise CorruptIndexError(f"{path / name}.npy was altered: its checksum differs; build the index again")
    return manifest, arrays


def _write_array(path: Path, array: Array) -> dict[str, Any]:
    with path.open("wb") as file:
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return {
        "shape": list(array.shape),
        "dtype": array.dtype.str,
        "bytes": path.stat().st_size,
        "crc32": _checksum(path),
    }


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _swap(partial: Path, path: Path) -> None:
    """Rename the finished folder into place; an old index steps aside first and is removed last."""
    old = path.parent / f".{path.name}.partial-{os.getpid()}-old"
    if path.exists():
        path.rename(old)
    try:
        partial.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
    _sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _remove_stale(path: Path) -> None:
    """Remove what a killed process left beside the target; bring back an old index that had stepped aside."""
    prefix = f".{path.name}.partial-"
    for stale in list(path.parent.iterdir()) if path.parent.is_dir() else []:
        owner = stale.name.removeprefix(prefix).split("-")[0]
        if not stale.name.startswith(prefix) or not owner.isdigit() or _is_running(int(owner)):
            continue
        if stale.name.endswith("-old") and not path.exists():
            stale.rename(path)
        else:
            shutil.rmtree(stale, ignore_errors=True)


def _is_running(process: int) -> bool:
    """Whether another process of that number is alive."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.exists():
        _remove_stale(path)  # a writer killed between its two renames left the old index beside
    if not path.exists():
        raise NotAnIndexError(f"{path} does not exist; create an index with: longwave build VECTORS -o {path}")
    if not path.is_dir():
        raise NotAnIndexError(f"{path} is a file; a Longwave index is a folder with {MANIFEST}")
    try:
        text = (path / MANIFEST).read_text("utf-8")
    except FileNotFoundError:
        raise NotAnIndexError(f"{path} is not a Longwave index: it has no {MANIFEST}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CorruptIndexError(f"{path / MANIFEST} cannot be read: {error}") from error
    try:
        manifest = json.loads(text)
    except ValueError:
        raise CorruptIndexError(f"{path / MANIFEST} is cut short or altered; build the index again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise NotAnIndexError(f"{path} is not a Longwave index: its {MANIFEST} is of another program")
    version = manifest.get("format_version")
    if not isinstance(version, int) or not isinstance(manifest.get("arrays"), dict):
        raise CorruptIndexError(f"{path / MANIFEST} lacks its version or its list of arrays; build the index again")
    if version > FORMAT_VERSION:
        raise NewerIndexError(
            f"{path} has format version {version}, this Longwave reads up to {FORMAT_VERSION}; "
            "upgrade with: pip install -U longwave"
        )
    if version < FORMAT_VERSION:
        raise StorageError(
            f"{path} has format version {version}, written by an earlier Longwave; this one reads version "
            f"{FORMAT_VERSION}: build the index again"
        )
    return manifest


def _open_array(path: Path, name: str, entry: Any) -> Array:
    file = path / f"{name}.npy"
    if not isinstance(entry, Mapping) or not isinstance(entry.get("bytes"), int):
        raise CorruptIndexError(f"{path / MANIFEST} does not describe {file.name}; build the index again")
    if not file.is_file():
        raise CorruptIndexError(f"{path} lacks {file.name}; copy the whole folder, or build the index again")
    size = file.stat().st_size
    if size != entry.get("bytes"):
        raise CorruptIndexError(
            f"{file} has {size:,} bytes instead of {entry.get('bytes'):,}; copy it again, or build the index again"
        )
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except PermissionError as error:
        raise StorageError(f"{file} cannot be read: {error.strerror}; check its permissions") from error
    except (ValueError, OSError, EOFError) as error:
        raise CorruptIndexError(f"{file} is not a readable array: {error}; build the index again") from error
    if list(array.shape) != entry.get("shape") or array.dtype.str != entry.get("dtype"):
        raise CorruptIndexError(f"{file} does not have the shape or type its manifest states; build the index again")
    return np.asarray(array)


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            value = zlib.crc32(chunk, value)
    return value


def _no_space(path: Path, needed: int, free: int) -> str:
    return (
        f"not enough space to write {path}: {needed / 2**20:,.0f} MiB needed, {free / 2**20:,.0f} MiB free; "
        "free some, or write elsewhere"
    )
