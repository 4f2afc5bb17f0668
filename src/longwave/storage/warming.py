"""Reads the files of an index into memory behind the back of those who opened it.

Arrays are memory maps, so what a search needs is read when it is touched. The system then reads as much around each
place as it thinks fit: 8 MB here, 128 kB there. Either the first search reads nearly everything, in the worst order, or
the next hundred searches wait for the disk again and again. In order, and at once, a disk takes a second for 2 GB.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from longwave.errors import StorageError
from longwave.storage.array_file import SMALL, advise
from longwave.storage.disk import Opened
from longwave.storage.manifest import Entry
from longwave.storage.opening import opened_file
from longwave.types import Array

# Bytes of an index from which it is worth a thread.
_WORTH = 1 << 26
# Of the memory of the machine: a larger index is left to the system.
_MOST = 0.25
# What one call asks for: the thread holds nothing while it waits.
_CHUNK = 1 << 23


def announce(folder: Opened, entries: Iterable[Entry]) -> None:
    """Say which small files will be read, one after the other: the disk looks for many at a time."""
    for entry in entries:
        if entry.bytes <= SMALL and hasattr(os, "posix_fadvise"):
            _ask_for(entry.file, folder)


def warm(folder: Opened, held: Sequence[tuple[Entry, Array]]) -> threading.Thread | None:
    """Have the files of mapped arrays read, by a thread that nobody waits for; None where that is not worth it.

    Numbers that are places come first, since `load` checks all of them. Meanwhile a touched page of the others is read
    alone, so that a search is not kept waiting for what lies around it. held: file and array of each.
    """
    based: list[tuple[str, Array, Any]] = [(entry.file, array, array.base) for entry, array in held]
    mapped = [one for one in based if isinstance(one[2], mmap.mmap)]
    size = sum(array.nbytes for _, array, _ in mapped)
    if not hasattr(os, "posix_fadvise") or not _WORTH <= size <= _MOST * _memory():
        return None
    mapped.sort(key=lambda one: one[1].dtype.kind != "i" or one[1].dtype.itemsize == 1)
    maps = [base for _, array, base in mapped if array.dtype.kind == "f" or array.dtype.itemsize == 1]
    names, own = [name for name, _, _ in mapped], Opened(folder.path, os.dup(folder.handle))
    for base in maps:
        advise(base, "RANDOM")

    def work() -> None:
        try:
            for name in names:
                _ask_for(name, own)
        finally:
            os.close(own.handle)
            for base in maps:
                advise(base, "NORMAL")

    thread = threading.Thread(target=work, name="longwave-warming", daemon=True)
    thread.start()
    return thread


def _ask_for(name: str, folder: Opened) -> None:
    try:
        with opened_file(folder, name) as file:
            for start in range(0, os.fstat(file.fileno()).st_size, _CHUNK):
                os.posix_fadvise(file.fileno(), start, _CHUNK, os.POSIX_FADV_WILLNEED)
    except (FileNotFoundError, StorageError):  # whoever reads it will say so; maps of a removed file stay
        pass


def _memory() -> int:
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
