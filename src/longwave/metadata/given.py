"""Metadata as users give them: tables, frames, dicts and files become one checked table."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import FileError, InputError, plural
from longwave.files.bounded import check_regular, open_regular
from longwave.metadata.arrow import need
from longwave.metadata.messages import one_line
from longwave.metadata.parquet import read_foreign
from longwave.metadata.tables import check_names, check_number, plain, refused

# A .csv is read whole as text; every line of a .jsonl becomes Python objects, some ten times as large.
_MOST_CSV, _MOST_JSONL = 1 << 31, 1 << 28
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"  # 007 is not a number but a code
_REAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$"
_ZONED = _TIME[:-1] + r"(Z|[+-][0-9]{2}:?[0-9]{2})$"


def as_table(metadata: Any, *, count: int) -> Any:
    """Metadata as a user gives them, to a checked pyarrow.Table with one row for each of `count` items.

    metadata: a pyarrow Table or RecordBatch; a DataFrame of pandas (its index is left out) or of another library that
    speaks Arrow; a dict of columns; a list of dicts, one for each item, where keys may be absent; or the path of a
    .parquet, .csv or .jsonl file. In a .csv the first line has the names, an empty cell is a missing value, and a
    column is of whole numbers, floats, booleans, dates or times if all its cells are; 007 stays text.
    """
    is_path = isinstance(metadata, str | os.PathLike)
    table = _read(Path(metadata), count) if is_path else plain(_given(metadata))
    if table.num_rows != count:
        raise InputError(
            f"metadata must have one row for each item, {count:,}, got {plural(table.num_rows, 'row')}; "
            "put missing values where there is nothing to say"
        )
    return table


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


def _foreign(make: Any) -> Any:
    """What another library makes of its table."""
    try:
        return make()
    except (need().ArrowException, TypeError, ValueError, OverflowError, LookupError) as error:
        refused(error)


def _from_frame(frame: Any) -> Any:
    check_names(list(frame.columns))
    return _foreign(lambda: need().Table.from_pandas(frame, preserve_index=False))


def _from_columns(columns: Mapping[Any, Any]) -> Any:
    check_names(list(columns))
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
        refused(error, f"column {name!r}")
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
        check_number(len(names))
    return _from_columns({name: [row.get(name) for row in rows] for name in names})


def _read(path: Path, count: int) -> Any:
    readers = {".parquet": read_foreign, ".csv": _read_csv, ".jsonl": _read_jsonl, ".ndjson": _read_jsonl}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path} must be a .parquet, .csv or .jsonl file to be read as metadata, got {path.suffix!r}")
    size = check_regular(path)
    most = {_read_csv: _MOST_CSV, _read_jsonl: _MOST_JSONL}.get(reader)
    if most is not None and size > most:
        raise FileError(f"{path} has {size:,} bytes; a {path.suffix} of at most {most:,} is read: save it as .parquet")
    try:
        with open_regular(path) as file:
            return plain(reader(file.read(), count))
    except FileError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (ValueError, LookupError, OverflowError, OSError, MemoryError, need().ArrowException) as error:
        raise FileError(
            f"{path} cannot be read as {path.suffix.lower()} ({one_line(error)}); it is cut short, altered or of "
            "another format: write it again"
        ) from error


def _read_jsonl(data: bytes, count: int) -> Any:
    lines = data.decode("utf-8-sig").split("\n")
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except RecursionError as error:
                raise ValueError(f"line {number}: it is nested too deeply") from error
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return _from_rows(rows)


def _read_csv(data: bytes, count: int) -> Any:
    arrow, csv = need(), need("pyarrow.csv")
    parse = csv.ParseOptions(newlines_in_values=True)
    names = csv.open_csv(arrow.BufferReader(data), parse_options=parse).schema.names
    check_names(names)
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
