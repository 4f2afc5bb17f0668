"""What a picture was described from: size, time and checksum of its file, by which it is known again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longwave.errors import CorruptIndexError
from longwave.files.bounded import open_regular
from longwave.types import Array

#: The array by which an index knows the files of its pictures.
NAME = "picture_files"
# Nanoseconds. What was written so short a time ago may be written again without another time: file systems count in
# steps of up to two seconds.
_JUST_NOW = 2 * 10**9
_CHUNK = 1 << 20


class FileState(NamedTuple):
    """size in bytes. time: of the last change, in nanoseconds; −1 where that says nothing. sums: of the content."""

    size: int
    time: int
    sums: tuple[int, int]

    def is_as_it_was(self, found: os.stat_result) -> bool:
        """Whether a file has this size and time: then nobody has written to it."""
        return (self.size, self.time) == (found.st_size, found.st_mtime_ns)

    def same_content(self, other: FileState) -> bool:
        """Whether two files hold the same."""
        return (self.size, self.sums) == (other.size, other.sums)


def state_of(path: str | Path) -> FileState:
    """Read a file; OSError where that cannot be done."""
    content = hashlib.blake2b(digest_size=16)
    with open_regular(path) as file:
        found = os.fstat(file.fileno())
        while chunk := file.read(_CHUNK):
            content.update(chunk)
    sure = found.st_mtime_ns < time.time_ns() - _JUST_NOW
    return FileState(found.st_size, found.st_mtime_ns if sure else -1, _numbers(content.digest()))


def pack_states(states: Mapping[str, FileState]) -> NDArray[np.int64]:
    """States by path, for an array that is kept with an index: a checksum of the path, then the state. (N, 6)"""
    rows = [(*_key(path), state.size, state.time, *state.sums) for path, state in states.items()]
    return np.array(rows, dtype=np.int64).reshape(-1, 6)


def unpack_states(attached: Mapping[str, Array], paths: Iterable[str]) -> dict[str, FileState]:
    """What is known of the files of some pictures; nothing of those that an earlier version of Longwave described."""
    table = attached.get(NAME, np.zeros((0, 6), dtype=np.int64))
    if table.ndim != 2 or table.shape[1] != 6 or table.dtype != np.int64:
        raise CorruptIndexError(f"{NAME} is {table.shape} {table.dtype}, not six whole numbers for each picture")
    known = {(row[0], row[1]): FileState(row[2], row[3], (row[4], row[5])) for row in table.tolist()}
    found = {path: known.get(_key(path)) for path in paths}
    return {path: state for path, state in found.items() if state is not None}


def rows_of(states: Iterable[FileState | None]) -> NDArray[np.int64]:
    """States as plain numbers. (N, 4); a size of −1 where there is none"""
    rows = [(-1, -1, 0, 0) if state is None else (state.size, state.time, *state.sums) for state in states]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def states_from(rows: Array) -> list[FileState | None]:
    """What `rows_of` has made plain."""
    return [FileState(row[0], row[1], (row[2], row[3])) if row[0] >= 0 else None for row in rows.tolist()]


def matched(known: Mapping[str, FileState], found: Mapping[str, FileState]) -> dict[str, str]:
    """Known pictures, and the file that has the content of each now; of several one of the same name, if there is."""
    files = _by_content(found)
    pairs: dict[str, str] = {}
    for content, pictures in _by_content(known).items():
        same = files.get(content, [])
        named: dict[str, list[str]] = {}
        for path in reversed(same):
            named.setdefault(PurePosixPath(path).name, []).append(path)
        own = {old: named[name].pop() for old in pictures if named.get(name := PurePosixPath(old).name)}
        taken = set(own.values())
        left = zip((old for old in pictures if old not in own), (p for p in same if p not in taken), strict=False)
        pairs |= own | dict(left)
    return pairs


def _by_content(states: Mapping[str, FileState]) -> dict[tuple[int, tuple[int, int]], list[str]]:
    found: dict[tuple[int, tuple[int, int]], list[str]] = {}
    for path in sorted(states):
        found.setdefault((states[path].size, states[path].sums), []).append(path)
    return found


def _key(path: str) -> tuple[int, int]:
    """A checksum of a path: as long for every path."""
    return _numbers(hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=16).digest())


def _numbers(digest: bytes) -> tuple[int, int]:
    one, two = (int.from_bytes(half, "little", signed=True) for half in (digest[:8], digest[8:]))
    return one, two
