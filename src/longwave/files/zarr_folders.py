"""Zarr: arrays as folders of compressed chunks, formats 2 and 3, of which no more is read than the rows asked for.

A chunk that is not there reads as zeros by the rules of Zarr, and is what a write that was broken off leaves. So rows
of zeros over a whole chunk are an error here.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError
from longwave.files.bounded import most_bytes

# What may lie between the bytes of a chunk and its numbers. Others can run programs (pickle), or are not of numbers.
_CODECS = {"bytes", "transpose", "sharding_indexed", "blosc", "gzip", "zstd", "zlib", "lz4", "lzma", "bz2"}
_CODECS |= {"shuffle", "delta", "bitround", "quantize", "fixedscaleoffset", "crc32c", "crc32", "adler32", "fletcher32"}
# Bytes that are read at a time.
_PART = 1 << 24


@contextmanager
def decoding_zarr(path: Path) -> Iterator[None]:
    """Turn whatever the library and its codecs raise into a FileError: each of them has errors of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files that are not Zarr's, and types that other libraries lack
            yield
    except (FileError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileError(
            f"{path} cannot be read as .zarr ({reason}); it is cut short, altered or no folder of Zarr: write or "
            "download it again"
        ) from error


def arrays_of(library: Any, path: Path) -> dict[str, Any]:
    """The arrays of a folder by their names in it, not read; a folder that is one array has the name ""."""
    with decoding_zarr(path):
        found = library.open(store=str(path), mode="r")
        if not hasattr(found, "members"):
            return {"": found}
        return {name: own for name, own in found.members(max_depth=None) if hasattr(own, "chunks")}


def rows_of_chunk(array: Any) -> int:
    """Rows that are stored, and so read, together."""
    return max(1, int((array.shards or array.chunks)[0]))


def codecs_of(array: Any) -> list[str]:
    """The steps from numbers to bytes, by name."""
    known = array.metadata.to_dict()
    steps = [*(known.get("codecs") or ()), *(known.get("filters") or ()), known.get("compressor")]
    return [name.removeprefix("numcodecs.") for name in _names(step for step in steps if step is not None)]


def check_codecs(path: Path, array: Any) -> None:
    """Raise unless every step from bytes to numbers is a plain one."""
    names = codecs_of(array)
    for name in names:
        if name not in _CODECS:
            raise FileError(f"{path} is packed by {name!r}, which is not read; write it with zstd, blosc or gzip")
    if "blosc" in names[:-1]:  # only what is a file by itself can be checked before
        raise FileError(f"{path} is packed by blosc inside of {names[0]}, which is not read; write it with zstd")


def check_size(path: Path, array: Any) -> None:
    """Raise unless the folder can hold what the array, or one of its chunks, announces."""
    size, _ = stored(path)
    outer = array.shards or array.chunks
    announced = max(math.prod(array.shape), math.prod(outer)) * array.dtype.itemsize
    if announced > most_bytes(size):
        raise FileError(
            f"{path} has {size:,} bytes but announces {announced:,}: it is damaged, or not written to the end; write "
            "it again, or save it as .npy"
        )


def stored(path: Path) -> tuple[int, int]:
    """Bytes of all files of a folder, and the time of the last change, in ns."""
    known = [(Path(folder) / name).stat() for folder, _, names in os.walk(path) for name in names]
    return sum(own.st_size for own in known), max((own.st_mtime_ns for own in known), default=0)


def _names(steps: Any) -> Iterator[str]:
    """The codecs of some steps, and of the shards inside them."""
    for step in steps:
        yield str(step.get("name", step.get("id")))
        inside = step.get("configuration") or {}
        yield from _names([*inside.get("codecs", ()), *inside.get("index_codecs", ())])


def read_rows(path: Path, array: Any, rows: slice) -> NDArray[Any]:
    """Some rows, a few chunks at a time. (m, …)"""
    start, stop, _ = rows.indices(array.shape[0])
    blosc = "blosc" in codecs_of(array)
    out = np.empty((stop - start, *array.shape[1:]), array.dtype.newbyteorder("="))
    chunk, inner = rows_of_chunk(array), max(1, int(array.chunks[0]))
    step = chunk * max(1, _PART // max(1, chunk * out.itemsize * math.prod(out.shape[1:])))
    begin = start
    while begin < stop:
        end = min(stop, (begin // step + 1) * step)
        with decoding_zarr(path):
            if blosc:
                _check_blosc(path, array, begin, end)
            part = out[begin - start : end - start]
            part[...] = array[begin:end]
        _check_written(path, part, begin, inner)
        begin = end
    return out


def _check_blosc(path: Path, array: Any, begin: int, end: int) -> None:
    """Raise unless the chunks of some rows are as long as they say: blosc reads on beyond the end of a short one."""
    height, width = array.chunks
    whole = height * width * array.dtype.itemsize
    for row in range(begin // height, -(-end // height)):
        for column in range(-(-array.shape[1] // width)):
            file = path / array.path / array.metadata.encode_chunk_key((row, column))
            if not file.is_file():
                continue
            with file.open("rb") as stream:
                head = stream.read(16)
            unpacked, packed = (int.from_bytes(head[at : at + 4], "little") for at in (4, 12))
            if packed != file.stat().st_size or unpacked != whole:
                raise ValueError(f"the chunk {file.name} is not of the length that it announces")


def _check_written(path: Path, part: NDArray[Any], begin: int, inner: int) -> None:
    """Raise where all rows of a chunk are zeros. begin: the row of the first; a chunk has `inner` rows."""
    first = begin
    while first < begin + len(part):
        last = min(begin + len(part), (first // inner + 1) * inner)
        if not part[first - begin : last - begin].any():
            raise FileError(
                f"{path}: rows {first} to {last - 1} are not there, or all zero; the array was not written to the end: "
                "write it again, or leave these rows out"
            )
        first = last
