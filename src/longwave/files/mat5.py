"""MATLAB files up to v7, read element by element: scipy's compiled reader ends the process on some altered files.

A file is a sequence of elements, each a tag (type, number of bytes) and its content. A variable is an element whose
content is elements again: flags, dimensions, name and the numbers; cells and structs have variables inside. v4 files
have a plain header before each matrix. Every size is compared with what is left before anything is made of it.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from longwave.files.bounded import check_growth
from longwave.types import Array

_INT8, _UINT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 2, 5, 6, 14, 15
#: numpy's letters of the types of elements, and those of text.
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = {16: "utf-8", 17: "utf-16", 18: "utf-32", 4: "utf-16", 2: "latin-1", 1: "latin-1"}
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 16: "function", 17: "opaque"}
_NUMERIC = {
    **{6: "double", 7: "single", 8: "int8", 9: "uint8", 10: "int16"},
    **{11: "uint16", 12: "int32", 13: "uint32", 14: "int64", 15: "uint64"},
}
_LOGICAL, _COMPLEX = 0x200, 0x800
# Cells in cells, and dimensions of one array.
_DEPTH, _DIMENSIONS = 32, 32
# Of a compressed variable, to know its name: flags, dimensions and a name of 63 letters.
_HEAD = 1024
_V4 = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}


class Variable(NamedTuple):
    """A variable that has not been read. kind: MATLAB's word for its class, or logical, or complex. at: its bytes.

    storage: of the numbers of a v4 file.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    at: slice
    storage: str = ""


