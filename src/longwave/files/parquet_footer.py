"""How many values a Parquet file announces, from its footer, before anything is unpacked.

pyarrow knows it too, but asking it for the columns of a damaged footer ends the process. The footer is written in
Thrift's compact protocol; the numbers below are those of `parquet.thrift`: 3 rows and 4 row groups of the file, 1
columns of a group, 3 metadata of a column, 5 its number of values, 6 their bytes before compression.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from longwave.files.bounded import open_regular

_TAIL = b"PAR1"
_DEPTH = 16


def announced_bytes(path: Path) -> int:
    """Bytes of all columns in memory, at eight for each value; ValueError where the footer is damaged."""
    with open_regular(path) as file:
        return announced(file).n_bytes


class Announced(NamedTuple):
    """What a footer says: rows, pieces of columns, bytes of all columns in memory, where the footer begins."""

    rows: int
    pieces: int
    n_bytes: int
    start: int


def announced(file: BinaryIO) -> Announced:
    """What the footer of an open file says; ValueError where it is damaged."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    length, tail = int.from_bytes(file.read(4), "little"), file.read(4)
    if tail != _TAIL or length > size - 8:
        raise ValueError("it does not end as a Parquet file does")
    file.seek(size - 8 - length)
    footer = _Compact(file.read(length)).struct()
    try:
        columns = [column[3] for group in footer[4] for column in group[1]]
        n_bytes = sum(8 * max(0, column[5]) + max(0, column[6]) for column in columns)
        return Announced(int(footer[3]), len(columns), n_bytes, size - 8 - length)
    except (LookupError, TypeError) as error:
        raise ValueError("its footer does not list its columns") from error


class _Compact:
    """Values in Thrift's compact protocol: a struct is a dict by the numbers of its fields."""

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.at = 0

    def take(self, size: int) -> memoryview:
        if size > len(self.data) - self.at:
            raise ValueError("its footer is cut short")
        self.at += size
        return self.data[self.at - size : self.at]

    def whole(self) -> int:
        """A number of seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("its footer has a number of more than 64 bits")

    def signed(self) -> int:
        value = self.whole()
        return value >> 1 ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found, number = {}, 0
        while kind := (head := self.take(1)[0]) & 0x0F:
            number = number + (head >> 4) if head >> 4 else self.signed()
            found[number] = kind == 1 if kind in (1, 2) else self.value(kind, depth)  # truth is in the type
        return found

    def value(self, kind: int, depth: int) -> Any:
        if depth > _DEPTH:
            raise ValueError("its footer is nested too deeply")
        if kind in (1, 2, 3):
            return self.take(1)[0]
        if kind in (4, 5, 6):
            return self.signed()
        if kind in (7, 8):
            return bytes(self.take(8 if kind == 7 else self.whole()))
        if kind in (9, 10):
            head = self.take(1)[0]
            count = self.whole() if head >> 4 == 15 else head >> 4
            return [self.value(head & 0x0F, depth + 1) for _ in range(self.checked(count))]
        if kind == 11:
            count = self.whole()
            kinds = self.take(1)[0] if count else 0
            pairs = range(self.checked(count))
            return [(self.value(kinds >> 4, depth + 1), self.value(kinds & 0x0F, depth + 1)) for _ in pairs]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"its footer has a value of the unknown type {kind}")

    def checked(self, count: int) -> int:
        """Every value takes a byte at least."""
        if count > len(self.data) - self.at:
            raise ValueError("its footer has a list longer than itself")
        return count
