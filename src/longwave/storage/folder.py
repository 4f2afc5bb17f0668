"""The index folder: `manifest.json` and one `.npy` per array. It appears complete or not at all; no pickle.

::

    flowers.longwave/
        manifest.json       format, version, settings; shape, type, size and checksum of every array; its own checksum
        vectors.npy ...     opened as memory maps; those of up to a mebibyte are read at once

Nothing in a folder is ever changed. A writer makes a new folder beside the old one and exchanges the two. There is one
writer at a time, by a lock that the kernel holds and frees when the writer's process ends, however it ends. A reader
opens everything relative to one open folder, so that all files are of one state, and changes nothing on the disk.

Beside the folder, while a writer is at work or after it was killed, there may be `.flowers.longwave.lock`,
`.flowers.longwave.partial-1a2b3c4d` (a folder not finished, or no longer wanted) and, where the file system cannot
exchange two folders in one step, `.flowers.longwave.old`: the old index between two renames, which readers take while
there is no other. The next writer clears them.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import mmap
import os
import re
import shutil
import stat
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

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
FORMAT_VERSION = 3
MANIFEST = "manifest.json"
# Version 2 is the same without a checksum of the manifest.
_OLDEST_VERSION = 2
_SEAL = "sha256"
# A manifest is kilobytes; one beyond this is not read, and not written.
_MANIFEST_BYTES = 1 << 28
# Files up to this size are read whole and compared with their checksums by every load: some milliseconds in all.
_SMALL = 1 << 20
_CHUNK = 1 << 22
# A reader begins again where a writer has exchanged the folder under it; so often in a row means something else.
_ATTEMPTS = 1000
# Types that can be stored: bool, numbers, strings, times.
_DTYPE = re.compile(r"[<>|][biufcSUmM]\d{1,9}(\[\w+\])?")
# The header of a .npy of version 1.0, which is what numpy writes for such types; C order only.
_MAGIC = b"\x93NUMPY\x01\x00"


def check_target(path: Path, *, force: bool) -> None:
    """Raise before any work if the path cannot take an index; `force` allows an existing index, nothing else."""
    if not path.parent.is_dir():
        raise StorageError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK):
        raise StorageError(f"cannot write {path}: you may not write to {path.parent.absolute()}; choose another folder")
    standing = path
    if not path.exists() and not path.is_symlink():
        standing = _beside(path, "old")  # the index itself, where a writer was killed between two renames
        if not is_index(standing):
            return
    known = _peek(standing)
    if known is None:
        raise IndexExistsError(
            f"{path} is a {'folder' if path.is_dir() else 'file'} that is not a Longwave index, and is left as it is; "
            f"choose another name for the index, such as {path.resolve().stem or 'index'}.longwave"
        )
    if not force:
        raise IndexExistsError(f"{path} exists; choose another path, or overwrite it with force (--force)")
    arrays = known.get("arrays")
    own = {MANIFEST, *(f"{name}.npy" for name in (arrays if isinstance(arrays, dict) else {}))}
    foreign = sorted(p.name for p in standing.iterdir() if p.name not in own)
    if foreign:
        raise IndexExistsError(
            f"{path} also holds {foreign[0]}, which is not of the index; choose another path, or move that file away"
        )


def is_index(path: Path) -> bool:
    """Whether the path is a folder with a manifest of ours, readable or not."""
    return _peek(path) is not None


def plain(value: Any) -> Any:
    """A number of numpy's as JSON can hold it: `default` of `json.dumps`."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is nothing that JSON can hold")


