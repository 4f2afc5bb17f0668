"""Bodies of requests: read within limits, decoded as what the route declares."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from io import BytesIO
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request

from longwave.server.problems import Problem

T = TypeVar("T", bound=msgspec.Struct)
NPY = "application/x-npy"
_CLOSE = {"Connection": "close"}
# A header of a .npy file takes 128 bytes, more where a dtype has fields; none of those has a place here.
_HEADER = 1024


async def read(request: Request, *, most: int, timeout: float) -> bytes:
    """The whole body; Problem 413 where it is larger than `most` bytes, 408 where it takes longer than `timeout` s.

    As much again is read and dropped: clients that do not listen while they send would see a broken connection.
    """
    announced = int(request.headers.get("content-length", 0))  # uvicorn has checked that it is a number
    if announced > most and "expect" in request.headers:  # the client waits for a word before it sends
        raise _too_large(most)
    whole, length = bytearray(), 0
    try:
        async with asyncio.timeout(timeout):
            async for chunk in request.stream():
                length += len(chunk)
                if max(length, announced) <= most:
                    whole += chunk
                elif length > 2 * most:
                    break
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {timeout:g} s", _CLOSE) from None
    except ClientDisconnect:
        raise Problem(400, "the body ended too early", _CLOSE) from None
    if max(length, announced) > most:
        raise _too_large(most)
    return bytes(whole)


def _too_large(most: int) -> Problem:
    return Problem(413, f"a body may have {most:,} bytes; send less at a time, or allow more with --max-body", _CLOSE)


def media_type(request: Request) -> str:
    """The type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def from_json(data: bytes, kind: type[T]) -> T:
    """A body of JSON; Problem 400 where it is none, 422 where it does not have what is asked for."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise Problem(422, f"the body does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None


def from_query(given: Mapping[str, str], kind: type[T]) -> T:
    """Query parameters; lists and objects are written as JSON. Problem 422 where they do not fit."""
    read: dict[str, Any] = {}
    for name, text in given.items():
        try:
            read[name] = msgspec.json.decode(text) if text[:1] in ("[", "{") else text
        except (msgspec.DecodeError, RecursionError) as error:
            raise Problem(422, f"the parameter '{name[:100]}' is not JSON: {error}") from None
    try:
        return msgspec.convert(read, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(422, f"the parameters do not fit: {error}") from None


def from_npy(data: bytes) -> NDArray[Any]:
    """The rows of a .npy file, (m, d); Problem 400 where it is none. What only its head announces is not allocated."""
    file = BytesIO(data)
    try:
        major, _ = npy.read_magic(file)
        header = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, fortran, dtype = header(file, max_header_size=_HEADER)
    except (ValueError, SyntaxError, TypeError, RecursionError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is not a .npy file: {error}") from None
    count = 1
    for side in shape:
        count *= side
    rest = data[file.tell() :]
    if dtype.kind not in "fiu" or len(shape) not in (1, 2) or count < 1 or count * dtype.itemsize != len(rest):
        raise Problem(400, f"a .npy body must hold rows of real numbers, and all of them, got {dtype} of shape {shape}")
    return np.atleast_2d(np.frombuffer(rest, dtype).reshape(shape, order="F" if fortran else "C"))


def from_bytes(data: bytes, dimension: int | None) -> NDArray[np.float32]:
    """Rows of little-endian float32. Problem 422 where they are not whole."""
    if dimension is None or not data or len(data) % (4 * dimension):
        raise Problem(422, f"npy has {len(data):,} bytes, which are not rows of `dimension` float32 numbers")
    return np.frombuffer(data, "<f4").reshape(-1, dimension)
