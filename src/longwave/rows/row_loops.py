"""Inner products with stored rows, compiled: float32, the bits of float16, or int8 codes with a scale for each row.

Used by the loops that read a few rows here and there: the walk on the graph and the search along links.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic, overload

from longwave.rows.compiled import Array, _float_of, _sift_down, jit

# Float16 read as the upper bits of a float32 has an exponent that is too small by this factor.
_HALF_BIAS = np.float32(2.0**112)
# Sums may be taken in any order; what is not a number stays so.
_FAST = {"reassoc", "contract", "nsz"}
#: No map from numbers to rows: they are rows. An array of the module, as maps are, so that loops are compiled once.
OWN_ROWS: Array = np.empty(0, dtype=np.int32)
#: Rows read side by side: memory answers several requests in the time of one.
ABREAST = 4
# Rows that are asked for before their turn.
_AHEAD = 8
# Cache lines of each that are asked for; the processor itself sees what comes behind them.
_LINES = 9

_tools: Any = cgutils  # without types


def stored_number(code: Any) -> Any:
    """A stored number as float32, but for the factor of `stored_bias`."""
    raise NotImplementedError


def stored_bias(values: Array) -> Any:
    """What the numbers of `stored_number` are to be multiplied with."""
    raise NotImplementedError


@overload(stored_number, strict=False, inline="always")
def _compiled_number(code: Any) -> Any:
    if code == numba.types.uint16:  # the bits of a float16: sign, exponent and mantissa are moved to their places

        def half(code: Any) -> Any:
            bits = np.uint32(code)
            sign = (bits & np.uint32(0x8000)) << np.uint32(16)
            return _float_of(np.uint32(sign | ((bits & np.uint32(0x7FFF)) << np.uint32(13))))

        return half
    return lambda code: np.float32(code)


@overload(stored_bias, strict=False, inline="always")
def _compiled_bias(values: Any) -> Any:
    if values.dtype == numba.types.uint16:
        return lambda values: _HALF_BIAS
    return lambda values: np.float32(1)


@intrinsic
def fetch(context: Any, array: Any, place: Any) -> Any:
    """Ask the memory for the cache line of array[place]; nothing waits for it."""

    def generate(target: Any, builder: Any, signature: Any, values: Any) -> Any:
        made = target.make_array(signature.args[0])(target, builder, values[0])
        step = _tools.unpack_tuple(builder, made.strides)[0]
        address = builder.add(builder.ptrtoint(made.data, step.type), builder.mul(values[1], step))
        line, number = builder.inttoptr(address, _tools.voidptr_t), _tools.int32_t
        kind = _tools.ir.FunctionType(_tools.ir.VoidType(), [line.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [line.type], kind)
        builder.call(function, [line, number(0), number(3), number(1)])  # to read, into the nearest cache, data
        return target.get_dummy_value()

    return numba.types.none(array, numba.types.intp), generate


@jit(fastmath=_FAST)
def product(row: Array, waves: Array) -> Any:
    """One row times one vector, but for the factors of `stored_bias` and `scale_of`."""
    total = np.float32(0)
    for c in range(waves.shape[0]):
        total += stored_number(row[c]) * waves[c]
    return total


@jit(fastmath=_FAST)
def products_of_four(a: Array, b: Array, c: Array, d: Array, waves: Array) -> Any:
    """Four rows at once: the memory of all four is on its way while the first is summed."""
    s, t, u, v = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for i in range(waves.shape[0]):
        w = waves[i]
        s += stored_number(a[i]) * w
        t += stored_number(b[i]) * w
        u += stored_number(c[i]) * w
        v += stored_number(d[i]) * w
    return s, t, u, v


@jit
def scale_of(scales: Array, row: int) -> Any:
    """What a row is multiplied with: int8 codes have a scale each."""
    return scales[row] if scales.shape[0] else np.float32(1)


@jit
def score_rows(
    values: Array, scales: Array, row_of: Array, numbers: Array, waves: Array, out: Array, start: int, stop: int
) -> None:
    """out[i] = row of numbers[i] · waves, from start to stop. row_of: (n,) the row of each number, or (0,) for its own.

    Callers give int32 numbers, maps that are read only, and np.int64(0) where they mean 0, which by itself would be a
    type of its own: or all of this is compiled once for each of them, and a new user waits for it. Times what
    `stored_bias` says: the caller has it in `waves`.
    """
    mapped, line = row_of.shape[0] > 0, 64 // values.itemsize
    place = start
    while place + ABREAST <= stop:
        a, b, c, d = numbers[place], numbers[place + 1], numbers[place + 2], numbers[place + 3]
        if mapped:  # here and there: rows that come later are asked for now
            a, b, c, d = row_of[a], row_of[b], row_of[c], row_of[d]
            for ahead in range(min(place + _AHEAD, stop), min(place + _AHEAD + ABREAST, stop)):
                for number in range(0, min(values.shape[1], _LINES * line), line):
                    fetch(values[row_of[numbers[ahead]]], number)
        s, t, u, v = products_of_four(values[a], values[b], values[c], values[d], waves)
        out[place], out[place + 1] = s * scale_of(scales, a), t * scale_of(scales, b)
        out[place + 2], out[place + 3] = u * scale_of(scales, c), v * scale_of(scales, d)
        place += ABREAST
    while place < stop:
        row = row_of[numbers[place]] if mapped else numbers[place]
        out[place] = product(values[row], waves) * scale_of(scales, row)
        place += 1


@jit
def put_in_order(values: Array, numbers: Array) -> None:
    """Largest first, at equal values lower numbers first. numpy's sorts take a second each to compile."""
    size = values.shape[0]
    for i in range(size // 2 - 1, -1, -1):
        _sift_down(values, numbers, i, size)
    for last in range(size - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        numbers[0], numbers[last] = numbers[last], numbers[0]
        _sift_down(values, numbers, np.int64(0), last)
