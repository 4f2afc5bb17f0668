"""Files of others, opened with care: regular files only, and no size believed before the file can hold it."""

from __future__ import annotations

import io
import json
import lzma
import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError

# What is compressed, or left out as all alike, may become this many times as large as its file, and may always have
# 256 MiB. Vectors of real data shrink to a third at best; a file of 40 kB that unfolds to 40 GB is a trap.
_GROWTH, _ALWAYS = 64, 1 << 28
# numpy reads no longer header.
_MOST_HEADER = 10_000
# What the library of zip files raises on damaged ones; RuntimeError: a password, NotImplementedError: a method.
_ZIP_ERRORS = (BadZipFile, zlib.error, lzma.LZMAError, EOFError, LookupError, OverflowError, RuntimeError, struct.error)
# Of a file that is read as one text.
_MOST_TEXT = 1 << 31


class NpyHeader(NamedTuple):
    """What the head of an .npy file says: shape, type and order, and where the numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    start: int

    @property
    def n_bytes(self) -> int:
        """Of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def check_regular(path: str | os.PathLike[str]) -> int:
    """Raise a FileError that says why unless the path is a regular file or a link to one; its size in bytes."""
    try:
        found = Path(path).stat()
    except FileNotFoundError as error:
        raise FileError(f"no such file: {path}; check the path") from error
    except (OSError, ValueError) as error:  # ValueError: a null byte
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path} cannot be opened ({reason}); check its name and permissions") from error
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{path} is a directory; give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{path} is a pipe, a socket or a device, not a file; write its content to a file first")
    return found.st_size


class _Whole(io.BufferedReader):
    """A file of which no more is asked for than there is: a read sets aside what was asked for, before it reads."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > io.DEFAULT_BUFFER_SIZE:
            size = min(size, max(0, os.fstat(self.fileno()).st_size - self.tell()))
        return super().read(size)


@contextmanager
def open_regular(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[BinaryIO]:
    """The file open for reading; OSError if it is anything but a regular file, or a link where these are not followed.

    Never waits: a pipe is refused, not opened.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a regular file")
    with _Whole(io.FileIO(handle)) as stream:
        yield stream


def read_json(path: str | os.PathLike[str], *, follow: bool = True) -> Any:
    """What a JSON file holds; OSError or ValueError where it cannot be read, however it is damaged."""
    with open_regular(path, follow=follow) as stream:
        if os.fstat(stream.fileno()).st_size > _MOST_TEXT:
            raise ValueError("it is larger than 2 GiB")
        try:
            return json.loads(stream.read().decode("utf-8"))
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error


def most_bytes(size: int) -> int:
    """How much a file of so many bytes may unfold to."""
    return max(_ALWAYS, _GROWTH * size)


def check_growth(path: str | os.PathLike[str], n_bytes: int) -> None:
    """Raise unless arrays of so many bytes can be meant by this file."""
    size = Path(path).stat().st_size
    if n_bytes > most_bytes(size):
        raise FileError(
            f"{path} has {size:,} bytes but announces {n_bytes:,}; at most {_GROWTH} times the size of a file is "
            "unpacked: it is damaged, or save it as .npy"
        )


def npy_header(stream: IO[bytes]) -> NpyHeader:
    """Read the header at the beginning of a stream; ValueError for whatever is wrong with it."""
    head = stream.read(8)
    if head[:6] != b"\x93NUMPY" or head[6:] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise ValueError("it does not begin as an .npy file does")
    counted = stream.read(2 if head[6] == 1 else 4)
    length = int.from_bytes(counted, "little")
    if length > _MOST_HEADER:
        raise ValueError(f"its header announces {length:,} bytes, more than {_MOST_HEADER:,}")
    whole = io.BytesIO(counted + stream.read(length))
    # 3.0 differs from 2.0 in the names of fields, which are refused anyway
    read = np.lib.format.read_array_header_1_0 if head[6] == 1 else np.lib.format.read_array_header_2_0
    try:
        shape, by_columns, dtype = read(whole)
        found = NpyHeader(tuple(map(int, shape)), dtype, bool(by_columns), len(head) + len(counted) + length)
    except Exception as error:  # numpy evaluates the header as Python: tokenizer, parser and dtype raise their own
        raise ValueError(f"its header is not a numpy header ({' '.join(str(error).split())[:80]})") from error
    if min(found.shape, default=0) < 0 or found.n_bytes >= 1 << 63:
        raise ValueError(f"its header has the impossible shape {found.shape}")
    return found


def mapped_npy(path: Path, header: NpyHeader) -> np.memmap[Any, Any]:
    """The numbers of an .npy file in place, read-only."""
    order = "F" if header.by_columns else "C"
    return np.memmap(path, header.dtype, mode="r", offset=header.start, shape=header.shape, order=order)  # type: ignore[call-overload, no-any-return]


@contextmanager
def open_npz(path: Path) -> Iterator[tuple[ZipFile, dict[str, NpyHeader]]]:
    """The archive and the headers of its arrays, by name; OSError or ValueError for whatever is wrong with it."""
    try:
        with open_regular(path) as stream, ZipFile(stream) as archive:
            headers = {}
            for member in archive.namelist():
                if member.endswith(".npy"):
                    with archive.open(member) as part:
                        headers[member.removesuffix(".npy")] = npy_header(part)
            yield archive, headers
    except _ZIP_ERRORS as error:
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from error


def read_npz(path: Path, name: str) -> NDArray[Any]:
    """One array of an .npz; OSError or ValueError where it is damaged, FileError where it would unfold to too much."""
    with open_npz(path) as (archive, headers):
        header = headers[name]
        if archive.getinfo(f"{name}.npy").file_size != header.start + header.n_bytes:
            raise ValueError(f"{name} does not have the {header.n_bytes:,} bytes that it announces")
        check_growth(path, header.n_bytes)
        with archive.open(f"{name}.npy") as part:
            array: NDArray[Any] = np.lib.format.read_array(part, allow_pickle=False)
            part.read()  # to the end, where the checksum is compared
    return array


def read_npy(path: Path) -> NDArray[Any]:
    """An .npy file in memory; OSError or ValueError where it is damaged, or not of numbers or text."""
    with open_regular(path) as stream:
        header = npy_header(stream)
        if header.dtype.hasobject:
            raise ValueError("it holds Python objects, which are never unpickled")
        if header.n_bytes > os.fstat(stream.fileno()).st_size - header.start:
            raise ValueError(f"it does not have the {header.n_bytes:,} bytes that its header announces")
        numbers = np.fromfile(stream, header.dtype, header.n_bytes // max(1, header.dtype.itemsize))
    return numbers.reshape(header.shape, order="F" if header.by_columns else "C")
