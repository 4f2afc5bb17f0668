"""Metadata as a table: one row for each item, of a few plain types, joined over segments.

Tables have a few plain types only, so that every row means the same however it came: booleans, whole numbers
(int8 … int64, uint8 … uint32), float32 and float64, text (plain or as an Arrow dictionary), dates, times in
microseconds (in UTC where they have a zone), and flat lists of booleans, numbers or text. Other types of the same
values are turned into these. What would lose something, such as nanoseconds, is an error. NaN is a missing value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from longwave.errors import InputError
from longwave.metadata.arrow import ALLOWED_TYPES, is_list, need, plain_type
from longwave.metadata.messages import check_columns, one_line

_MOST_COLUMNS = 1000  # each is looked at in every row
_MOST_NAME = 255
# Python's years 1 … 9999, in which hits are returned; in days, and in microseconds.
_DAYS = (-719_162, 2_932_896)
_MICROSECONDS = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)


def plain(table: Any) -> Any:
    """The table with checked names and plain types, without notes of other libraries."""
    arrow = need()
    check_names(table.column_names)
    try:
        table.validate(full=True)
    except arrow.ArrowException as error:
        refused(error)
    columns = [_plain_column(name, table.column(name)) for name in table.column_names]
    return arrow.table(columns, names=table.column_names)


def common_schema(schemas: Iterable[Any]) -> Any:
    """The schema into which tables of these schemas are joined; InputError where a column cannot be."""
    arrow = need()
    kinds: dict[str, Any] = {}
    for schema in schemas:
        for field in schema:
            known = kinds.get(field.name)
            kinds[field.name] = field.type if known is None else _common(field.name, known, field.type)
    check_number(len(kinds))
    return arrow.schema([arrow.field(name, kind) for name, kind in kinds.items()])


def join(tables: Sequence[Any]) -> Any:
    """The tables of segments, one below the other; a number stands for so many items without metadata.

    A column that a table lacks is missing there. Whole numbers are widened, to float64 if a table has floats. Other
    types must agree. Columns are in the order of their first appearance. Nothing is copied that has its type already.
    """
    arrow = need()
    schema = common_schema(table.schema for table in tables if not isinstance(table, int))
    if not schema.names:
        raise InputError("there is no metadata in any of the tables; give one that has columns")
    return arrow.concat_tables([_fitted(table, schema) for table in tables])


def select(table: Any, rows: ArrayLike, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Values of some rows, as Python has them: a list for each column. rows: (m,), with repeats, in any order.

    Dates and times are of `datetime`. A missing value is None.
    """
    check_columns(columns, table.column_names)
    wanted = np.asarray(rows)
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
        raise InputError(f"rows must be a flat list of row numbers, got shape {wanted.shape}, {wanted.dtype}")
    if wanted.size and not (wanted.min() >= 0 and wanted.max() < table.num_rows):
        outside = wanted.min() if wanted.min() < 0 else wanted.max()
        raise InputError(f"rows must be at least 0 and below {table.num_rows:,}, got {outside}")
    places = need().array(wanted.astype(np.int64))
    return {name: table.column(name).take(places).to_pylist() for name in columns}


def check_number(count: int) -> None:
    """InputError for more columns than metadata can have."""
    if count > _MOST_COLUMNS:
        raise InputError(f"metadata can have at most {_MOST_COLUMNS:,} columns, got {count:,}; leave some out")


def check_names(names: Sequence[Any]) -> None:
    """InputError unless these can be the names of columns."""
    if not names:
        raise InputError("metadata has no columns; give at least one, or no metadata at all")
    check_number(len(names))
    known: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"names of columns must be strings, got {name!r}; rename the column")
        if not name or name != name.strip() or not name.isprintable() or len(name) > _MOST_NAME:
            raise InputError(
                f"names of columns must be 1 to {_MOST_NAME} printable characters without spaces around them, got "
                f"{name[:80]!r}; rename the column"
            )
        if name.startswith("$"):
            raise InputError(
                f"names of columns must not begin with $, as operators do, got {name!r}; rename the column"
            )
        if name in known:
            raise InputError(f"names of columns must be distinct, but {name!r} occurs twice; rename one")
        known.add(name)


def refused(error: BaseException, what: str = "metadata") -> NoReturn:
    """Raise the error for values that no type of column holds."""
    raise InputError(
        f"{what} cannot become a column of one type ({one_line(error)}); the types are {ALLOWED_TYPES}"
    ) from error


def _plain_column(name: str, column: Any) -> Any:
    arrow, compute, types = need(), need("pyarrow.compute"), need("pyarrow.types")
    kind = plain_type(column.type)
    if kind is None:
        raise InputError(f"column {name!r} is of type {column.type}; metadata can have {ALLOWED_TYPES}: convert it")
    try:
        if types.is_dictionary(column.type) and not types.is_dictionary(kind):
            column = column.cast(column.type.value_type)
        column = column if column.type == kind else column.cast(kind)
        if types.is_floating(kind) and compute.any(compute.is_nan(column)).as_py():
            column = compute.if_else(compute.is_nan(column), arrow.scalar(None, kind), column)
    except (arrow.ArrowException, OverflowError) as error:
        raise InputError(
            f"column {name!r} cannot be kept as {kind} without loss ({one_line(error)}); round it, or give it as text"
        ) from error
    if types.is_date(kind) or types.is_timestamp(kind):
        _check_years(name, column, *(_DAYS if types.is_date(kind) else _MICROSECONDS))
    return column


def _check_years(name: str, column: Any, low: int, high: int) -> None:
    arrow, compute = need(), need("pyarrow.compute")
    stored = arrow.int32() if need("pyarrow.types").is_date(column.type) else arrow.int64()
    for chunk in column.chunks:
        least, most = compute.min_max(chunk.view(stored)).as_py().values()
        if least is not None and not low <= least <= most <= high:
            raise InputError(f"column {name!r} has dates outside of the years 1 to 9999; leave them out")


def _common(name: str, one: Any, two: Any) -> Any:
    """The type that has the values of both."""
    arrow, types = need(), need("pyarrow.types")
    if one == two or types.is_null(two):
        return one
    if types.is_null(one):
        return two
    if is_list(one) and is_list(two):
        return arrow.list_(_common(name, one.value_type, two.value_type))
    if types.is_dictionary(one) or types.is_dictionary(two):  # of text
        inner = [kind.value_type if types.is_dictionary(kind) else kind for kind in (one, two)]
        if inner[0] == inner[1]:
            return inner[0]
    if types.is_integer(one) and types.is_integer(two):
        if types.is_signed_integer(one) == types.is_signed_integer(two):
            return max(one, two, key=lambda kind: kind.bit_width)
        return arrow.int64()
    numbers = [types.is_integer(kind) or types.is_floating(kind) for kind in (one, two)]
    if all(numbers):
        return arrow.float64()
    raise InputError(
        f"column {name!r} is {one} in one table and {two} in another; only whole numbers and floats are widened: "
        "convert one of them, or give it another name"
    )


def _fitted(table: Any, schema: Any) -> Any:
    arrow = need()
    if isinstance(table, int):
        return arrow.table([arrow.nulls(table, field.type) for field in schema], schema=schema)
    known = set(table.column_names)
    columns = []
    for field in schema:
        if field.name not in known:
            columns.append(arrow.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except arrow.ArrowException as error:
            raise InputError(
                f"column {field.name!r} is {column.type} in one table and {field.type} in all, which does not hold its "
                f"values exactly ({one_line(error)}); give it as text, or another name"
            ) from error
    return arrow.table(columns, schema=schema)
