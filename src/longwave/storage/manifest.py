"""The manifest of an index folder: what it says, as values; to bytes and back.

A manifest is JSON. It is whole if its own checksum is right, and then says of every array which file holds it, and the
shape, type, size and checksum of that file. Nothing in it is trusted before it was looked at.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import CorruptIndexError, InputError, NewerIndexError, NotAnIndexError, StorageError

FORMAT = "longwave index"
FORMAT_VERSION = 4
#: Versions 2 and 3 are one `manifest.json` and the arrays beside it; version 2 has no checksum of the manifest.
OLDEST_VERSION = 2
#: A manifest is kilobytes; one beyond this is not read, and not written.
MANIFEST_BYTES = 1 << 28
_SEAL = "sha256"
# Types that can be stored: bool, numbers, strings, times.
_DTYPE = re.compile(r"[<>|][biufcSUmM]\d{1,9}(\[\w+\])?")
#: Names that a writer gives to the file of an array: a hint for people, and what makes it unique.
DATA_NAME = re.compile(r"[a-z0-9_]{0,40}-[0-9a-f]{16}\.npy")


@dataclass(frozen=True)
class Commit:
    """One version: its number, that of the version it was made from, when (UTC), and the writer's words.

    checksum: of the manifest. Two manifests that differ in anything differ in it.
    """

    number: int
    parent: int | None
    time: datetime | None
    message: str
    checksum: str


@dataclass(frozen=True)
class Entry:
    """The file of an array, in `data` (of versions 2 and 3: in the folder itself), and what it must be."""

    file: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Manifest:
    """A whole manifest. Its number is 0 where it is of format version 2 or 3."""

    commit: Commit
    facts: Mapping[str, Any]
    entries: Mapping[str, Entry]


def plain(value: Any) -> Any:
    """A number of numpy as JSON can hold it: `default` of `json.dumps`."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is nothing that JSON can hold")


def storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be stored: numbers and strings, no objects."""
    return bool(_DTYPE.fullmatch(dtype.str)) and not dtype.hasobject


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest, with a checksum of what it says."""
    commit = manifest.commit
    said = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "number": commit.number,
        "parent": commit.parent,
        "time": None if commit.time is None else commit.time.isoformat(),
        "message": commit.message,
        "facts": dict(manifest.facts),
        "arrays": {name: vars(entry) | {"shape": list(entry.shape)} for name, entry in manifest.entries.items()},
    }
    try:
        said = dict(json.loads(json.dumps(said, default=plain)))
        content = json.dumps({**said, _SEAL: _seal(said)}, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"facts must be what JSON can hold: numbers, texts, lists and dicts ({error})") from error
    if len(content) > MANIFEST_BYTES:
        raise StorageError(
            f"the manifest would have {len(content):,} bytes, more than {MANIFEST_BYTES:,}; "
            "attach less, or attach arrays"
        )
    return content


def decode(content: bytes, file: Path, number: int) -> Manifest:
    """What the bytes of a manifest say, if it is whole and of this number; 0 is that of versions 2 and 3."""
    said, seal = _parse(content, file, number)
    version = said["format_version"]
    if not number and version < OLDEST_VERSION:
        raise StorageError(
            f"{file.parent} has format version {version}, written by an earlier Longwave; this one reads version "
            f"{OLDEST_VERSION} to {FORMAT_VERSION}: build the index again"
        )
    if (version == FORMAT_VERSION) != (number > 0):
        raise CorruptIndexError(f"{file} has format version {version}, which does not belong there; copy it again")
    entries = {name: _entry(name, known, file, number) for name, known in said["arrays"].items()}
    if number == 0:
        facts = {key: value for key, value in said.items() if key not in ("format", "format_version", "arrays")}
        return Manifest(Commit(0, None, None, "", seal), facts, entries)
    parent, time, message, told = (said.get(key) for key in ("parent", "time", "message", "facts"))
    if said.get("number") != number:
        raise CorruptIndexError(f"{file} is the manifest of version {said.get('number')!r}; copy it again")
    try:
        when = None if time is None else datetime.fromisoformat(time)
    except (TypeError, ValueError):
        raise CorruptIndexError(f"{file} has no time but {time!r}; copy it again") from None
    if not (parent is None or type(parent) is int) or not isinstance(message, str) or not isinstance(told, dict):
        raise CorruptIndexError(f"{file} lacks its parent, message or facts; build the index again")
    return Manifest(Commit(number, parent, when, message, seal), told, entries)


def is_ours(content: bytes) -> bool:
    """Whether it is a manifest of an index, of any version, whole or not."""
    try:
        said = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.get("format") == FORMAT


def _parse(content: bytes, file: Path, number: int) -> tuple[dict[str, Any], str]:
    """The parts that every version has, looked at; and the checksum, compared."""
    damaged = f"{file} is cut short or altered; copy it again, or build the index again"
    if len(content) > MANIFEST_BYTES:
        raise CorruptIndexError(damaged)
    try:
        said = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise CorruptIndexError(damaged) from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        if number:
            raise CorruptIndexError(damaged)
        raise NotAnIndexError(f"{file.parent} is not a Longwave index: its {file.name} belongs to another program")
    version = said.get("format_version")
    if type(version) is not int or not isinstance(said.get("arrays"), dict):
        raise CorruptIndexError(f"{file} lacks its version or its list of arrays; build the index again")
    if version > FORMAT_VERSION:
        raise NewerIndexError(
            f"{file} has format version {version}, this Longwave reads up to {FORMAT_VERSION}; "
            "upgrade with: pip install -U longwave"
        )
    seal = said.pop(_SEAL, None)
    try:
        known = _seal(said)
    except RecursionError:
        raise CorruptIndexError(damaged) from None
    if seal != known and (seal is not None or version > 2):
        raise CorruptIndexError(damaged)
    return said, known


def _seal(said: Mapping[str, Any]) -> str:
    """The checksum of what a manifest says, however it is spaced."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _entry(name: str, said: Any, manifest: Path, number: int) -> Entry:
    """What a manifest says of an array, if that makes sense: no size below 0, no type but plain ones, no odd path."""
    known = said if isinstance(said, dict) else {}
    shape, dtype = known.get("shape"), known.get("dtype")
    counts = [*(shape if isinstance(shape, list) else [None]), known.get("bytes"), known.get("crc32")]
    file = known.get("file") if number else f"{name}.npy"
    sound = isinstance(dtype, str) and _is_type(dtype) and all(type(n) is int and n >= 0 for n in counts)
    if number:
        sound = sound and isinstance(file, str) and bool(DATA_NAME.fullmatch(file))
    else:
        sound = sound and _is_file_name(name)
    if not sound:
        raise CorruptIndexError(f"{manifest} does not describe {name!r} as an array; build the index again")
    return Entry(str(file), tuple(counts[:-2]), str(dtype), counts[-2], counts[-1])


def _is_file_name(name: str) -> bool:
    """Whether a file beside the manifest can have this name: no path, nothing hidden, nothing that no system takes."""
    try:
        length = len(f"{name}.npy".encode())
    except UnicodeEncodeError:
        return False
    return bool(name) and length < 256 and not name.startswith(".") and "/" not in name and "\0" not in name


def _is_type(text: str) -> bool:
    try:
        return bool(_DTYPE.fullmatch(text)) and np.dtype(text).str == text
    except (TypeError, ValueError):
        return False
