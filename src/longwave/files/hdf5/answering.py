"""The process that reads HDF5 files: started by `asking`, on its own, with numpy and h5py alone.

A question is a line of JSON; the answer is a length, JSON, and the bytes of the arrays in it. Arrays go out block by
block, so this process needs little memory however large they are. Links to other files are not followed.
"""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np

# Beyond what the file takes: memory of this process, its processor time, and levels of cells in cells.
_MEMORY, _SECONDS, _DEPTH = 1 << 30, 5, 32
# A second of processor time more for so many bytes: gzip alone takes a fifth of that.
_BYTES_A_SECOND = 4 << 20
_BLOCK = 1 << 24
_LISTED = 100_000
# Bytes that a cell takes in any file, and that a letter takes here.
_CELL, _LETTER = 256, 16


class Answer:
    """What is said of a file. most: bytes of all arrays together."""

    def __init__(self, file: Any, most: int) -> None:
        self.file = file
        self.most = self.left = most
        self.parts: list[Any] = []

    def listing(self, _: Any) -> dict[str, list[Any]]:
        """Shape, type, whether it is text, and MATLAB's class, of every array by its path."""
        found: dict[str, list[Any]] = {}

        def note(name: str, node: Any) -> None:
            if len(found) > _LISTED:
                raise ValueError(f"it has more than {_LISTED:,} arrays")
            if isinstance(node, h5py.Dataset):
                text = h5py.check_string_dtype(node.dtype) is not None
                found[name] = [node.shape or (), node.dtype.str, text, _class(node)]

        self.file.visititems(note)
        return found

    def read(self, what: tuple[list[str], str]) -> list[Any]:
        """Arrays by their paths, and what becomes of text that is not UTF-8."""
        names, errors = what
        return [self._array(self._own(self.file, name), errors) for name in names]

    def attribute(self, name: str) -> str | None:
        """A text of the file itself."""
        found = self.file.attrs.get(name)
        return found if found is None or isinstance(found, str) else str(found, "utf-8")

    def matlab(self, only: str | None) -> dict[str, Any]:
        """Variables of MATLAB v7.3, all or one, as JSON with arrays in it: structs, cells, text, matrices."""
        names = [name for name in self.file if not name.startswith("#")]
        wanted = [only] if only in names else names
        found = {name: self._matlab(self._own(self.file, name)) if name in wanted else None for name in names}
        return {"struct": found}

    def _own(self, group: Any, name: str) -> Any:
        """What is under a name, if it is in this very file."""
        place = group
        for part in name.split("/"):
            if not isinstance(place.get(part, getlink=True), h5py.HardLink):
                raise ValueError(f"{name[:40]} is a link to another place")
            place = place[part]
        return place

    def _matlab(self, node: Any, depth: int = 0) -> Any:
        self._spend(_CELL)  # cells may hold each other
        if depth > _DEPTH:
            raise ValueError(f"it has cells in cells, more than {_DEPTH} deep")
        if not isinstance(node, h5py.Dataset):
            parts = {name: self._own(node, name) for name in node}
            fields = {name: self._matlab(part, depth + 1) for name, part in parts.items()}
            # A struct array keeps a reference for each entry in every field; only true cells say that they are.
            many = all(_is_references(part) and "MATLAB_class" not in part.attrs for part in parts.values())
            rows = zip(*fields.values(), strict=True) if many else ()
            return [{"struct": dict(zip(fields, row, strict=True))} for row in rows] if many else {"struct": fields}
        if _is_references(node):
            self._check(node)
            cells = node[()].ravel(order="F")
            if not all(isinstance(cell, h5py.Reference) for cell in cells):
                raise ValueError("cells that are not references")
            return [self._matlab(self.file[cell], depth + 1) for cell in cells]
        if node.attrs.get("MATLAB_empty", 0):
            return {"array": self._part(np.zeros((0, 0)))}
        if _class(node) == "char":
            self._check(node)
            self._spend(_LETTER * node.size)
            return "".join(map(chr, node[()].ravel(order="F")))
        return {"array": self._part(node)}

    def _array(self, node: Any, errors: str) -> Any:
        if not isinstance(node, h5py.Dataset):
            raise ValueError("a group in the place of an array")
        if node.dtype.kind != "O":
            return {"array": self._part(node)}
        self._check(node)
        texts = np.ravel(node.asstr("utf-8", errors)[()]).tolist()
        self._spend(_LETTER * sum(map(len, texts)))
        return {"text": texts, "shape": node.shape}

    def _part(self, array: Any) -> int:
        self._check(array)
        self.parts.append(array)
        return len(self.parts) - 1

    def _check(self, array: Any) -> None:
        """Raise before anything is allocated that the file cannot hold, or that is not in it."""
        if isinstance(array, h5py.Dataset) and (array.is_virtual or array.external):
            raise ValueError("its numbers are in another file")
        if math.prod(getattr(array, "chunks", None) or ()) * array.dtype.itemsize > self.most:
            raise ValueError(f"it announces chunks of the shape {array.chunks}, more than it can hold")
        self._spend(math.prod(array.shape or ()) * array.dtype.itemsize)

    def _spend(self, n_bytes: int) -> None:
        self.left -= n_bytes
        if self.left < 0:
            raise ValueError(f"it announces more than {self.most:,} bytes, which it cannot hold")

    def shapes(self) -> list[Any]:
        """Of the arrays that follow."""
        return [[part.shape or (), part.dtype.str] for part in self.parts]

    def write(self, stream: IO[bytes]) -> None:
        """The bytes of the arrays, by rows."""
        for part in self.parts:
            rows = part.shape[0] if part.shape else 1
            step = max(1, _BLOCK // max(1, part.dtype.itemsize * math.prod(part.shape[1:])))
            chunk = (getattr(part, "chunks", None) or (1,))[0]
            step = max(1, chunk, step // max(1, chunk) * chunk)  # no chunk is unpacked twice
            for start in range(0, rows, step):
                block = part[start : start + step] if part.shape else part[()]
                stream.write(np.ascontiguousarray(block).tobytes())


def _is_references(node: Any) -> bool:
    return isinstance(node, h5py.Dataset) and node.dtype.kind == "O"


def _class(node: Any) -> str:
    found = node.attrs.get("MATLAB_class", b"")
    return found.decode("latin-1") if isinstance(found, bytes) else ""


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more questions."""
    for line in questions:
        asked = json.loads(line)
        _limit(Path(asked["path"]).stat().st_size)
        begun = False
        try:
            with h5py.File(asked["path"], "r") as file:
                answer = Answer(file, asked["most"])
                said = {"content": getattr(answer, asked["ask"])(asked["what"]), "arrays": answer.shapes()}
                begun = True
                _say(answers, said)
                answer.write(answers)
                answers.flush()
        except Exception as error:  # an altered file fails in every way
            if begun:  # the reader sees the end of it
                raise
            _say(answers, {"error": " ".join(str(error).split()) or type(error).__name__})


def _say(answers: IO[bytes], content: dict[str, Any]) -> None:
    text = json.dumps(content).encode("ascii")
    answers.write(len(text).to_bytes(8, "little") + text)
    answers.flush()


def _limit(size: int) -> None:
    """So much memory and processor time more, for a file of so many bytes."""
    with suppress(ImportError, OSError, ValueError):  # not everywhere
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(used.ru_utime + used.ru_stime) + _SECONDS + size // _BYTES_A_SECOND
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        memory = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY + 8 * size
        for kind, wanted in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
            _, most = resource.getrlimit(kind)
            resource.setrlimit(kind, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


if __name__ == "__main__":
    spoken = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints is no answer
    with suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin.buffer, spoken)
