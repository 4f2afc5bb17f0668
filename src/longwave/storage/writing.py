"""Writes an index folder: one writer at a time, and commits that are there whole or not at all.

A commit writes new files and syncs them, then their folder, then a manifest under a name that readers do not look at.
Last it gives the manifest its number, if that is free, and syncs the folder of manifests. Before that step readers see
the old state, after it the new one. When `commit` returns, the new state survives a loss of power.
"""

from __future__ import annotations

import errno
import os
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import (
    ConflictError,
    CorruptIndexError,
    InputError,
    NewerIndexError,
    NotAnIndexError,
    StorageError,
    reason,
)
from longwave.storage.array_file import new_name, read_array, write_array
from longwave.storage.cleaning import Vacuumed, clean
from longwave.storage.disk import DISK, Files, Opened, created, free_bytes
from longwave.storage.manifest import Commit, Entry, Manifest, decode, encode, storable
from longwave.storage.opening import (
    DATA,
    LAST_NUMBER,
    LOCK,
    MANIFESTS,
    manifest_name,
    numbers,
    opened_folder,
    opened_root,
    real_path,
)
from longwave.storage.reading import Found, State, find, load_state, standing
from longwave.storage.spans import Span, Written, make_span
from longwave.storage.target import bring_back, check_target, make_folder, no_space, said_clearly
from longwave.types import Array

# What systems say whose file system has no second names for a file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_PAUSE = 0.02


@dataclass(frozen=True)
class Kept:
    """In place of an array: the file that holds the array of this name in the writer's state. Nothing is copied."""

    name: str


@contextmanager
def writer(path: str | Path, *, create: bool = False, timeout: float = 0.0, files: Files = DISK) -> Iterator[Writer]:
    """Hold an index folder for writing until the block ends. Readers are not disturbed.

    create: make the folder if there is none, or finish one whose first writer was killed. timeout: seconds to wait for
    another writer; then it is a `ConflictError`. files: the file layer, for tests.
    """
    path = Path(path)
    with ExitStack() as stack:
        with said_clearly(path):
            bring_back(files, path)
            if create:
                check_target(path, force=True)
                make_folder(files, path)
            root = stack.enter_context(opened_root(path))
            if not create and standing(root) != "index":
                find(root)  # says what it is
            lock = _locked(files, root, timeout)
            stack.callback(files.unlock, lock)
            for name in (MANIFESTS, DATA):
                with suppress(FileExistsError):
                    files.mkdir(root, name)
            manifests = stack.enter_context(opened_folder(root, MANIFESTS))
            data = stack.enter_context(opened_folder(root, DATA))
            own = Writer(path, files, root, manifests, data)
        stack.callback(own.close)
        yield own


def vacuum(
    path: str | Path, *, keep: int = 1, grace: float = 3600.0, timeout: float = 0.0, files: Files = DISK
) -> Vacuumed:
    """`Writer.vacuum` for those who hold no writer."""
    with writer(path, timeout=timeout, files=files) as own:
        return own.vacuum(keep=keep, grace=grace)


