"""Pickles of plain data, read without running anything in them: numbers, text, lists, dicts, numeric arrays."""

from __future__ import annotations

import io
import pickle
import re
import struct
import sys
from os import PathLike
from typing import Any, ClassVar, Literal

import numpy as np

from longwave.errors import FileError
from longwave.files.bounded import open_regular
from longwave.types import Array

# numpy's names of truth values, integers, floats and text; never objects.
_CODE = re.compile(r"[<>=|]?[biufUS][0-9]{0,9}")
# A file may hold the same list in several places. Unfolded it may have so many parts and bytes, and as many more as
# eight times its own.
_ALWAYS, _GROWTH = 1 << 20, 8
_DEPTH = 100
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


class _Dtype:
    """Stands for numpy's dtype while a pickle is read."""

    def __init__(self, code: Any, *_: Any) -> None:
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            raise pickle.UnpicklingError(f"an array of type {str(code)[:40]!r}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">", "=", "|"):
            self.dtype = self.dtype.newbyteorder(state[1])


class _Placeholder:
    """Stands for numpy's array while a pickle is read: what it is made of, not yet made."""

    def __init__(self, *_: Any) -> None:
        self.data: Any = b""
        self.kind = np.dtype(float)
        self.shape: Any = (0,)
        self.order: Literal["C", "F"] = "C"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, kind, by_columns, self.data = state
        if not isinstance(kind, _Dtype) or not isinstance(self.data, bytes | bytearray | str):
            raise pickle.UnpicklingError("an array that is not of plain numbers or text")
        self.kind, self.order = kind.dtype, "F" if by_columns else "C"

    def array(self) -> Array:
        """A copy of the bytes as an array."""
        return np.frombuffer(_bytes(self.data), self.kind).reshape(self.shape, order=self.order).copy(order="K")


def _bytes(data: Any) -> Any:
    return data.encode("latin1") if isinstance(data, str) else data  # Python 2 wrote text


def _from_buffer(data: Any, kind: Any, shape: Any, order: Any) -> _Placeholder:
    made = _Placeholder()
    made.__setstate__((1, shape, kind, order == "F", data))
    return made


def _key(value: Any) -> Any:
    """What can be looked up at once: the hash of nested tuples may take for ever."""
    parts = value if isinstance(value, tuple) and len(value) <= _DEPTH else (value,)
    if not all(isinstance(part, _SIMPLE) for part in parts):
        raise pickle.UnpicklingError("a key that is not text, a number or a short tuple of these")
    return value


# What numpy's own pickles call, by every name it has had, and what is called here in its place: a function or a class,
# or the name of a method of the reader.
_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Placeholder,
    ("builtins", "set"): "_set",
    ("__builtin__", "set"): "_set",
    ("_codecs", "encode"): "_encoded",
}
for _core in ("numpy.core", "numpy._core"):
    _STAND_INS[_core + ".multiarray", "_reconstruct"] = _Placeholder
    _STAND_INS[_core + ".multiarray", "scalar"] = "_scalar"
    _STAND_INS[_core + ".numeric", "_frombuffer"] = _from_buffer