def write(path: Path, settings: Mapping[str, Any], arrays: Mapping[str, Array], *, force: bool = False) -> None:
    """Write a folder beside the target, then exchange the two. A second writer waits for the first.

    Killed at any moment, the target is the old one or the new one. A full disk is an error that says how much is
    needed, and leaves nothing behind.
    """
    path = _real(path)  # through a link, the folder it points to is replaced
    check_target(path, force=force)
    needed = sum(array.nbytes for array in arrays.values())
    try:
        with _only_writer(path):
            _clear(path)
            check_target(path, force=force)  # again: another writer may have come first
            free = shutil.disk_usage(path.parent).free
            if needed > free:
                raise StorageError(_no_space(path, needed, free))
            partial = _partial(path)
            try:
                _write_folder(partial, settings, arrays)
                _swap(partial, path)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except StorageError:
        raise
    except OSError as error:
        if is_full(error):
            raise StorageError(_no_space(path, needed, shutil.disk_usage(path.parent).free)) from error
        raise StorageError(f"cannot write {path}: {reason(error)}") from error


def read(path: Path, *, verify: bool = False) -> tuple[dict[str, Any], dict[str, Array]]:
    """Open a folder: the manifest, and every array, read-only, large ones as memory maps.

    The manifest, small files and strings of bytes (uint8, one axis: what another library will parse) are compared with
    their checksums; of the others presence, size, shape and type are checked. `verify` compares all checksums, which
    reads everything. Beside a writer all files are of one state, the old or the new.
    """
    real, attempts = _real(path), _ATTEMPTS
    while True:
        folder = _open_folder(real, path)
        try:
            manifest = _read_manifest(folder, path)
            return manifest, {n: _read_array(folder, path, n, e, verify) for n, e in manifest["arrays"].items()}
        except StorageError:
            attempts -= 1
            if not attempts or not _was_replaced(folder, real):
                raise
        finally:
            os.close(folder)


# Writing


def _write_folder(partial: Path, settings: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    partial.mkdir()
    entries = {name: _write_array(partial / f"{name}.npy", array) for name, array in arrays.items()}
    manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, **settings, "arrays": entries}
    manifest = json.loads(json.dumps(manifest, default=plain))
    text = json.dumps({**manifest, _SEAL: _seal(manifest)}, indent=1)
    if len(text) > _MANIFEST_BYTES:
        raise StorageError(
            f"{MANIFEST} would have {len(text):,} bytes, more than {_MANIFEST_BYTES:,}; attach less, or attach arrays"
        )
    with (partial / MANIFEST).open("wb") as file:
        file.write(text.encode())
        _sync(file)
    _sync_folder(partial)


def _write_array(path: Path, array: Array) -> dict[str, Any]:
    array = np.asarray(array, order="C")
    if not _DTYPE.fullmatch(array.dtype.str) or array.dtype.hasobject:
        raise StorageError(f"{path.stem} holds {array.dtype}; an index folder can hold numbers and strings only")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    content, checksum = array.reshape(-1).view(np.uint8), zlib.crc32(header.getvalue())
    with path.open("wb") as file:  # not by numpy's tofile, which does not pass on what the system says of a full disk
        file.write(header.getvalue())
        for start in range(0, len(content), _CHUNK):
            chunk = content[start : start + _CHUNK].data
            checksum = zlib.crc32(chunk, checksum)
            file.write(chunk)
        _sync(file)
        size = file.tell()
    return {"shape": list(array.shape), "dtype": array.dtype.str, "bytes": size, "crc32": checksum}


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of this index. It is an open file's: threads, processes and containers exclude each other alike."""
    import fcntl  # only on systems that have it, and only writers need it

    lock = _beside(path, "lock")
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(handle, "wb") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX)
            except OSError as error:
                raise StorageError(
                    f"cannot lock {lock}: {error.strerror}; save to a file system with locks and copy the folder"
                ) from error
            if _was_replaced(handle, lock):  # we waited for a file that the writer before us has removed
                continue
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


def _clear(path: Path) -> None:
    """Remove what killed writers left beside the target, or bring the old index back. Only with the lock."""
    old = _beside(path, "old")
    if is_index(old):
        old.rename(_partial(path) if path.exists() else path)
    name = re.compile(re.escape(f".{path.name}.partial-") + "[0-9a-f]{8}")
    for left in [entry for entry in path.parent.iterdir() if name.fullmatch(entry.name)]:
        shutil.rmtree(left, ignore_errors=True)