@dataclass
class _Parts:
    """Elements one after the other. order: of bytes, < or >."""

    data: memoryview
    order: str
    at: int = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> memoryview:
        if not 0 <= size <= self.left:
            raise ValueError(f"an element of {size} bytes where {self.left} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def tag(self) -> tuple[int, int]:
        kind, size = struct.unpack(self.order + "II", self.take(8))
        return kind, size

    def element(self) -> tuple[int, memoryview]:
        """Type and content of the next element; up to four bytes may be in the tag itself."""
        kind, size = self.tag()
        if kind >> 16:
            size, kind = kind >> 16, kind & 0xFFFF
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
            return kind, self.data[self.at - 4 : self.at - 4 + size]
        content = self.take(size)
        if kind != _COMPRESSED:
            self.take(min(-size % 8, self.left))  # to a multiple of eight
        return kind, content

    def numbers(self, *expected: int) -> Array:
        kind, content = self.element()
        if kind not in (expected or _NUMBERS):
            raise ValueError(f"an element of type {kind} in the place of numbers")
        dtype = np.dtype(self.order + _NUMBERS[kind])
        return np.frombuffer(content, dtype)


class _Head(NamedTuple):
    code: int
    kind: str
    shape: tuple[int, ...]
    name: str


def _head(parts: _Parts) -> _Head:
    """What every variable begins with."""
    flags = parts.numbers(_UINT32)
    if len(flags) < 2:
        raise ValueError("a variable without flags")
    code, bits = int(flags[0]) & 0xFF, int(flags[0])
    kind = _CLASSES.get(code) or _NUMERIC.get(code, "unknown")
    if code == 17:  # its dimensions are of another form
        return _Head(code, kind, (), bytes(parts.numbers(_INT8, _UINT8)).decode("latin-1"))
    shape = tuple(int(n) for n in parts.numbers(_INT32, _UINT32))
    if not 1 < len(shape) <= _DIMENSIONS or min(shape) < 0:
        raise ValueError(f"a variable of the shape {shape[:_DIMENSIONS]}")
    kind = "logical" if bits & _LOGICAL else "complex" if bits & _COMPLEX and code in _NUMERIC else kind
    return _Head(code, kind, shape, bytes(parts.numbers(_INT8, _UINT8)).decode("latin-1"))


def _value(parts: _Parts, depth: int = 0) -> Any:
    """The next variable inside of another."""
    kind, content = parts.element()
    if kind != _MATRIX:
        raise ValueError(f"an element of type {kind} in the place of a variable")
    return _content(_Parts(content, parts.order), depth) if len(content) else np.zeros((0, 0))


def _content(parts: _Parts, depth: int) -> Any:
    if depth > _DEPTH:
        raise ValueError(f"cells in cells, more than {_DEPTH} deep")
    head = _head(parts)
    count = math.prod(head.shape)
    if head.kind == "cell":
        cells = [_value(parts, depth + 1) for _ in range(_checked(count, 8, parts))]
        if 1 in head.shape or not cells:
            return cells
        return [cells[row :: head.shape[0]] for row in range(head.shape[0])]  # they are stored by columns
    if head.kind in ("struct", "object"):
        if head.kind == "object":
            parts.element()  # the name of its class
        length = int(parts.numbers(_INT32)[:1].sum())
        packed = bytes(parts.numbers(_INT8, _UINT8))
        names = [
            packed[i : i + length].split(b"\0")[0].decode("latin-1") for i in range(0, len(packed), max(1, length))
        ]
        if not names and count > 1:
            raise ValueError(f"{count:,} structs without fields")
        entries = [
            {name: _value(parts, depth + 1) for name in names} for _ in range(_checked(count, 8 * len(names), parts))
        ]
        return entries[0] if len(entries) == 1 else entries
    if head.kind == "char":
        return _text(parts, head.shape)
    if head.code not in _NUMERIC:
        return None  # sparse matrices, functions, objects of other forms
    found = _filled(parts.numbers(), count)
    if head.kind == "complex":
        found = found + 1j * _filled(parts.numbers(), count)
    elif head.kind == "logical":
        found = found.astype(bool)
    else:  # MATLAB stores whole doubles as smaller integers
        with np.errstate(invalid="ignore", over="ignore"):  # numbers that do not fit into the class
            found = found.astype(_NUMERIC[head.code])
    return found.reshape(head.shape, order="F")


def _checked(count: int, least: int, parts: _Parts) -> int:
    if count * least > parts.left:
        raise ValueError(f"{count:,} cells in {parts.left:,} bytes")
    return count


def _filled(numbers: Array, count: int) -> Array:
    if len(numbers) != count:
        raise ValueError(f"{len(numbers):,} numbers where {count:,} are announced")
    return numbers


def _text(parts: _Parts, shape: tuple[int, ...]) -> str:
    """The first row."""
    if not parts.left:
        return ""
    kind, content = parts.element()
    if kind not in _TEXTS:
        raise ValueError(f"text of the type {kind}")
    order = {"<": "-le", ">": "-be"}[parts.order] if _TEXTS[kind] in ("utf-16", "utf-32") else ""
    whole = bytes(content).decode(_TEXTS[kind] + order)
    return whole[:: max(1, shape[0])]  # by columns


class MatFile:
    """The variables of a file, by name. Raises ValueError or zlib.error for what is damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = np.memmap(path, np.uint8, mode="r").data
        self._old = 0 in bytes(self._data[:4])
        if not self._old and bytes(self._data[126:128]) not in (b"IM", b"MI"):
            raise ValueError("it does not begin as a .mat file does")
        self._order = "<" if bytes(self._data[126:128]) == b"IM" else ">"
        found = self._matrices() if self._old else self._elements()
        self.variables = {variable.name: variable for variable in found}

    def read(self, name: str) -> Any:
        """A variable: an array, text, a list of cells, a dict of a struct or a list of these; None of other classes."""
        variable = self.variables[name]
        if self._old:
            return self._matrix(variable)
        kind, content = _Parts(self._data[variable.at], self._order).element()
        if kind == _COMPRESSED:
            content = self._unpacked(content)
        return _content(_Parts(content, self._order), 0)

    def _elements(self) -> list[Variable]:
        parts, found = _Parts(self._data, self._order, 128), []
        while parts.left:
            begin = parts.at
            kind, content = parts.element()
            if kind == _COMPRESSED:
                inner = _Parts(memoryview(zlib.decompressobj().decompress(content, _HEAD)), self._order)
                kind, _ = inner.tag()
            else:
                inner = _Parts(content, self._order)
            if kind != _MATRIX:
                raise ValueError(f"an element of type {kind} in the place of a variable")
            head = _head(inner)
            if head.name:  # what has no name is MATLAB's own
                found.append(Variable(head.name, head.shape, head.kind, slice(begin, parts.at)))
        return found

    def _unpacked(self, content: memoryview) -> memoryview:
        """The variable in a compressed element."""
        stream = zlib.decompressobj()
        _, size = _Parts(memoryview(stream.decompress(content, 8)), self._order).tag()
        check_growth(self._path, size)
        made = stream.decompress(stream.unconsumed_tail, size + 8)
        if len(made) < size or not stream.eof:  # at the end the checksum is compared
            raise ValueError(f"{len(made):,} bytes are unpacked where {size:,} are announced")
        return memoryview(made)[:size]

    def _matrices(self) -> list[Variable]:
        """Of a v4 file."""
        first = bytes(self._data[:4]).ljust(4, b"\xff")
        self._order = "<" if 0 <= struct.unpack("<i", first)[0] < 1000 else ">"
        parts, found = _Parts(self._data, self._order), []
        while parts.left:
            code, rows, columns, imaginary, length = struct.unpack(self._order + "5i", parts.take(20))
            storage, kind = code // 10 % 100, code % 10
            if code // 1000 != (self._order == ">") or storage not in _V4 or kind > 2 or min(rows, columns, length) < 0:
                raise ValueError(f"a matrix of the code {code}")
            name = bytes(parts.take(length)).split(b"\0")[0].decode("latin-1")
            begin = parts.at
            parts.take(rows * columns * np.dtype(_V4[storage]).itemsize * (2 if imaginary else 1))
            word = ("complex" if imaginary else "double", "char", "sparse")[kind]
            found.append(Variable(name, (rows, columns), word, slice(begin, parts.at), self._order + _V4[storage]))
        return found

    def _matrix(self, variable: Variable) -> Any:
        """Of a v4 file: every number is a double."""
        numbers = np.frombuffer(self._data[variable.at], variable.storage)
        if variable.kind == "char":
            return "".join(chr(int(code)) for code in numbers[:: max(1, variable.shape[0])])
        if variable.kind == "sparse":
            return None
        if variable.kind == "complex":
            numbers = numbers[: len(numbers) // 2] + 1j * numbers[len(numbers) // 2 :]
            return numbers.reshape(variable.shape, order="F")
        return numbers.astype("f8").reshape(variable.shape, order="F")
