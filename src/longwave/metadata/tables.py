"""Metadata as a table: one row for each item, checked, joined over segments, kept as Parquet.

Tables have a few plain types only, so that every row means the same however it came: booleans, whole numbers
(int8 … int64, uint8 … uint32), float32 and float64, text (plain or as an Arrow dictionary), dates, times in
microseconds (in UTC where they have a zone), and flat lists of booleans, numbers or text. Other types of the same
values are turned into these. What would lose something, such as nanoseconds, is an error. NaN is a missing value.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from longwave.errors import CorruptIndexError, FileError, InputError, plural
from longwave.files.bounded import check_regular, most_bytes, open_regular
from longwave.files.parquet_footer import announced
from longwave.metadata.arrow import ALLOWED_TYPES, is_list, need, plain_type
from longwave.metadata.conditions import unknown_column

_MOST_COLUMNS = 1000  # each is looked at in every row
_MOST_NAME = 255
# A .csv is read whole as text; every line of a .jsonl becomes Python objects, some ten times as large.
_MOST_CSV, _MOST_JSONL = 1 << 31, 1 << 28
# Bytes of a value in memory, of which a file of copies of one value has next to none.
_VALUE_BYTES = 16
# Before the footer, where readers of Parquet do not look: the checksum of everything else.
_SEAL = b"LWmd"
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # 007 is not a number but a code
_REAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$"
_ZONED = _TIME[:-1] + r"(Z|[+-][0-9]{2}:?[0-9]{2})$"
# Python's years 1 … 9999, in which hits are returned; in days, and in microseconds.
_DAYS = (-719_162, 2_932_896)
_MICROSECONDS = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)


def as_table(metadata: Any, *, count: int) -> Any:
    """Metadata as a user gives them, to a checked pyarrow.Table with one row for each of `count` items.

    metadata: a pyarrow Table or RecordBatch; a DataFrame of pandas (its index is left out) or of another library that
    speaks Arrow; a dict of columns; a list of dicts, one for each item, where keys may be absent; or the path of a
    .parquet, .csv or .jsonl file. In a .csv the first line has the names, an empty cell is a missing value, and a
    column is of whole numbers, floats, booleans, dates or times if all its cells are; 007 stays text.
    """
    is_path = isinstance(metadata, str | os.PathLike)
    table = _read(Path(metadata), count) if is_path else _plain(_given(metadata))
    if table.num_rows != count:
        raise InputError(
            f"metadata must have one row for each item, {count:,}, got {plural(table.num_rows, 'row')}; "
            "put missing values where there is nothing to say"
        )
    return table


def common_schema(schemas: Iterable[Any]) -> Any:
    """The schema into which tables of these schemas are joined; InputError where a column cannot be."""
    arrow = need()
    kinds: dict[str, Any] = {}
    for schema in schemas:
        for field in schema:
            known = kinds.get(field.name)
            kinds[field.name] = field.type if known is None else _common(field.name, known, field.type)
    _check_number(len(kinds))
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
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise InputError(f"columns must be a list of names, got {columns!r}")
    for name in columns:
        if name not in table.column_names:
            raise unknown_column(name, table.column_names)
    wanted = np.asarray(rows)
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
        raise InputError(f"rows must be a flat list of row numbers, got shape {wanted.shape}, {wanted.dtype}")
    if wanted.size and not (wanted.min() >= 0 and wanted.max() < table.num_rows):
        outside = wanted.min() if wanted.min() < 0 else wanted.max()
        raise InputError(f"rows must be at least 0 and below {table.num_rows:,}, got {outside}")
    places = need().array(wanted.astype(np.int64))
    return {name: table.column(name).take(places).to_pylist() for name in columns}


def to_bytes(table: Any) -> bytes:
    """A Parquet file that any reader of Parquet opens, with a checksum for `from_bytes`."""
    sink = io.BytesIO()
    plain = _plain(table)
    need("pyarrow.parquet").write_table(plain, sink, compression="zstd", write_page_checksum=True)
    content = sink.getvalue()
    start = announced(io.BytesIO(content)).start
    return content[:start] + _seal(content[:start], content[start:]) + content[start:]


def from_bytes(data: bytes, *, count: int, name: str = "metadata") -> Any:
    """The table that `to_bytes` wrote, with `count` rows; CorruptIndexError if it is not as it was written.

    name: of the file, for messages. The checksum is compared before pyarrow sees anything.
    """
    arrow = need()
    try:
        found = announced(io.BytesIO(data))
        _check_size(len(data), found.n_bytes, found.pieces, count)
        head = found.start - len(_SEAL) - 4
        if head < 0 or data[head : found.start] != _seal(data[:head], data[found.start :]):
            raise ValueError("its checksum is wrong")
        if found.rows != count:
            raise ValueError(f"it has {plural(found.rows, 'row')} for {plural(count, 'item')}")
        table = _unpack(data)
        if table.num_rows != count:
            raise ValueError(f"it has {plural(table.num_rows, 'row')} for {plural(count, 'item')}")
        plain = _plain(table)
    except (ValueError, LookupError, TypeError, OverflowError, OSError, MemoryError, arrow.ArrowException) as error:
        raise CorruptIndexError(
            f"{name} is damaged ({_one_line(error)}); restore it from a copy, or add the items again"
        ) from error
    return plain


def _seal(head: bytes, footer: bytes) -> bytes:
    return _SEAL + zlib.crc32(footer, zlib.crc32(head)).to_bytes(4, "little")


def _check_size(size: int, n_bytes: int, pieces: int, count: int) -> None:
    """ValueError if so many bytes cannot be meant by a file of this size for so many items."""
    allowed = most_bytes(size) + _VALUE_BYTES * count * pieces
    if n_bytes > allowed:
        raise ValueError(f"it has {size:,} bytes but announces {n_bytes:,}")


def _unpack(data: bytes) -> Any:
    """Parquet, page checksums compared where there are any."""
    source = need().BufferReader(data)
    with need("pyarrow.parquet").ParquetFile(source, page_checksum_verification=True) as file:
        table = file.read()
    table.validate(full=True)
    return table


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:199]}…"


# Of the forms in which metadata are given.


def _given(metadata: Any) -> Any:
    """A table of what is in memory."""
    arrow = need()
    if isinstance(metadata, arrow.Table):
        return metadata
    if isinstance(metadata, arrow.RecordBatch):
        return arrow.Table.from_batches([metadata])
    if type(metadata).__module__.split(".")[0] == "pandas" and hasattr(metadata, "columns"):
        return _from_frame(metadata)
    if isinstance(metadata, Mapping):
        return _from_columns(metadata)
    if hasattr(metadata, "__arrow_c_stream__"):
        return _foreign(lambda: arrow.table(metadata))
    if isinstance(metadata, Sequence) and not isinstance(metadata, bytes | bytearray | memoryview):
        return _from_rows(metadata)
    forms = "a pyarrow Table, a DataFrame, a dict of columns, a list of dicts or a path"
    raise InputError(f"metadata must be {forms}, got {type(metadata).__name__}")


def _refused(error: BaseException, what: str = "metadata") -> NoReturn:
    raise InputError(
        f"{what} cannot become a column of one type ({_one_line(error)}); the types are {ALLOWED_TYPES}"
    ) from error


def _foreign(make: Any) -> Any:
    """What another library makes of its table."""
    try:
        return make()
    except (need().ArrowException, TypeError, ValueError, OverflowError, LookupError) as error:
        _refused(error)


def _from_frame(frame: Any) -> Any:
    _check_names(list(frame.columns))
    return _foreign(lambda: need().Table.from_pandas(frame, preserve_index=False))


def _from_columns(columns: Mapping[Any, Any]) -> Any:
    _check_names(list(columns))
    made = {name: _column(name, values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in made.items()}
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise InputError(
            f"columns of metadata must have one length, but {short!r} has {lengths[short]:,} and {long!r} "
            f"{lengths[long]:,} values"
        )
    return need().table(made)


def _column(name: str, values: Any) -> Any:
    arrow = need()
    if isinstance(values, arrow.Array | arrow.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise InputError(f"column {name!r} must be a list with one value for each item, got {type(values).__name__}")
    if isinstance(values, np.ndarray) and values.ndim == 2:
        values = list(values)  # a list for each item
    try:
        made = arrow.array(values, from_pandas=True)
    except (arrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        _refused(error, f"column {name!r}")
    if not isinstance(values, np.ndarray) or values.dtype.kind == "O":
        _check_mixture(name, values, made.type)
    return made


def _check_mixture(name: str, values: Iterable[Any], kind: Any) -> None:
    """What pyarrow takes together and changes: a date with a time loses the time, a zone is lost, True becomes 1.0."""
    types, mixed = need("pyarrow.types"), ""
    if types.is_date(kind) and any(isinstance(value, datetime.datetime) for value in values):
        mixed = "dates and times"
    elif types.is_timestamp(kind):
        bare = {value.tzinfo is None for value in values if isinstance(value, datetime.datetime)}
        mixed = "times with and without a zone" if len(bare) > 1 else ""
    elif types.is_floating(kind) and any(isinstance(value, bool) for value in values):
        mixed = "numbers and booleans"
    if mixed:
        raise InputError(f"column {name!r} has {mixed}; give values of one kind")


def _from_rows(rows: Sequence[Any]) -> Any:
    names: dict[Any, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"metadata in a list must be one dict for each item, got {type(row).__name__} at {number}")
        names.update(dict.fromkeys(row))
        _check_number(len(names))
    return _from_columns({name: [row.get(name) for row in rows] for name in names})


def _read(path: Path, count: int) -> Any:
    readers = {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl, ".ndjson": _read_jsonl}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path} must be a .parquet, .csv or .jsonl file to be read as metadata, got {path.suffix!r}")
    size = check_regular(path)
    most = {_read_csv: _MOST_CSV, _read_jsonl: _MOST_JSONL}.get(reader)
    if most is not None and size > most:
        raise FileError(f"{path} has {size:,} bytes; a {path.suffix} of at most {most:,} is read: save it as .parquet")
    try:
        with open_regular(path) as file:
            return _plain(reader(file.read(), count))
    except FileError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (ValueError, LookupError, OverflowError, OSError, MemoryError, need().ArrowException) as error:
        raise FileError(
            f"{path} cannot be read as {path.suffix.lower()} ({_one_line(error)}); it is cut short, altered or of "
            "another format: write it again"
        ) from error


def _read_parquet(data: bytes, count: int) -> Any:
    found = announced(io.BytesIO(data))
    _check_size(len(data), found.n_bytes, found.pieces, count)
    return _unpack(data)


def _read_jsonl(data: bytes, count: int) -> Any:
    lines = data.decode("utf-8-sig").split("\n")
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number}: {error}") from error
    return _from_rows(rows)


def _read_csv(data: bytes, count: int) -> Any:
    arrow, csv = need(), need("pyarrow.csv")
    parse = csv.ParseOptions(newlines_in_values=True)
    names = csv.open_csv(arrow.BufferReader(data), parse_options=parse).schema.names
    _check_names(names)
    texts = csv.ConvertOptions(
        column_types=dict.fromkeys(names, arrow.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    table = csv.read_csv(arrow.BufferReader(data), parse_options=parse, convert_options=texts)
    return arrow.table({name: _guessed(table.column(name)) for name in names})


def _guessed(column: Any) -> Any:
    """A column of texts, as what all of them are."""
    arrow, compute = need(), need("pyarrow.compute")

    def are(pattern: str) -> bool:
        return bool(compute.all(compute.match_substring_regex(column, pattern)).as_py())

    if column.null_count == len(column):
        return arrow.nulls(len(column))
    guesses = [
        (_WHOLE, arrow.int64()),
        (_REAL, arrow.float64()),
        (r"^(?i:true|false)$", arrow.bool_()),
        (_DATE, arrow.date32()),
        (_TIME, arrow.timestamp("us")),
        (_ZONED, arrow.timestamp("us", tz="UTC")),
    ]
    for pattern, kind in guesses:
        if are(pattern):
            try:
                return column.cast(kind)
            except arrow.ArrowException:  # such as the 31st of June
                return column
    return column


# Of the table itself.


def _check_number(count: int) -> None:
    if count > _MOST_COLUMNS:
        raise InputError(f"metadata can have at most {_MOST_COLUMNS:,} columns, got {count:,}; leave some out")


def _check_names(names: Sequence[Any]) -> None:
    if not names:
        raise InputError("metadata has no columns; give at least one, or no metadata at all")
    _check_number(len(names))
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


def _plain(table: Any) -> Any:
    """The table with checked names and plain types, without notes of other libraries."""
    arrow = need()
    _check_names(table.column_names)
    try:
        table.validate(full=True)
    except arrow.ArrowException as error:
        _refused(error)
    columns = [_plain_column(name, table.column(name)) for name in table.column_names]
    return arrow.table(columns, names=table.column_names)


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
            f"column {name!r} cannot be kept as {kind} without loss ({_one_line(error)}); round it, or give it as text"
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
                f"values exactly ({_one_line(error)}); give it as text, or another name"
            ) from error
    return arrow.table(columns, schema=schema)