def _swap(partial: Path, path: Path) -> None:
    """Put the finished folder in place; an old index is at `partial` afterwards."""
    if not path.exists():
        partial.rename(path)
    elif not _exchange(partial, path):
        old = _beside(path, "old")
        path.rename(old)
        try:
            partial.rename(path)
        except BaseException:
            if not path.exists():
                old.rename(path)
            raise
        old.rename(partial)  # first away from where readers look, as it will be removed file by file
    _sync_folder(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step, with no moment between; False where the system cannot."""
    import ctypes

    at_cwd, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange) == 0)


# Reading


def _open_folder(real: Path, path: Path) -> int:
    """The folder as an open handle, or the old one where a writer is between two renames."""
    for place in 2 * (real, _beside(real, "old")):
        try:
            return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise NotAnIndexError(f"{path} is a file; a Longwave index is a folder with {MANIFEST}") from None
        except OSError as error:
            raise StorageError(f"{path} cannot be opened: {error.strerror}; check its permissions") from error
    raise NotAnIndexError(f"{path} does not exist; create an index with: longwave build VECTORS -o {path}")


def _was_replaced(handle: int, path: Path) -> bool:
    """Whether the path now names something else than what is open."""
    try:
        return not os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return True


@contextmanager
def _opened(folder: int, file: Path) -> Iterator[BinaryIO]:
    """A plain file of the folder, for reading. Not a link, which may lead anywhere; not a pipe, which waits."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(file.name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except ValueError as error:  # a name that no file can have
        raise CorruptIndexError(f"{file} cannot be opened: {error}; build the index again") from error
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise CorruptIndexError(f"{file} is a link or not a file; copy the file itself to its place") from error
        raise StorageError(f"{file} cannot be read: {error.strerror}; check its permissions") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise CorruptIndexError(f"{file} is not a plain file; copy the file itself to its place")
    with os.fdopen(handle, "rb") as opened:
        try:
            yield opened
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"{file} cannot be read: {error.strerror or error}; copy it again") from error


