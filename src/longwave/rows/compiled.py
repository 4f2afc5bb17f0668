"""The compiled inner loops (numba), imported late because numba takes long to import.

Each function is one loop nest over plain arrays; the callers hold the meaning and the checks.
Compiled code is cached on disk, so the second process starts at once; where nothing can be written, every process
compiles for itself. The log says so once, as the first build and the first search wait some seconds for it.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[Any]

# Steps of a loop up to which one thread works alone: one or two milliseconds, and one loop less to compile. On a busy
# machine the others may not wake for several.
_SERIAL_STEPS = 1 << 22


class Loop:
    """A loop compiled twice: with threads, and for the calling thread alone (`serial`).

    Called, it takes threads where they pay and are safe. steps: of the innermost loop, for the same arguments.
    """

    #: Whether this process was forked from one that had started numba's threads: the child has none of them, and numba
    #: ends it if it asks for one.
    forked = False
    #: Steps up to which one thread works alone.
    alone = _SERIAL_STEPS
    _turn = threading.Lock()

    def __init__(self, function: FunctionType, steps: Callable[..., int], **options: Any) -> None:
        self._steps = steps
        self._in_threads = _compile(function, parallel=True, **options)
        # numba's cache on disk tells functions apart by name and line, not by how they are compiled.
        alone = FunctionType(function.__code__, function.__globals__)
        alone.__qualname__ = f"{function.__qualname__}_serial"
        self.serial = _compile(alone, **options)

    def __call__(self, *arguments: Any) -> None:
        if Loop.forked or self._steps(*arguments) <= Loop.alone:
            self.serial(*arguments)
        elif _layer() == "workqueue":  # numba ends the process where two threads meet in it
            with Loop._turn:
                self._in_threads(*arguments)
        else:
            self._in_threads(*arguments)


@contextmanager
def always_in_threads() -> Iterator[None]:
    """Let loops take threads for any work, in all of the process: to compile them."""
    Loop.alone = -1
    try:
        yield
    finally:
        Loop.alone = _SERIAL_STEPS


class _Telling(event.Listener):
    """Says in the log, once, that a loop of ours is compiled and not read from the disk."""

    told = False

    def on_start(self, event: Any) -> None:
        if not self.told and event.data["dispatcher"].py_func.__module__ == __name__:
            self.told = True
            logging.getLogger(__name__).info("compiling the inner loops: once, some seconds, kept for later")

    def on_end(self, event: Any) -> None:
        """Nothing more."""


_telling = _Telling()
_events: Any = event  # without types
_events.register("numba:compile", _telling)


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """Compile when first called, and keep the code on disk where numba finds a folder that it may write to."""
    try:
        made = numba.njit(cache=True, **options)(function)
        kept: Any = getattr(made._cache, "_cache_file", None)  # numba looks at the file of the function alone
        if hasattr(kept, "_source_stamp"):
            kept._source_stamp = stamp()
        return made
    except RuntimeError:  # neither beside the source, nor in the user's home, nor in NUMBA_CACHE_DIR
        return numba.njit(**options)(function)


def start() -> None:
    """Do what numba does when a loop is first called: a quarter of a second."""
    with global_compiler_lock:
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


def kept_in() -> Path | None:
    """The folder of the compiled code; None where there is none that can be written to."""
    folder = getattr(getattr(update_heaps.serial, "_cache", None), "cache_path", None)
    return None if folder is None else Path(folder)


def jit(function: Any = None, **options: Any) -> Any:
    """Decorate what only other loops call: Python cannot, and the code that would take its arguments is not made."""
    library: Any = numba
    made = library.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    return made if function is None else made(function)


@functools.cache
def stamp() -> bytes:
    """A digest of all files with loops: one that calls loops of other files is compiled anew where those change."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _threaded(steps: Callable[..., int], **options: Any) -> Callable[[Any], Loop]:
    """Decorate a loop over `numba.prange`."""
    return lambda function: Loop(function, steps, **options)


def _serial(**options: Any) -> Callable[[Any], Any]:
    """Decorate a loop that always runs in the calling thread."""
    return lambda function: _compile(function, **options)


@functools.cache
def _layer() -> str:
    """What numba's threads are made by, "omp", "tbb" or "workqueue"; starts them."""
    library: Any = numba
    library.get_num_threads()
    return str(library.threading_layer())


def _after_fork() -> None:
    library: Any = numba
    try:
        library.threading_layer()
    except ValueError:  # not started yet: the child may start its own
        return
    Loop.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@jit(inline="always")