class Writer:
    """The one who may commit. Made by `writer`, and of no use after its block. Threads that share it take turns."""

    def __init__(self, path: Path, files: Files, root: Opened, manifests: Opened, data: Opened) -> None:
        self._path, self._files = path, files
        self._root, self._manifests, self._data = root, manifests, data
        self._open, self._turn = True, threading.Lock()
        self._last = max(numbers(root), default=0)
        self._state: State | None = None
        # The state that a commit is made from; or why it cannot be read, which does not matter to who replaces it.
        self._base: Found | StorageError | None
        try:
            self._base = find(root)
        except NewerIndexError:
            raise
        except NotAnIndexError:
            self._base = None
        except StorageError as error:
            self._base = error

    @property
    def state(self) -> State | None:
        """The newest state; None in a new folder. It is opened when first asked for, and again after a commit."""
        self._check_open()
        found = self._found()
        if found is not None and (self._state is None or self._state.commit != found.manifest.commit):
            self._state = load_state(self._root, found, known=self._state)
        return self._state

    def span(self, name: str, shape: tuple[int, ...], dtype: Any) -> Span:
        """A new file of the folder for an array that others write (`spans.write_rows`); a commit takes it then."""
        self._check_open()
        with said_clearly(self._path, self._root):
            return make_span(self._data, name, shape, dtype, self._files)

    def commit(self, facts: Mapping[str, Any], arrays: Mapping[str, Array | Kept | Written], message: str = "") -> int:
        """Make these facts and arrays the newest state, and return its number. All of them, or none.

        `Kept` stands for an array that has not changed, `Written` for one that others have written to a `span`. What is
        in the state and not in `arrays` is not in the new one.
        An error means that the state is still the old one, unless its message says that this is not known.
        Cost: one fsync for every new array, and three.
        """
        with self._turn:
            self._check_open()
            return self._commit(facts, arrays, message)

    def vacuum(self, *, keep: int = 1, grace: float = 3600.0) -> Vacuumed:
        """Remove old versions, and files that no remaining version names; nothing of others, and nothing of `state`.

        keep: so many of the newest versions stay. grace: seconds for which a version that was replaced stays, and a
        file that no version names. Those who have a version open keep it: on POSIX systems its files live on, without a
        name, as long as they are mapped. (Over a network they may not: choose a grace that outlasts readers.)
        """
        with self._turn, said_clearly(self._path, self._root):
            self._check_open()
            return clean(self._files, self._root, self._manifests, self._data, keep=keep, grace=grace)

    def close(self) -> None:
        """Called where the block of `writer` ends."""
        self._open = False

    def _check_open(self) -> None:
        if not self._open:
            raise StorageError(f"this writer of {self._path} is closed; open another with writer(path)")

    def _found(self) -> Found | None:
        if isinstance(self._base, StorageError):
            raise self._base
        return self._base

    def _commit(self, facts: Mapping[str, Any], arrays: Mapping[str, Array | Kept | Written], message: str) -> int:
        number = self._last + 1
        if number > LAST_NUMBER:
            last = self._manifests.path / manifest_name(self._last)
            raise StorageError(f"{last} has the largest possible number; remove it, or write to another folder")
        values = {
            name: value if isinstance(value, (Kept, Written)) else np.asarray(value) for name, value in arrays.items()
        }
        _check_arrays(values)
        needed = sum(value.nbytes for value in values.values() if not isinstance(value, Kept))
        with said_clearly(self._path, self._root, needed):
            free = free_bytes(self._root)
            if needed > free:
                raise StorageError(no_space(self._path, needed, free))
            made: list[str] = []
            try:
                entries = {name: self._store(name, value, made) for name, value in values.items()}
                if made:
                    self._files.sync(self._data)
                if not self._last:
                    self._sync_way()
                parent = self._base.manifest.commit.number if isinstance(self._base, Found) else None
                commit = Commit(number, parent, datetime.now(UTC), message, "")
                manifest = self._publish(Manifest(commit, facts, entries))
            except BaseException as error:
                # Files that a manifest of ours names, or named for a moment, are left to a vacuum.
                if isinstance(error, ConflictError) or not (
                    self._last == number or self._exists(manifest_name(number))
                ):
                    for file in made:
                        with suppress(OSError):
                            self._files.unlink(self._data, file)
                raise
        self._base, self._last = Found(manifest), number
        return number

    def _store(self, name: str, value: Array | Kept | Written, made: list[str]) -> Entry:
        """Write an array, or find the file that is kept. New files are added to `made` before they are there."""
        if isinstance(value, Written):
            self._check_kept(value.entry, name)
            made.append(value.entry.file)
            return value.entry
        if not isinstance(value, Kept):
            made.append(new_name(name))
            return write_array(self._files, self._data, made[-1], value)
        found = self._found()
        if found is None or value.name not in found.manifest.entries:
            known = ", ".join(sorted(found.manifest.entries)) if found else ""
            raise InputError(f"there is no array {value.name!r} to keep; the state has: {known or 'none'}")
        entry = found.manifest.entries[value.name]
        if found.manifest.commit.number:
            self._check_kept(entry, value.name)
            return entry
        made.append(new_name(name))  # of format version 2 or 3: a second name, in the folder of data
        try:
            self._files.link(self._root, entry.file, self._data, made[-1])
        except FileNotFoundError:
            raise CorruptIndexError(f"{self._path} lacks {entry.file}; build the index again") from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return write_array(self._files, self._data, made[-1], read_array(self._root, value.name, entry, True))
        return replace(entry, file=made[-1])

    def _check_kept(self, entry: Entry, name: str) -> None:
        """A commit must not name a file that is not there."""
        try:
            found = os.stat(entry.file, dir_fd=self._data.handle, follow_symlinks=False).st_size
        except FileNotFoundError:
            found = None
        if found != entry.bytes:
            file = self._data.path / entry.file
            raise CorruptIndexError(
                f"{file} ({name}) cannot be kept: it is missing or cut short; build the index again"
            )

    def _sync_way(self) -> None:
        """Before the first commit: the way to it. Who made these folders may have been killed before a sync."""
        self._files.sync(self._root)
        try:
            parent = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._root.handle)
        except PermissionError:  # one may be allowed to use a folder, but not to open it
            return
        try:
            self._files.sync(Opened(real_path(self._path).parent, parent))
        finally:
            os.close(parent)

    def _publish(self, manifest: Manifest) -> Manifest:
        """Write the manifest, then give it its number: the step that makes the commit."""
        number, temporary = manifest.commit.number, f"{uuid.uuid4().hex}.partial"
        name, content = manifest_name(number), encode(manifest)
        manifest = decode(content, self._manifests.path / name, number)  # as readers will have it
        try:
            self._write_manifest(temporary, content)
            if max(numbers(self._root), default=0) >= number:
                raise self._stale(number)
            self._give_number(temporary, name, number, content)
            self._files.sync(self._manifests)
        except BaseException as error:
            if self._same(temporary, name) or self._last == number:
                self._take_back(number, error)
            raise
        finally:
            with suppress(OSError):
                self._files.unlink(self._manifests, temporary)
        return manifest

    def _take_back(self, number: int, error: BaseException) -> None:
        """Remove a manifest that is not known to be on the disk. Its number is spent: somebody may have read it."""
        self._last = number
        try:
            self._files.unlink(self._manifests, manifest_name(number))
            self._files.sync(self._manifests)
        except OSError:
            if isinstance(error, OSError):
                raise StorageError(
                    f"cannot write {self._path}: {reason(error)}; nor could version {number} be taken back: "
                    "open the folder again to see whether it is there"
                ) from error

    def _give_number(self, temporary: str, name: str, number: int, content: bytes) -> None:
        try:
            self._files.link(self._manifests, temporary, self._manifests, name)
        except OSError as error:
            if self._same(temporary, name):
                return  # done all the same: over a network, the answer to the first attempt may be lost
            if isinstance(error, FileExistsError):
                raise self._stale(number) from None
            if error.errno not in _NO_LINKS:
                raise
            # Without links: a new file of that name. While it is cut short, readers take the version before it.
            try:
                with created(self._files, self._manifests, name) as file:
                    self._last = number
                    self._files.write(file, memoryview(content))
            except FileExistsError:
                raise self._stale(number) from None

    def _write_manifest(self, name: str, content: bytes) -> None:
        with created(self._files, self._manifests, name) as file:
            self._files.write(file, memoryview(content))

    def _stale(self, number: int) -> ConflictError:
        return ConflictError(
            f"another writer has committed version {number} of {self._path} since this one opened version "
            f"{number - 1}; nothing was written: open it again, and repeat the change"
        )

    def _exists(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._manifests.handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError:
            pass
        return True

    def _same(self, one: str, other: str) -> bool:
        """Whether two names are of one file."""
        try:
            known = [os.stat(name, dir_fd=self._manifests.handle, follow_symlinks=False) for name in (one, other)]
        except OSError:
            return False
        return os.path.samestat(*known)


def _check_arrays(values: Mapping[str, Array | Kept | Written]) -> None:
    for name, value in values.items():
        if not name:
            raise InputError("the name of an array must have at least one letter, got ''")
        if not isinstance(value, (Kept, Written)) and not storable(value.dtype):
            raise StorageError(f"{name} holds {value.dtype}; an index folder can hold numbers and strings only")


def _locked(files: Files, root: Opened, timeout: float) -> Opened:
    end = time.monotonic() + timeout
    while True:
        try:
            return files.lock(root, LOCK)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise ConflictError(
                    f"{root.path} is being written by another process or thread; try again when it is done, "
                    "or wait for it with timeout="
                ) from None
            time.sleep(_PAUSE)
