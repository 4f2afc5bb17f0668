"""Reads the files of an index into memory behind the back of those who opened it.

Arrays are memory maps, so what a search needs is read when it is touched. The system then reads as much around each
place as it thinks fit: 8 MB here, 128 kB there. Either the first search reads nearly everything, in the worst order, or
the next hundred searches wait for the disk again and again. In order, a disk takes a second for 2 GB.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from longwave.errors import StorageError
from longwave.machine import machine_memory
from longwave.storage.array_file import SMALL
from longwave.storage.disk import Opened
from longwave.storage.manifest import Entry
from longwave.storage.opening import opened_file
from longwave.types import Array

# Bytes of an index from which it is worth a thread.
_WORTH = 1 << 26
# Of the memory: a larger index is left to the system.
_MOST = 0.25
# What one call reads, without the interpreter lock.
_CHUNK = 1 << 26


def announce(folder: Opened, entries: Iterable[Entry]) -> None:
    """Say which small files will be read, one after the other: the disk looks for many at a time."""
    if not hasattr(os, "posix_fadvise"):
        return
    for entry in entries:
        if entry.bytes <= SMALL:
            # What is wrong with a file is said by whoever reads it.
            with suppress(OSError, StorageError), opened_file(folder, entry.file) as file:
                os.posix_fadvise(file.fileno(), 0, entry.bytes, os.POSIX_FADV_WILLNEED)


def warm(folder: Opened, held: Sequence[tuple[Entry, Array]]) -> threading.Thread | None:
    """Have the files of mapped arrays read, by a thread that nobody waits for; None where that is not worth it.

    Numbers that are places come first, since `load` checks all of them. held: file and array of each.
    """
    based: list[tuple[Entry, Array, Any]] = [(entry, array, array.base) for entry, array in held]
    mapped = [(entry, array) for entry, array, base in based if isinstance(base, mmap.mmap)]
    size, limit = sum(entry.bytes for entry, _ in mapped), machine_memory()
    if limit is None or not _WORTH <= size <= _MOST * limit or not hasattr(os, "sendfile"):
        return None
    mapped.sort(key=lambda one: one[1].dtype.kind != "i" or one[1].dtype.itemsize == 1)
    entries = [entry for entry, _ in mapped]
    try:
        own = Opened(folder.path, os.dup(folder.handle))
    except OSError:  # no more files may be open
        return None
    thread = threading.Thread(target=_read_all, args=(own, entries), name="longwave-warming", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads may be started
        os.close(own.handle)
        return None
    return thread


def _read_all(folder: Opened, entries: Sequence[Entry]) -> None:
    """Read files to nowhere, which leaves them in the memory of the system. The folder is closed in the end."""
    try:
        # A system that sends files to sockets alone; a folder that was removed.
        with suppress(OSError, StorageError), Path(os.devnull).open("wb", buffering=0) as nowhere:
            for entry in entries:
                _read(folder, entry, nowhere.fileno())
    finally:
        os.close(folder.handle)


def _read(folder: Opened, entry: Entry, nowhere: int) -> None:
    try:
        with opened_file(folder, entry.file) as file:
            for start in range(0, entry.bytes, _CHUNK):
                if not os.sendfile(nowhere, file.fileno(), start, min(_CHUNK, entry.bytes - start)):
                    return
    except FileNotFoundError:  # removed by a vacuum; its map stays
        return