def _worse(value_a: float, id_a: int, value_b: float, id_b: int) -> bool:
    """Whether hit a ranks behind hit b: lower value, or the same value and a higher id."""
    return value_a < value_b or (value_a == value_b and id_a > id_b)


@jit
def _sift_down(values: Array, ids: Array, start: int, size: int) -> None:
    """Restore the heap whose root is the worst hit."""
    i = start
    value, hit = values[i], ids[i]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _worse(values[right], ids[right], values[child], ids[child]):
            child = right
        if not _worse(values[child], ids[child], value, hit):
            break
        values[i], ids[i] = values[child], ids[child]
        i = child
    values[i], ids[i] = value, hit


_STRIDE = 64


@jit(fastmath=True)
def _largest(row: Array, start: int, stop: int) -> float:
    """The largest entry of row[start:stop]."""
    best = row[start]
    for c in range(start + 1, stop):
        best = max(best, row[c])
    return best  # type: ignore[no-any-return]


@jit
def _update_heap(scores: Array, values: Array, ids: Array, first_column: int, own: int) -> None:
    """Push one row of scores into its heap; `own` is the column that does not count."""
    k = values.shape[0]
    for start in range(0, scores.shape[0], _STRIDE):
        stop = min(start + _STRIDE, scores.shape[0])
        # A vectorised maximum first: few strides hold anything that enters the heap.
        if _largest(scores, start, stop) <= values[0]:
            continue
        for c in range(start, stop):
            # Columns come in ascending order, so an equal score is behind every hit already held.
            if scores[c] > values[0] and c != own:
                values[0], ids[0] = scores[c], first_column + c
                _sift_down(values, ids, 0, k)


@jit
def _sort_heap(values: Array, ids: Array) -> None:
    """Turn a heap into a list, best hit first (heap sort, in place)."""
    for size in range(values.shape[0] - 1, 0, -1):
        values[0], values[size] = values[size], values[0]
        ids[0], ids[size] = ids[size], ids[0]
        _sift_down(values, ids, 0, size)


@_threaded(lambda scores, *_: scores.size if len(scores) > 1 else 0)
def update_heaps(scores: Array, values: Array, ids: Array, first_column: int, self_row: int) -> None:
    """Push a tile of scores into one heap per row.

    scores: (rows, tile), columns first_column...; values, ids: (rows, k) heaps with the worst hit at the root.
    self_row: vertex number of the first row, whose own column is passed over; -1 if the rows are queries.
    """
    for r in numba.prange(scores.shape[0]):
        own = self_row + r - first_column if self_row >= 0 else -1
        _update_heap(scores[r], values[r], ids[r], first_column, own)


@_threaded(lambda values, _: 8 * values.size)  # each hit sinks through log k levels
def sort_heaps(values: Array, ids: Array) -> None:
    """Sort every heap. values, ids: (rows, k)"""
    for r in numba.prange(values.shape[0]):
        _sort_heap(values[r], ids[r])


