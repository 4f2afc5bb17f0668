"""Pickles of plain data, read without running anything in them: numbers, text, lists, dicts, numeric arrays."""

from __future__ import annotations

import pickle
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import FileError
from longwave.types import Array

_KINDS = "biufUS"  # of numpy: truth values, integers, floats, text; never objects


class _Dtype:
    """Stands for numpy's dtype while a pickle is read."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.dtype = np.dtype(code) if isinstance(code, str) else np.dtype(object)
        if self.dtype.kind not in _KINDS:
            raise pickle.UnpicklingError(f"an array of type {str(code)[:40]!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">", "=", "|"):
            self.dtype = self.dtype.newbyteorder(state[1])


class _Placeholder:
    """Stands for numpy's array while a pickle is read; keeps the bytes and gives a copy of them as an array."""

    array: Array

    def __init__(self, *_: Any) -> None:
        self.array = np.zeros(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, by_columns, data = state
        if not isinstance(kind, _Dtype) or not isinstance(data, bytes | str):
            raise pickle.UnpicklingError("an array that is not of plain numbers or text")
        raw = data.encode("latin1") if isinstance(data, str) else data  # Python 2 wrote text
        self.array = np.frombuffer(raw, kind.dtype).reshape(shape, order="F" if by_columns else "C").copy()


def _scalar(kind: Any, data: Any) -> Any:
    if not isinstance(kind, _Dtype) or not isinstance(data, bytes | str):
        raise pickle.UnpicklingError("a number of numpy's that is not plain")
    raw = data.encode("latin1") if isinstance(data, str) else data
    return np.frombuffer(raw, kind.dtype, count=1)[0].item()


def _from_buffer(data: Any, kind: Any, shape: Any, order: Any) -> _Placeholder:
    made = _Placeholder()
    made.__setstate__((1, shape, kind, order == "F", bytes(data)))
    return made


# What numpy's own pickles call, by every name it has had, and what is called here in its place.
_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Placeholder,
    ("builtins", "set"): set,
    ("__builtin__", "set"): set,
    ("_codecs", "encode"): lambda text, _: text.encode("latin1"),  # how Python 3 writes bytes for Python 2
}
for _core in ("numpy.core", "numpy._core"):
    _STAND_INS[_core + ".multiarray", "_reconstruct"] = _Placeholder
    _STAND_INS[_core + ".multiarray", "scalar"] = _scalar
    _STAND_INS[_core + ".numeric", "_frombuffer"] = _from_buffer


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _STAND_INS:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _STAND_INS[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("a reference to something outside of the file")


def read_plain_pickle(path: str | PathLike[str]) -> Any:
    """What a pickle holds, if that is plain data: dicts, lists, tuples, sets, text, bytes, numbers, numeric arrays.

    Nothing of the file is called or imported: numpy's arrays are put together here from their bytes. The rest is
    refused.
    """
    try:
        with Path(path).open("rb") as stream:
            return _plain(_Reader(stream, encoding="latin1").load(), Path(path))
    except pickle.UnpicklingError as error:
        raise FileError(
            f"{path} holds something other than plain data ({error}) or is damaged; it was not loaded, as a pickle can "
            "run any program: ask for the data as .json, .npz or .mat"
        ) from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise FileError(f"{path} is not a whole pickle ({type(error).__name__}: {str(error)[:60]})") from error


def _plain(value: Any, path: Path) -> Any:
    """The same with arrays in place of their stand-ins."""
    if isinstance(value, _Placeholder):
        return value.array
    if isinstance(value, dict):
        return {_plain(key, path): _plain(entry, path) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(_plain(entry, path) for entry in value)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return value
    raise pickle.UnpicklingError(type(value).__name__)
