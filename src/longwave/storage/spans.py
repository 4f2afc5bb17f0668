"""An array that many write: a file of the index folder whose rows come from several processes or machines.

One process makes the file, with its header and its size. Each of the others writes its own rows, and says the checksum
of what it wrote. Checksums of neighbours are joined, so nobody reads the file again. It is of no version until a commit
names it (`Written`).
"""

from __future__ import annotations

import io
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longwave.storage.array_file import new_name
from longwave.storage.disk import DISK, Files, Opened, created
from longwave.storage.manifest import Entry
from longwave.types import Array

# x³² + x²⁶ + … + 1, the polynomial of CRC-32, lowest bit last.
_POLYNOMIAL = 0xEDB88320


@dataclass(frozen=True)
class Written:
    """In place of an array: a file in `data` that others have written."""

    entry: Entry

    @property
    def nbytes(self) -> int:
        """Nothing is to be written any more."""
        return 0


@dataclass(frozen=True)
class Span:
    """A file under way. path: of the file; start: bytes of its header; row: bytes of one row."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    start: int
    row: int
    header: int

    def written(self, checksums: Sequence[tuple[int, int]]) -> Written:
        """The file as a commit takes it. checksums: what `write_rows` has said, in the order of the rows."""
        value, size = self.header, self.start
        for own, count in checksums:
            value, size = joined(value, own, count), size + count
        expected = self.start + math.prod(self.shape) * np.dtype(self.dtype).itemsize
        if size != expected:
            raise ValueError(f"{self.path} has {size:,} bytes of {expected:,}")
        return Written(Entry(Path(self.path).name, self.shape, self.dtype, size, value))


def make_span(folder: Opened, name: str, shape: tuple[int, ...], dtype: Any, files: Files = DISK) -> Span:
    """Make the file, empty of rows, in an open folder."""
    header, file, kind = io.BytesIO(), new_name(name), np.dtype(dtype)
    said = {"descr": kind.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, said)
    content = header.getvalue()
    row = math.prod(shape[1:]) * kind.itemsize
    with created(files, folder, file) as opened:
        files.write(opened, memoryview(content))
        os.ftruncate(opened.handle, len(content) + shape[0] * row)
    path = str(folder.path.resolve() / file)
    return Span(path, shape, kind.str, len(content), row, zlib.crc32(content))


def write_rows(span: Span, first: int, rows: Array) -> tuple[int, int]:
    """Write rows from row `first` on, safe from a loss of power; their checksum and bytes."""
    content = np.ascontiguousarray(rows, dtype=span.dtype).reshape(-1).view(np.uint8).data
    handle = os.open(span.path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        place, left = span.start + first * span.row, content
        while len(left):
            count = os.pwrite(handle, left, place)
            place, left = place + count, left[count:]
        os.fsync(handle)
    finally:
        os.close(handle)
    return zlib.crc32(content), len(content)


def joined(first: int, second: int, length: int) -> int:
    """The CRC-32 of two strings one after the other, from those of each and the bytes of the second.

    Bytes of zeros after a string multiply its checksum, as a polynomial, by x⁸ for each; squares make this quick.
    """
    power, factor, bits = 1 << 31, 1 << 30, 8 * length  # 1, x
    while bits:
        if bits & 1:
            power = _times(power, factor)
        factor, bits = _times(factor, factor), bits >> 1
    return _times(first, power) ^ second


def _times(one: int, other: int) -> int:
    """The product of two polynomials modulo that of CRC-32; the highest power is the lowest bit."""
    product = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            product ^= other
        other = (other >> 1) ^ (_POLYNOMIAL if other & 1 else 0)
    return product