@_threaded(lambda tile, _: tile.size)
def transpose(tile: Array, out: Array) -> None:
    """out = tileᵀ, in squares that fit the cache: ten times faster than a strided copy. (m, n) -> (n, m)"""
    m, n = tile.shape
    for block in numba.prange((n + _STRIDE - 1) // _STRIDE):
        first = block * _STRIDE
        last = min(first + _STRIDE, n)
        for start in range(0, m, _STRIDE):
            for j in range(first, last):
                for i in range(start, min(start + _STRIDE, m)):
                    out[j, i] = tile[i, j]


@_threaded(lambda data, indices, indptr, block, out: data.size * block.shape[1], fastmath={"contract", "nsz"})
def multiply(data: Array, indices: Array, indptr: Array, block: Array, out: Array) -> None:
    """Sparse times dense: out = A block. A: CSR (n, m); block: (m, c); out: (n, c)."""
    for i in numba.prange(out.shape[0]):
        row = out[i]
        row[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            weight = data[e]
            source = block[indices[e]]
            for c in range(row.shape[0]):
                row[c] += weight * source[c]


@_threaded(lambda data, *_: data.size, fastmath={"contract", "nsz"})
def multiply_vector(
    data: Array, indices: Array, indptr: Array, vector: Array, out: Array, scale: float, own: float
) -> None:
    """Sparse times one vector: out = scale · A vector + own · vector, where `multiply` takes five times as long.

    A: CSR (n, m); vector: (m,); out: (n,). `own` other than 0 is for a square A.
    """
    one = np.uint64(1)
    for i in numba.prange(out.shape[0]):
        # Two sums at a time, as each must wait for its last addition. Unsigned places, as numba lets negative ones
        # count from the end and looks at every one for that.
        even, odd = vector.dtype.type(0), vector.dtype.type(0)
        e, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        while e + one < last:
            even += data[e] * vector[np.uint64(indices[e])]
            odd += data[e + one] * vector[np.uint64(indices[e + one])]
            e += np.uint64(2)
        if e < last:
            even += data[e] * vector[np.uint64(indices[e])]
        out[i] = scale * (even + odd)
        if own != 0:
            out[i] += own * vector[i]


@_threaded(lambda data, indices, indptr, block, *_: data.size * block.shape[1], fastmath={"contract", "nsz"})
def chebyshev_step(
    data: Array,
    indices: Array,
    indptr: Array,
    current: Array,
    previous: Array,
    scale: float,
    shift: float,
    back: float,
) -> None:
    """One term of the three-term recurrence in one sweep: previous = scale (A - shift) current - back previous.

    A: CSR (n, m); current: (m, c), its first n rows those of A; previous: (n, c).
    """
    for i in numba.prange(previous.shape[0]):
        row, own = previous[i], current[i]
        for c in range(row.shape[0]):
            row[c] = -(scale * shift) * own[c] - back * row[c]
        for e in range(indptr[i], indptr[i + 1]):
            weight = scale * data[e]
            source = current[indices[e]]
            for c in range(row.shape[0]):
                row[c] += weight * source[c]


@_serial()
def permute_rows(block: Array, targets: Array) -> None:
    """Move row i to row targets[i], in place, cycle by cycle. block: (n, c); targets: (n,), a permutation."""
    moved = np.zeros(len(targets), dtype=np.bool_)
    for start in range(len(targets)):
        if moved[start]:
            continue
        carried = block[start].copy()
        place = start
        while True:
            place = targets[place]
            moved[place] = True
            for c in range(block.shape[1]):
                carried[c], block[place, c] = block[place, c], carried[c]
            if place == start:
                break


@intrinsic
def _float_of(context: Any, bits: Any) -> Any:
    """The float32 that has these 32 bits."""

    def generate(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], target.get_value_type(numba.types.float32))

    return numba.types.float32(numba.types.uint32), generate


@_serial(fastmath=True)
def scan_halves(codes: Array, query: Array, out: Array) -> None:
    """Inner products with rows of float16. codes: (n, d) their bits; query: (d,), times 2^112; out: (n,).

    Sign, exponent and mantissa are moved to their places in a float32; the query makes up for the smaller exponent.
    """
    for i in range(codes.shape[0]):
        row, total = codes[i], np.float32(0)
        for c in range(row.shape[0]):
            bits = np.uint32(row[c])
            sign = (bits & np.uint32(0x8000)) << np.uint32(16)
            rest = (bits & np.uint32(0x7FFF)) << np.uint32(13)
            total += _float_of(np.uint32(sign | rest)) * query[c]
        out[i] = total


@_serial(fastmath=True)
def scan_bytes(codes: Array, scales: Array, query: Array, out: Array) -> None:
    """Inner products with rows of int8. codes: (n, d); scales: (n,); query: (d,); out: (n,)."""
    for i in range(codes.shape[0]):
        row, total = codes[i], np.float32(0)
        for c in range(row.shape[0]):
            total += np.float32(row[c]) * query[c]
        out[i] = total * scales[i]


@_serial()
def add_lists(data: Array, indices: Array, indptr: Array, columns: Array, weights: Array, out: Array) -> None:
    """An inverted index: out[i] += weights[c] · data over the lists of some columns. CSC; only these lists are read."""
    for j in range(columns.shape[0]):
        weight = weights[j]
        for e in range(indptr[columns[j]], indptr[columns[j] + 1]):
            out[indices[e]] += weight * data[e]


@_threaded(lambda values, *_: values.size if len(values) > 1 else 0)
def add_columns(values: Array, rows: Array, columns: Array, out: Array) -> None:
    """out[rows[i], columns[j]] += values[i, j]. values: (q, m); rows: (q,), columns: (m,), each distinct."""
    for i in numba.prange(values.shape[0]):
        row, target = values[i], out[rows[i]]
        for j in range(row.shape[0]):
            target[columns[j]] += row[j]
