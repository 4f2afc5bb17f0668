"""Asks the process that reads HDF5 files, and believes nothing of the answer but its bytes."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from longwave.errors import FileError, MissingExtraError
from longwave.files.bounded import check_growth, check_regular, most_bytes
from longwave.types import Array

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_TYPE = re.compile(r"[<>|=][biufcSUV][0-9]+")
# Of the JSON: names and texts of a file, escaped, are no longer than this many times the file.
_WORDS = 16


class Dataset(NamedTuple):
    """An array that has not been read. dtype: None of references, lists and text of any length. matlab: its class."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    text: bool
    matlab: str


@dataclass(frozen=True)
class Reader:
    """A process that reads one file, or several. Make it with `open_reader`."""

    process: subprocess.Popen[bytes]
    questions: IO[bytes]
    answers: IO[bytes]

    def listing(self, path: Path) -> dict[str, Dataset]:
        """The arrays of a file by their paths in it."""
        found, _ = self._ask(path, "listing", None)
        return {name: Dataset(tuple(shape), _dtype(kind), *rest) for name, (shape, kind, *rest) in found.items()}

    def read(self, path: Path, names: list[str], *, errors: str = "strict") -> list[Array]:
        """Arrays by their paths; text of any length becomes numpy's. errors: for text that is not UTF-8."""
        found, arrays = self._ask(path, "read", [names, errors])
        return [_text(path, part) if "text" in part else arrays[part["array"]] for part in found]

    def attribute(self, path: Path, name: str) -> str | None:
        """A text attribute of the file, None where there is none."""
        found, _ = self._ask(path, "attribute", name)
        return found if found is None else str(found)

    def matlab(self, path: Path, only: str | None) -> dict[str, Any]:
        """Variables of MATLAB v7.3: structs are dicts, cells lists; only: the one to read, the others are None."""
        found, arrays = self._ask(path, "matlab", only)
        return dict(_filled(found, [array.T for array in arrays]))  # stored by columns

    def _ask(self, path: Path, ask: str, what: Any) -> tuple[Any, list[Array]]:
        size = check_regular(path)
        asked = {"path": str(path.absolute()), "ask": ask, "what": what, "most": most_bytes(size)}
        try:
            self.questions.write(json.dumps(asked).encode("ascii") + b"\n")
            self.questions.flush()
            length = int.from_bytes(_exactly(self.answers, 8), "little")
            if length > (1 << 20) + _WORDS * size:
                raise EOFError(f"an answer of {length} bytes")
            said = json.loads(_exactly(self.answers, length))
            arrays = [_array(self.answers, shape, kind, most_bytes(size)) for shape, kind in said.get("arrays", ())]
        except (OSError, EOFError, ValueError, TypeError, RecursionError) as error:
            self.close()
            raise _damaged(path, "the library of HDF5 fails, or does not come to an end") from error
        if "error" in said:
            raise _damaged(path, str(said["error"])[:200])
        return said["content"], arrays

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def open_reader(path: Path, *, extra: str = "files") -> Iterator[Reader]:
    """A process that reads HDF5, for as long as it is needed: it takes a quarter of a second to begin."""
    if importlib.util.find_spec("h5py") is None:
        raise MissingExtraError(f"reading {path}", extra)
    command = [sys.executable, "-P", str(Path(__file__).with_name("answering.py"))]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing) as process:
        assert process.stdin is not None  # they are pipes
        assert process.stdout is not None
        reader = Reader(process, process.stdin, process.stdout)
        try:
            yield reader
        finally:
            reader.close()


def _damaged(path: Path, reason: str) -> FileError:
    return FileError(
        f"{path} cannot be read as {path.suffix.lower()} ({reason}); "
        "it is cut short, altered or of another format: write or download it again"
    )


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError("the process has ended")
    return found


def _dtype(kind: str) -> np.dtype[Any] | None:
    return np.dtype(kind) if _TYPE.fullmatch(kind) else None


def _array(stream: IO[bytes], shape: list[int], kind: str, most: int) -> Array:
    dtype = _dtype(kind)
    if dtype is None or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > most:
        raise ValueError(f"an array of {kind}, {shape}")
    array: Array = np.empty(shape, dtype)
    space = array.reshape(-1).view(np.uint8)
    if space.size and stream.readinto(space.data) < space.size:  # type: ignore[attr-defined]
        raise EOFError("the process has ended")
    return array


def _text(path: Path, part: dict[str, Any]) -> Array:
    check_growth(path, 4 * len(part["text"]) * max(map(len, part["text"]), default=0))
    return np.array(part["text"], dtype=str).reshape(part["shape"])


def _filled(content: Any, arrays: list[Array]) -> Any:
    """The content with arrays in their places."""
    if isinstance(content, list):
        return [_filled(part, arrays) for part in content]
    if not isinstance(content, dict):
        return content
    if "array" in content:
        return arrays[content["array"]]
    return {name: _filled(part, arrays) for name, part in content["struct"].items()}