class _Reader(pickle._Unpickler):
    """The reader that is written in Python: unlike the compiled one it reserves no memory on the word of the file."""

    stack: list[Any]
    read: Any
    append: Any
    pop_mark: Any
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self.left = _ALWAYS + _GROWTH * len(content)

    def find_class(self, module: str, name: str) -> Any:
        found = _STAND_INS.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return getattr(self, found) if isinstance(found, str) else found

    def _spend(self, parts: Any, kinds: type[Any] | tuple[type[Any], ...]) -> None:
        """Raise unless these are of the kinds expected, and few: what is copied may be held in many places."""
        if not isinstance(parts, kinds):
            raise pickle.UnpicklingError(f"something made of {type(parts).__name__}")
        self.left -= len(parts)
        if self.left < 0:
            raise pickle.UnpicklingError("the same parts again and again")

    def _scalar(self, kind: Any, data: Any) -> Any:
        self._spend(data, (bytes, str))
        if not isinstance(kind, _Dtype):
            raise pickle.UnpicklingError("a numpy number that is not plain")
        return np.frombuffer(_bytes(data), kind.dtype, count=1)[0].item()

    def _set(self, members: Any = ()) -> set[Any]:
        self._spend(members, (list, tuple))
        return set(map(_key, members))

    def _encoded(self, text: Any, _: Any) -> bytes:
        """How Python 3 writes bytes for Python 2."""
        self._spend(text, str)
        return bytes(_bytes(text))

    def _load_dict(self) -> None:
        parts = self.pop_mark()
        self.append({_key(name): value for name, value in zip(parts[::2], parts[1::2], strict=True)})

    def _load_item(self) -> None:
        value, name = self.stack.pop(), self.stack.pop()
        self._into(dict)[_key(name)] = value

    def _load_items(self) -> None:
        parts = self.pop_mark()
        self._into(dict).update({_key(name): value for name, value in zip(parts[::2], parts[1::2], strict=True)})

    def _load_members(self) -> None:
        members = self.pop_mark()
        self._into(set).update(map(_key, members))

    def _load_frozen(self) -> None:
        self.append(frozenset(map(_key, self.pop_mark())))

    def _load_bytearray(self) -> None:
        (size,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(min(size, sys.maxsize))))  # no more than the file has

    def _load_state(self) -> None:
        state, made = self.stack.pop(), self.stack[-1]
        if not isinstance(made, _Dtype | _Placeholder):
            raise pickle.UnpicklingError("something other than an array that is given a state")
        made.__setstate__(state)

    def _into(self, kind: type[Any]) -> Any:
        if type(self.stack[-1]) is not kind:
            raise pickle.UnpicklingError(f"members of something other than a {kind.__name__}")
        return self.stack[-1]

    dispatch.update(
        {
            pickle.DICT[0]: _load_dict,
            pickle.SETITEM[0]: _load_item,
            pickle.SETITEMS[0]: _load_items,
            pickle.ADDITEMS[0]: _load_members,
            pickle.FROZENSET[0]: _load_frozen,
            pickle.BYTEARRAY8[0]: _load_bytearray,
            pickle.BUILD[0]: _load_state,
        }
    )
    # What plain data have no use for: classes without their arguments, and things outside of the file.
    for _unused in ("INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "NEXT_BUFFER"):
        del dispatch[getattr(pickle, _unused)[0]]


def read_plain_pickle(path: str | PathLike[str]) -> Any:
    """What a pickle holds, if that is plain data: dicts, lists, tuples, sets, text, bytes, numbers, numeric arrays.

    Nothing of the file is called or imported: numpy's arrays are put together here from their bytes. The rest is
    refused, and so is what has more than 100 levels, or unfolds to more than eight times the size of its file.
    """
    try:
        with open_regular(path) as stream:
            content = stream.read()
        value = _Reader(content).load()
        if _weight(value, {}) > _ALWAYS + _GROWTH * len(content):
            raise pickle.UnpicklingError("lists that hold the same lists again and again")
        return _plain(value)
    except pickle.UnpicklingError as error:
        raise FileError(
            f"{path} holds something other than plain data ({error}) or is damaged; it was not loaded, as a pickle can "
            "run any program: ask for the data as .json, .npz or .mat"
        ) from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # an altered program fails in every way: there is no common root
        raise FileError(f"{path} is not a whole pickle ({type(error).__name__}: {str(error)[:60]})") from error


def _weight(value: Any, known: dict[int, int], depth: int = 0) -> int:
    """Parts and bytes once unfolded, each list counted as often as it is held. known: by id, 0 while it is counted."""
    if isinstance(value, _Placeholder):
        return 1 + len(value.data)
    if isinstance(value, bytearray):
        return 1 + len(value)
    if not isinstance(value, dict | list | tuple | set | frozenset):
        return 1
    if known.get(id(value)) == 0 or depth == _DEPTH:
        raise pickle.UnpicklingError(f"lists in lists, more than {_DEPTH} deep or without end")
    if id(value) not in known:
        known[id(value)] = 0
        parts = [*value.values()] if isinstance(value, dict) else value
        known[id(value)] = 1 + len(parts) + sum(_weight(part, known, depth + 1) for part in parts)
    return known[id(value)]


def _plain(value: Any) -> Any:
    """The same with arrays in place of their stand-ins."""
    if isinstance(value, _Placeholder):
        return value.array()
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(_plain(entry) for entry in value)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, _SIMPLE):
        return value
    raise pickle.UnpicklingError(type(value).__name__)
