"""Opening what is in an index folder: never through a link, never outside of it, never waiting for a pipe."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from longwave.errors import CorruptIndexError, NotAnIndexError, StorageError
from longwave.storage.disk import Opened

MANIFESTS, DATA, LOCK = "manifests", "data", "lock"
#: The single manifest of format versions 2 and 3.
OLD_MANIFEST = "manifest.json"
#: A number is eight digits, so that names sort as numbers do.
LAST_NUMBER = 10**8 - 1
_NUMBERED = re.compile(r"[0-9]{8}\.json")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def real_path(path: str | Path) -> Path:
    """The path without links: through a link, the folder it points to is meant."""
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise StorageError(f"{str(path)!r} cannot be a path: {error}") from error


def set_aside(real: Path) -> Path:
    """Where the writer of versions 2 and 3 left an index if it was killed between two renames."""
    return real.parent / f".{real.name}.old"


@contextmanager
def opened_root(path: Path) -> Iterator[Opened]:
    """The index folder, open."""
    real = real_path(path)
    root = None
    for place in 2 * (real, set_aside(real)):  # twice: that writer may be at work
        try:
            root = Opened(path, os.open(place, _FOLDER))
            break
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise NotAnIndexError(f"{path} is a file; a Longwave index is a folder with {MANIFESTS}") from None
        except OSError as error:
            raise StorageError(f"{path} cannot be opened: {error.strerror}; check its permissions") from error
    if root is None:
        raise NotAnIndexError(f"{path} does not exist; create an index with: longwave build VECTORS -o {path}")
    try:
        yield root
    finally:
        os.close(root.handle)


@contextmanager
def opened_folder(root: Opened, name: str) -> Iterator[Opened]:
    """A folder inside the index folder. One that is not there is a `FileNotFoundError`; a link is refused."""
    shown = root.path / name
    try:
        handle = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=root.handle)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise CorruptIndexError(f"{shown} is a link or not a folder; copy the folder itself to its place") from None
        raise StorageError(f"{shown} cannot be opened: {error.strerror}; check its permissions") from error
    try:
        yield Opened(shown, handle)
    finally:
        os.close(handle)


@contextmanager
def opened_file(folder: Opened, name: str) -> Iterator[BinaryIO]:
    """A plain file, for reading. One that is not there is a `FileNotFoundError`; a link or a pipe is refused."""
    file = folder.path / name
    try:
        handle = os.open(name, _FILE, dir_fd=folder.handle)
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


def names(folder: Opened) -> list[str]:
    """What is in a folder, sorted."""
    try:
        with os.scandir(folder.handle) as entries:
            return sorted(entry.name for entry in entries)
    except OSError as error:
        raise StorageError(f"{folder.path} cannot be listed: {error.strerror}; check its permissions") from error


def manifest_name(number: int) -> str:
    """The file of a version: 42 is 00000042.json."""
    return f"{number:08d}.json"


def numbers(root: Opened) -> list[int]:
    """The versions that have a manifest, whole or not, oldest first. Reads names only."""
    try:
        with opened_folder(root, MANIFESTS) as manifests:
            return [int(name[:8]) for name in names(manifests) if _NUMBERED.fullmatch(name) and int(name[:8])]
    except FileNotFoundError:
        return []


def was_replaced(opened: Opened, path: Path) -> bool:
    """Whether the path now names something else than what is open."""
    try:
        return not os.path.samestat(os.fstat(opened.handle), path.stat())
    except OSError:
        return True