def _read_manifest(folder: int, path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    try:
        with _opened(folder, file) as opened:
            content = opened.read(_MANIFEST_BYTES + 1)
    except FileNotFoundError:
        raise NotAnIndexError(f"{path} is not a Longwave index: it has no {MANIFEST}") from None
    damaged = f"{file} is cut short or altered; copy it again, or build the index again"
    try:
        manifest = json.loads(content.decode("utf-8")) if len(content) <= _MANIFEST_BYTES else None
    except (ValueError, RecursionError):
        raise CorruptIndexError(damaged) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise NotAnIndexError(f"{path} is not a Longwave index: its {MANIFEST} is of another program")
    version = manifest.get("format_version")
    if type(version) is not int or not isinstance(manifest.get("arrays"), dict):
        raise CorruptIndexError(f"{file} lacks its version or its list of arrays; build the index again")
    if version > FORMAT_VERSION:
        raise NewerIndexError(
            f"{path} has format version {version}, this Longwave reads up to {FORMAT_VERSION}; "
            "upgrade with: pip install -U longwave"
        )
    if version < _OLDEST_VERSION:
        raise StorageError(
            f"{path} has format version {version}, written by an earlier Longwave; this one reads version "
            f"{_OLDEST_VERSION} to {FORMAT_VERSION}: build the index again"
        )
    seal = manifest.pop(_SEAL, None)
    if (seal is not None or version >= 3) and seal != _seal(manifest):
        raise CorruptIndexError(damaged)
    return manifest


def _seal(manifest: Mapping[str, Any]) -> str:
    """The checksum of what a manifest says, however it is spaced."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _peek(path: Path) -> dict[str, Any] | None:
    """The manifest of a folder of ours, checked no further; None where there is none."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        with _opened(folder, path / MANIFEST) as opened:
            manifest = json.loads(opened.read(_MANIFEST_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(folder)
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def _read_array(folder: int, path: Path, name: str, entry: Any, verify: bool) -> Array:
    """An array of the folder. All that its header says must be what the manifest says, so it need not be parsed."""
    file = path / f"{name}.npy"
    shape, dtype, size, checksum = _described(entry)
    if dtype is None or not name or name.startswith(".") or "/" in name:
        raise CorruptIndexError(f"{path / MANIFEST} does not describe {name!r} as an array; build the index again")
    try:
        with _opened(folder, file) as opened:
            found = os.fstat(opened.fileno()).st_size
            if found != size:
                raise CorruptIndexError(
                    f"{file} has {found:,} bytes instead of {size:,}; copy it again, or build the index again"
                )
            content = opened.read(size) if size <= _SMALL else None
            if verify or content is not None or (dtype == np.uint8 and len(shape) == 1):
                known = zlib.crc32(content) if content is not None else _checksum(opened)
                if known != checksum:
                    raise CorruptIndexError(
                        f"{file} was altered: its checksum differs; copy it again, or build the index again"
                    )
            buffer: Any = content
            if content is None:
                buffer = mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise CorruptIndexError(f"{path} lacks {file.name}; copy the whole folder, or build the index again") from None
    except ValueError as error:  # cut short since
        raise CorruptIndexError(f"{file} cannot be mapped: {error}; build the index again") from error
    start = _header_length(buffer, shape, dtype)
    if start is None or start + math.prod(shape) * dtype.itemsize != size:
        raise CorruptIndexError(f"{file} does not have the shape or type its manifest states; build the index again")
    try:
        array: Array = np.ndarray(shape, dtype, buffer, start)
    except (ValueError, TypeError, OverflowError) as error:
        raise CorruptIndexError(f"{file} is not a readable array: {error}; build the index again") from error
    if dtype.kind == "U" and array.size and array.reshape(-1).view(np.uint32).max() > 0x10FFFF:
        raise CorruptIndexError(f"{file} holds what is no text; copy it again, or build the index again")
    return array


def _described(entry: Any) -> tuple[tuple[int, ...], np.dtype[Any] | None, int, int]:
    """Shape, type, size and checksum as the manifest has them; no type where it makes no sense."""
    known = entry if isinstance(entry, dict) else {}
    shape, text = known.get("shape"), known.get("dtype")
    counts = [*(shape if isinstance(shape, list) else [None]), known.get("bytes"), known.get("crc32")]
    if any(type(count) is not int or count < 0 for count in counts) or not isinstance(text, str):
        return (), None, 0, 0
    try:
        dtype = np.dtype(text) if _DTYPE.fullmatch(text) else None
    except (TypeError, ValueError):
        dtype = None
    return tuple(counts[:-2]), dtype, counts[-2], counts[-1]


def _header_length(buffer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int | None:
    """Bytes of a `.npy` header of this shape and type, in C order; None where it is not that header."""
    length = len(_MAGIC) + 2 + int.from_bytes(buffer[len(_MAGIC) : len(_MAGIC) + 2], "little")
    said = bytes(buffer[len(_MAGIC) + 2 : length])
    expected = repr({"descr": dtype.str, "fortran_order": False, "shape": shape})
    same = said.replace(b", }", b"}").rstrip() == expected.encode()  # numpy leaves a comma
    return length if buffer[: len(_MAGIC)] == _MAGIC and same else None


def _checksum(file: BinaryIO) -> int:
    value = 0
    while chunk := file.read(_CHUNK):
        value = zlib.crc32(chunk, value)
    return value


def _beside(path: Path, what: str) -> Path:
    return path.parent / f".{path.name}.{what}"


def _partial(path: Path) -> Path:
    return _beside(path, f"partial-{uuid.uuid4().hex[:8]}")


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise StorageError(f"{str(path)!r} cannot be a path: {error}") from error


def _no_space(path: Path, needed: int, free: int) -> str:
    return (
        f"not enough space to write {path}: {needed / 2**20:,.1f} MiB needed, {free / 2**20:,.1f} MiB free; "
        "free some, or write elsewhere"
    )
