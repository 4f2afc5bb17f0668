"""pyarrow, imported only when metadata is first used; and the types that columns of metadata can have."""

from __future__ import annotations

import importlib
from typing import Any

from longwave.errors import MissingExtraError

#: What a column may hold, for messages.
ALLOWED_TYPES = "booleans, whole numbers, floats, text, dates, times, or flat lists of booleans, numbers or text"


def need(module: str = "pyarrow") -> Any:
    """A module of the extra `metadata`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError("metadata", "metadata") from error


def is_list(kind: Any) -> bool:
    """Whether the values of a column are lists."""
    types = need("pyarrow.types")
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def plain_type(kind: Any) -> Any:
    """The type in which a column of this type is kept, or None if metadata cannot have it.

    One type for each kind of value, so that a filter has few cases: text of all sorts is `string` (or a dictionary of
    it), times are microseconds, in UTC where they have a zone, lists are `list`.
    """
    arrow, types = need(), need("pyarrow.types")
    if is_list(kind):
        inner = plain_type(kind.value_type)
        scalar = inner is not None and not (types.is_temporal(inner) or is_list(inner) or types.is_dictionary(inner))
        return arrow.list_(inner) if scalar else None
    if types.is_dictionary(kind):
        inner = plain_type(kind.value_type)
        return arrow.dictionary(arrow.int32(), inner) if inner == arrow.string() else inner
    if types.is_boolean(kind) or types.is_null(kind) or types.is_float32(kind) or types.is_float64(kind):
        return kind
    if types.is_integer(kind):
        return arrow.int64() if types.is_uint64(kind) else kind
    if types.is_float16(kind):
        return arrow.float32()
    if types.is_string(kind) or types.is_large_string(kind) or kind == arrow.string_view():
        return arrow.string()
    if types.is_date(kind):
        return arrow.date32()
    if types.is_timestamp(kind):
        return arrow.timestamp("us", tz="UTC" if kind.tz is not None else None)
    return None
