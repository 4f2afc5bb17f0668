"""Removes files that no version of an index needs any more. Only the holder of the lock does so."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from longwave.errors import CorruptIndexError, InputError, NotAnIndexError
from longwave.storage.disk import Files, Opened
from longwave.storage.manifest import DATA_NAME, Manifest
from longwave.storage.opening import OLD_MANIFEST, manifest_name, names, numbers
from longwave.storage.reading import load_manifest

#: A manifest that has no number yet.
PARTIAL_NAME = re.compile(r"[0-9a-f]{32}\.partial")


@dataclass(frozen=True)
class Vacuumed:
    """What a vacuum removed: manifests, other files, and their bytes."""

    manifests: int
    files: int
    bytes: int


def clean(files: Files, root: Opened, manifests: Opened, data: Opened, *, keep: int, grace: float) -> Vacuumed:
    """Remove old versions, and files that no remaining version names.

    The newest `keep` whole versions stay. An older one goes when it has been replaced by the next for `grace` seconds;
    files that nobody names, when they are that old. No file goes before the removal of its manifests is on the disk,
    and none at all while a manifest remains that cannot be read, since nobody knows what it names.
    """
    if type(keep) is not int or keep < 1 or not grace >= 0:
        raise InputError(f"keep must be at least 1 and grace at least 0 seconds, got {keep!r} and {grace!r}")
    now = time.time()
    known = [0, *numbers(root)]
    whole, unreadable = _load_all(root, known)
    kept = set(sorted(whole)[-keep:])
    ages = {number: now - _time(manifests, manifest_name(number)) for number in known[1:]}
    gone = {
        number
        for number, after in pairwise(known)
        if number not in kept and number < max(whole, default=0) and ages[after] >= grace
    }
    # A manifest that a killed writer numbered may not be on the disk yet. It must be, before those it replaces go.
    files.sync(manifests)
    removed = [_remove(files, manifests, manifest_name(number)) for number in sorted(gone - {0})]
    partial = [name for name in names(manifests) if PARTIAL_NAME.fullmatch(name)]
    others = [_remove(files, manifests, name) for name in partial if now - _time(manifests, name) >= grace]
    files.sync(manifests)
    if not unreadable - gone:
        named = {entry.file for n in set(whole) - gone if n for entry in whole[n].entries.values()}
        unnamed = [name for name in names(data) if DATA_NAME.fullmatch(name) and name not in named]
        others += [_remove(files, data, name) for name in unnamed if now - _time(data, name) >= grace]
        files.sync(data)
    if 0 in gone and 0 in whole:
        # The manifest last: a vacuum that was stopped finds the others by it again.
        others += [_remove(files, root, entry.file) for entry in whole[0].entries.values()]
        files.sync(root)
        others.append(_remove(files, root, OLD_MANIFEST))
    return Vacuumed(
        sum(size is not None for size in removed), sum(s is not None for s in others), _sum(removed + others)
    )


def _load_all(root: Opened, known: list[int]) -> tuple[dict[int, Manifest], set[int]]:
    """The manifests that are whole, and the numbers of those that are not."""
    whole, unreadable = {}, set()
    for number in known:
        try:
            whole[number] = load_manifest(root, number)
        except FileNotFoundError:
            continue  # only the manifest of versions 2 and 3
        except (CorruptIndexError, NotAnIndexError):
            unreadable.add(number)
    return whole, unreadable - {0}


def _time(folder: Opened, name: str) -> float:
    """When a file was written; now where it is gone."""
    try:
        return os.stat(name, dir_fd=folder.handle, follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return time.time()


def _remove(files: Files, folder: Opened, name: str) -> int | None:
    """Remove a plain file. Its bytes, or None where there was none."""
    with suppress(FileNotFoundError):
        known = os.stat(name, dir_fd=folder.handle, follow_symlinks=False)
        if stat.S_ISREG(known.st_mode):
            files.unlink(folder, name)
            return known.st_size
    return None


def _sum(sizes: list[int | None]) -> int:
    return sum(size for size in sizes if size is not None)
