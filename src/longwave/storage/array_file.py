"""One array and its file: a `.npy` of version 1.0, C order, whose header is compared as text and never evaluated."""

from __future__ import annotations

import io
import math
import mmap
import os
import re
import uuid
import zlib
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from longwave.errors import CorruptIndexError
from longwave.storage.disk import Files, Opened, created
from longwave.storage.manifest import Entry
from longwave.storage.opening import opened_file
from longwave.types import Array

#: Files up to this size are read whole and compared with their checksums by every load: some milliseconds in all.
SMALL = 1 << 20
_CHUNK = 1 << 22
_MAGIC = b"\x93NUMPY\x01\x00"


def new_name(name: str) -> str:
    """A file name that no other array has or had. The name of the array in it is for people."""
    return f"{re.sub('[^a-z0-9_]', '', name.lower())[:40]}-{uuid.uuid4().hex[:16]}.npy"


def write_array(files: Files, folder: Opened, file: str, array: Array) -> Entry:
    """Write an array to a new file, which is on the disk when this returns."""
    array = np.asarray(array, order="C")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    content, checksum = array.reshape(-1).view(np.uint8), zlib.crc32(header.getvalue())
    with created(files, folder, file) as opened:
        files.write(opened, memoryview(header.getvalue()))
        for start in range(0, len(content), _CHUNK):
            chunk = content[start : start + _CHUNK].data
            checksum = zlib.crc32(chunk, checksum)
            files.write(opened, chunk)
    return Entry(file, array.shape, array.dtype.str, len(header.getvalue()) + len(content), checksum)


def read_array(folder: Opened, name: str, entry: Entry, verify: bool) -> Array:
    """The array of a file, read-only; a large one as a memory map.

    Size, shape and type are always compared with the manifest, before anything is allocated. So is the checksum of a
    small file and of a string of bytes (uint8, one axis: what another library will parse); of others with `verify`.
    On POSIX systems a map stays valid when the name of its file is removed.
    """
    file, dtype, size = folder.path / entry.file, np.dtype(entry.dtype), entry.bytes
    again = "copy it again, or build the index again"
    try:
        with opened_file(folder, entry.file) as opened:
            found = os.fstat(opened.fileno()).st_size
            if found != size:
                raise CorruptIndexError(f"{file} ({name}) has {found:,} bytes instead of {size:,}; {again}")
            content = opened.read(size) if size <= SMALL else None
            if verify or content is not None or (dtype == np.uint8 and len(entry.shape) == 1):
                known = zlib.crc32(content) if content is not None else _checksum(opened)
                if known != entry.crc32:
                    raise CorruptIndexError(f"{file} ({name}) was altered: its checksum differs; {again}")
            buffer: Any = content
            if content is None:
                buffer = mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ)
                _advise(buffer, "RANDOM")  # the header alone, and not the megabytes behind it
    except FileNotFoundError:
        raise CorruptIndexError(
            f"{folder.path} lacks {entry.file} ({name}); copy the whole folder, or build the index again"
        ) from None
    except ValueError as error:  # cut short since
        raise CorruptIndexError(f"{file} ({name}) cannot be mapped: {error}; build the index again") from error
    start = _header_length(buffer, entry.shape, dtype)
    if content is None:
        _advise(buffer, "NORMAL")
    if start is None or start + math.prod(entry.shape) * dtype.itemsize != size:
        raise CorruptIndexError(
            f"{file} ({name}) does not have the shape or type its manifest states; build the index again"
        )
    try:
        array: Array = np.ndarray(entry.shape, dtype, buffer, start)
        text = dtype.kind != "U" or not array.nbytes or _is_text(array)
    except (ValueError, TypeError, OverflowError) as error:
        raise CorruptIndexError(f"{file} ({name}) is not a readable array: {error}; build the index again") from error
    if not text:
        raise CorruptIndexError(f"{file} ({name}) holds something that is not text; {again}")
    return array


def _advise(mapped: mmap.mmap, how: str) -> None:
    """Tell the system how a map will be read, where it listens: "RANDOM", or "NORMAL" with much around each place."""
    if hasattr(mapped, "madvise"):  # not on Windows
        with suppress(OSError):
            mapped.madvise(getattr(mmap, f"MADV_{how}"))


def _is_text(array: Array) -> bool:
    points = array.reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return bool(points.max() <= 0x10FFFF)


def _header_length(buffer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int | None:
    """Bytes of a `.npy` header of this shape and type, in C order; None where it is not that header."""
    length = len(_MAGIC) + 2 + int.from_bytes(buffer[len(_MAGIC) : len(_MAGIC) + 2], "little")
    said = bytes(buffer[len(_MAGIC) + 2 : length])
    expected = repr({"descr": dtype.str, "fortran_order": False, "shape": shape})
    same = said.replace(b", }", b"}").rstrip() == expected.encode()  # numpy leaves a comma
    return length if buffer[: len(_MAGIC)] == _MAGIC and same and length % 64 == 0 else None


def _checksum(file: BinaryIO) -> int:
    value = 0
    while chunk := file.read(_CHUNK):
        value = zlib.crc32(chunk, value)
    return value
