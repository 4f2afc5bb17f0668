"""Compares a column of a table with the values of a condition, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.metadata.arrow import is_list, need
from longwave.metadata.messages import shown, type_name, unknown_column
from longwave.metadata.values import (
    ORDERS,
    Value,
    as_bool,
    as_days,
    as_microseconds,
    as_number,
    as_text,
    rounded,
    whole_bound,
    whole_range,
)

#: A bool for each row.
Mask: TypeAlias = NDArray[np.bool_]
_Test: TypeAlias = Callable[[Any], Any]


def has_value(table: Any, name: str) -> Mask:
    """Where a column has a value."""
    return _by_chunk(_column(table, name), lambda chunk: chunk.is_valid())


def compare(table: Any, name: str, sign: str, values: tuple[Value, ...]) -> Mask:
    """Where a column is one of the values ($in), or on the side of the only one that the sign says."""
    column, types = _column(table, name), need("pyarrow.types")
    kind = column.type
    if is_list(kind):
        if sign in ORDERS:
            raise InputError(
                f"{name} is {type_name(kind)}, and lists have no order, got {sign}; use $eq, $ne, $in, $nin or $exists"
            )
        test = _test(name, kind, kind.value_type, sign, values)
        return np.concatenate([np.zeros(0, dtype=bool), *(_any_element(chunk, test) for chunk in column.chunks)])
    if types.is_dictionary(kind):
        test = _test(name, kind, kind.value_type, sign, values)
        return np.concatenate([np.zeros(0, dtype=bool), *(_by_code(chunk, test) for chunk in column.chunks)])
    return _by_chunk(column, _test(name, kind, kind, sign, values))


def _column(table: Any, name: str) -> Any:
    if name not in table.column_names:
        raise unknown_column(name, table.column_names)
    return table.column(name)


def _by_chunk(column: Any, test: _Test) -> Mask:
    """A test of arrow arrays, over all chunks; missing is false."""
    parts = [_to_mask(test(chunk)) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, dtype=bool), *parts])


def _to_mask(found: Any) -> Mask:
    filled = found.fill_null(False) if found.null_count else found
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=bool)


def _any_element(chunk: Any, test: _Test) -> Mask:
    found = np.zeros(len(chunk), dtype=bool)
    parents = need("pyarrow.compute").list_parent_indices(chunk).to_numpy(zero_copy_only=False)
    found[parents[_to_mask(test(chunk.flatten()))]] = True
    return found


def _by_code(chunk: Any, test: _Test) -> Mask:
    """Each distinct text is compared once. The last place stands for missing values."""
    hit = np.append(_to_mask(test(chunk.dictionary)), False)
    codes = chunk.indices.fill_null(len(hit) - 1) if chunk.indices.null_count else chunk.indices
    mask: Mask = hit[codes.to_numpy(zero_copy_only=False)]
    return mask


def _test(name: str, of: Any, kind: Any, sign: str, values: tuple[Value, ...]) -> _Test:
    """The comparison with arrays of one type. of: the type of the column, for messages."""
    types = need("pyarrow.types")

    def wrong(value: Value, wanted: str) -> InputError:
        return InputError(f"{name} is {type_name(of)}, got {shown(value)}; give {wanted}")

    if types.is_null(kind):  # a column of missing values only
        return lambda array: need().array(np.zeros(len(array), dtype=bool))
    if types.is_boolean(kind):
        truths = [as_bool(value, wrong) for value in values]
        if sign in ORDERS:
            raise InputError(f"{name} is {type_name(of)}, which has no order, got {sign}; use $eq or $ne")
        return _among(truths, kind)
    if types.is_string(kind):
        texts = [as_text(value, wrong) for value in values]
        return _among(texts, kind) if sign == "$in" else _against(sign, texts[0], kind)
    if types.is_floating(kind):
        floats = [rounded(as_number(value, wrong), kind) for value in values]
        if sign == "$in":
            zeros = [0.0, -0.0] if 0.0 in floats else []  # a set tells them apart
            return _among(floats + zeros, kind)
        return _against(sign, floats[0], kind)
    if types.is_integer(kind):
        return _whole_test(sign, [as_number(value, wrong) for value in values], kind)
    if not (types.is_date32(kind) or types.is_timestamp(kind)):
        raise InputError(f"{name} is {type_name(of)}, which cannot be compared; give the table to as_table first")
    arrow = need()
    stored = arrow.int32() if types.is_date(kind) else arrow.int64()
    if types.is_date(kind):
        counts = [as_days(value, wrong) for value in values]
    else:
        counts = [as_microseconds(value, kind.tz, wrong) for value in values]
    test = _whole_test(sign, counts, stored)
    return lambda array: test(array.view(stored))


def _among(values: list[Any], kind: Any) -> _Test:
    compute, wanted = need("pyarrow.compute"), need().array(values, type=kind)
    return lambda array: compute.is_in(array, value_set=wanted, skip_nulls=True)


def _against(sign: str, value: Any, kind: Any) -> _Test:
    compute, bound = need("pyarrow.compute"), need().scalar(value, type=kind)
    names = {"$lt": "less", "$lte": "less_equal", "$gt": "greater", "$gte": "greater_equal"}
    function = getattr(compute, names[sign])
    return lambda array: function(array, bound)


def _whole_test(sign: str, values: Sequence[int | float], kind: Any) -> _Test:
    """Whole numbers against any numbers, exactly: the bound is rounded to the side that changes nothing."""
    low, high = whole_range(kind)
    if sign == "$in":
        return _among([int(v) for v in values if low <= v <= high and v == int(v)], kind)
    bound = whole_bound(sign, values[0], (low, high))
    if not isinstance(bound, bool):
        return _against("$lte" if sign in ("$lt", "$lte") else "$gte", bound, kind)
    if bound:
        return lambda array: array.is_valid()
    return lambda array: need().array(np.zeros(len(array), dtype=bool))
