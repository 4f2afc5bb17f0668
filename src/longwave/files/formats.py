"""One reader for each file format of vectors and labels; `files.vectors` chooses among them.

Nothing is ever unpickled. `.npy`, `.fvecs`, `.bvecs` and `.ivecs` stay on disk and are read in place, of `.zarr` the
rows asked for are read; the other formats are loaded whole. Whatever goes wrong is a `FileError` that names the file
and the remedy.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
import warnings
import zlib
from array import array as packed
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from longwave.errors import DataWarning, FileError, MissingExtraError
from longwave.files.bounded import check_growth, mapped_npy, npy_header, open_npz, read_npz
from longwave.files.hdf5 import HDF5_SIGNATURE, open_reader
from longwave.files.mat5 import MatFile
from longwave.files.parquet_footer import announced_bytes
from longwave.files.zarr_folders import arrays_of, check_codecs, check_size, read_rows

Array = npt.NDArray[Any]
#: Formats that hold several arrays by name.
CONTAINERS = frozenset({".npz", ".mat", ".h5", ".hdf5", ".parquet", ".safetensors", ".zarr"})
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")  # 007 is not a number but a code
_LISTED = 12  # arrays named in a message
_CELLS = 1 << 20  # in a row of a .csv
_KINDS = {2: "iuf", 1: "iufUS"}  # numpy's letters of the types that vectors and labels can have
_FORMS = {
    2: ("vectors", "real numbers", "2-D, rows × dimensions (a single one is 1 × d)"),
    1: ("labels", "integers or text", "1-D, or a single row or column"),
}


class Request(NamedTuple):
    """What a reader is asked for: an array of `ndim` dimensions, by name or the only one that fits.

    rows: those that are wanted; only a reader of what is neither mapped nor loaded whole looks at it.
    """

    path: Path
    name: str | None
    ndim: int
    rows: slice = slice(None)


class Entry(NamedTuple):
    """An array that has not been read: its shape (-1 is unknown), numpy's letter for its kind, its type."""

    shape: tuple[int, ...]
    kind: str
    type: str


def _damaged(path: Path, reason: str) -> FileError:
    return FileError(
        f"{path} cannot be read as {path.suffix.lower()} ({reason}); "
        "it is cut short, altered or of another format: write or download it again"
    )


@contextmanager
def decoding(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Turn an OSError, or one of the errors a library is known to raise on a bad file, into a FileError."""
    known: tuple[type[Exception], ...] = (OSError, *errors)
    try:
        yield
    except FileError:
        raise
    except MemoryError as error:
        remedy = "if it is not damaged, save it as .npy, which is read in place"
        raise FileError(f"{path} needs more memory than there is; {remedy}") from error
    except known as error:
        raise _damaged(path, " ".join(str(error).split()) or type(error).__name__) from error


def need(module: str, path: Path) -> Any:
    """A module of the extra `files`, imported late."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"reading {path}", "files") from error


def describe(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Entry:
    """Describe an array."""
    return Entry(shape, dtype.kind, {"U": "text", "S": "text"}.get(dtype.kind, dtype.name))


def _size(shape: tuple[int, ...]) -> str:
    return " × ".join("?" if length < 0 else str(length) for length in shape) or "scalar"


def _fits(ndim: int, entry: Entry) -> bool:
    """Whether the array can be vectors (2) or labels (1: also a single row or column)."""
    shape = len(entry.shape) == ndim or (ndim == 1 and len(entry.shape) == 2 and 1 in entry.shape)
    return shape and entry.kind in _KINDS[ndim]


def check(request: Request, entry: Entry, name: str | None = None) -> None:
    """Raise unless the array can be what is asked for."""
    where = f"{request.path}: {name}" if name else f"{request.path}"
    what, form, shape = _FORMS[request.ndim]
    if entry.kind == "O":
        raise FileError(f"{where} holds Python objects, which are never unpickled; save {form} instead")
    if entry.kind not in _KINDS[request.ndim]:
        raise FileError(f"{where} is of type {entry.type}; {what} must be {form}: convert and save again")
    if not _fits(request.ndim, entry):
        raise FileError(f"{where} has the shape {_size(entry.shape)}; {what} must be {shape}: reshape it")
    if 0 in entry.shape:
        raise FileError(f"{where} is empty (shape {_size(entry.shape)}); save at least one row")


def _choose(request: Request, arrays: dict[str, Entry]) -> str:
    """The name of the array asked for, checked, or of the only one that fits."""
    path, name = request.path, request.name
    listed = [f"{key} ({_size(entry.shape)}, {entry.type})" for key, entry in arrays.items()]
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    listing = f"it has {', '.join(listed[:_LISTED]) or 'no arrays'}{more}"
    fitting = [key for key, entry in arrays.items() if _fits(request.ndim, entry)]
    if name is None and len(fitting) != 1:
        what = "2-D arrays of numbers" if request.ndim == 2 else "1-D arrays of integers or text"
        count = "several" if fitting else "no"
        raise FileError(f"{path} has {count} {what}: {listing}; pass the name, as in {path.name}:NAME")
    if name is not None and name not in arrays:
        raise FileError(f"{path} has no array named {name!r}: {listing}; pass the name of one of these")
    chosen = fitting[0] if name is None else name
    check(request, arrays[chosen], chosen)
    return chosen


def _npy(request: Request) -> Array:
    path = request.path
    with decoding(path, ValueError):
        with path.open("rb") as stream:
            header = npy_header(stream)
        check(request, describe(header.shape, header.dtype))
        missing = header.n_bytes - (path.stat().st_size - header.start)
        if missing > 0:
            raise _damaged(path, f"{missing} bytes are missing")
        return mapped_npy(path, header)


def _npz(request: Request) -> Array:
    path = request.path
    with decoding(path, ValueError):
        with open_npz(path) as (_, headers):
            found = {name: describe(header.shape, header.dtype) for name, header in headers.items()}
        return read_npz(path, _choose(request, found))


def _vecs(request: Request) -> Array:
    """TEXMEX: every row is its dimension, a little-endian int32, and its numbers."""
    path = request.path
    dtype = np.dtype({".fvecs": "<f4", ".ivecs": "<i4", ".bvecs": "u1"}[path.suffix.lower()])
    with decoding(path, ValueError):
        data = np.memmap(path, np.uint8, mode="r")
    if data.size < 4 or (dimension := int(data[:4].view("<i4")[0])) < 1:
        raise _damaged(path, "it does not begin with a dimension")
    row = 4 + dimension * dtype.itemsize
    if data.size % row:
        raise _damaged(path, f"{data.size} bytes are not a whole number of rows of {dimension} dimensions")
    rows = data.reshape(-1, row)
    other = np.flatnonzero(rows[:, :4].view("<i4")[:, 0] != dimension)
    if other.size:
        raise _damaged(path, f"row {other[0] + 1} does not have the {dimension} dimensions of the first")
    return rows[:, 4:].view(dtype)


def _mat(request: Request) -> Array:
    """MATLAB: v7.3 is HDF5 behind a header of 512 bytes; only the array asked for is decoded."""
    path = request.path
    with decoding(path), path.open("rb") as stream:
        head = stream.read(520)
    if HDF5_SIGNATURE in (head[:8], head[512:]):
        return _hdf5(request, matlab=True)
    with decoding(path, ValueError, zlib.error):
        file = MatFile(path)
        arrays = {
            name: Entry(
                found.shape, "f" if found.kind in {"double", "single"} or "int" in found.kind else "V", found.kind
            )
            for name, found in file.variables.items()
        }
        array: Array = file.read(_choose(request, arrays))
    return array


def _hdf5(request: Request, matlab: bool = False) -> Array:
    path, arrays = request.path, {}
    with open_reader(path) as reader:
        for name, found in reader.listing(path).items():
            if matlab and name.startswith("#"):
                continue
            shape = found.shape[:: -1 if matlab else 1]
            if matlab and found.matlab in {"char", "logical"}:  # stored as numbers
                arrays[name] = Entry(shape, "V", found.matlab)
            elif found.dtype is None:
                arrays[name] = Entry(shape, *(("U", "text") if found.text else ("V", "references or lists")))
            else:
                arrays[name] = describe(shape, found.dtype)
        (array,) = reader.read(path, [_choose(request, arrays)])
    return array.T if matlab else array


def _arrow_entry(rows: int, kind: Any, types: Any) -> Entry:
    shape: tuple[int, ...] = (rows,)
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    inner = kind.value_type if lists or types.is_dictionary(kind) else kind
    if lists:
        shape = (rows, kind.list_size if types.is_fixed_size_list(kind) else -1)
    if types.is_integer(inner) or types.is_floating(inner):
        return Entry(shape, "f", str(kind))
    return Entry(shape, "U" if types.is_string(inner) or types.is_large_string(inner) else "V", str(kind))


def _parquet(request: Request) -> Array:
    path = request.path
    parquet, arrow = need("pyarrow.parquet", path), need("pyarrow", path)
    with decoding(path, ValueError):
        check_growth(path, announced_bytes(path))
    with decoding(path, arrow.ArrowException, ValueError, LookupError), parquet.ParquetFile(path) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
        arrays = {field.name: _arrow_entry(rows, field.type, arrow.types) for field in schema}
        names: list[str] = []
        if request.ndim == 2 and request.name is None and not any(_fits(2, e) for e in arrays.values()):
            names = [name for name, entry in arrays.items() if _fits(1, entry) and entry.kind == "f"]
        if names:  # no column of lists: the numeric columns are the dimensions
            check(request, Entry((rows, len(names)), "f", "columns"))
            table = file.read(columns=names)
            return np.column_stack([_column(path, name, table.column(name)) for name in names])
        name = _choose(request, arrays)
        return _column(path, name, file.read(columns=[name]).column(name))


def _column(path: Path, name: str, column: Any) -> Array:
    compute, types = need("pyarrow.compute", path), need("pyarrow.types", path)
    values = column
    if types.is_nested(column.type):
        values = compute.list_flatten(column)
    elif types.is_dictionary(column.type):
        values = column.cast(column.type.value_type)
    if column.null_count or values.null_count:
        raise FileError(f"{path}: column {name} has missing values; fill them or drop their rows")
    array: Array = values.to_numpy()
    if not types.is_nested(column.type):
        return _texts(path, array) if array.dtype.kind == "O" else array
    lengths = compute.list_value_length(column).to_numpy()
    other = np.flatnonzero(lengths != lengths[0])
    if other.size:
        wrong = f"row {other[0] + 1} has {lengths[other[0]]} numbers where the first row has {lengths[0]}"
        raise FileError(f"{path}: column {name}, {wrong}; make all rows of one length")
    return array.reshape(len(lengths), lengths[0])


def _safetensors(request: Request) -> Array:
    path = request.path
    library = need("safetensors", path)
    need("ml_dtypes", path)  # numpy learns of bfloat16
    with decoding(path, library.SafetensorError), library.safe_open(path, framework="numpy") as file:
        arrays = {}
        for name in file.keys():  # noqa: SIM118, not a dict
            part = file.get_slice(name)
            kind = part.get_dtype()
            number = kind in {"F64", "F32", "F16", "BF16"} or kind[0] in "IU"
            arrays[name] = Entry(tuple(part.get_shape()), "f" if number else "V", kind)
        name = _choose(request, arrays)
        array: Array = file.get_tensor(name)
    return array.astype(np.float32) if arrays[name].type == "BF16" else array


def _zarr(request: Request) -> Array:
    return read_rows(request.path, open_zarr(request), request.rows)


def open_zarr(request: Request) -> Any:
    """The array asked for, checked and not read: it has shape, dtype and chunks."""
    path = request.path
    arrays = arrays_of(need("zarr", path), path)
    entries = {name: describe(own.shape, own.dtype) for name, own in arrays.items()}
    if "" in arrays:
        if request.name is not None:
            raise FileError(f"{path} holds a single array; leave out the name {request.name!r}")
        check(request, entries[""])
    array = arrays["" if "" in arrays else _choose(request, entries)]
    check_codecs(path, array)
    if request.rows == slice(None):  # who asks for some has asked for the shape before
        check_size(path, array)
    return array


def _text(path: Path) -> str:
    try:
        with decoding(path):
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text; save it as UTF-8") from error


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a .csv with their line numbers."""
    open_cells = 0

    def lines() -> Iterator[str]:
        nonlocal open_cells
        for line in io.StringIO(_text(path).rstrip("\n")):
            open_cells += line.count(",")
            if open_cells > _CELLS:
                raise FileError(f"{path} has a row of more than {_CELLS:,} cells; write one vector on each line")
            yield line

    with decoding(path, csv.Error):
        reader = csv.reader(lines())
        for row in reader:
            yield reader.line_num, row
            open_cells = 0


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# What a first column is called that has no part of the vectors; pandas writes its row numbers without a name.
_ROW_NAMES = ("", "id", "ids", "index", "unnamed: 0")


def _csv(request: Request) -> Array:
    numbers, width, numbered = packed("d"), 0, 0
    for index, (line, cells) in enumerate(_csv_rows(request.path)):
        if index == 0 and len(cells) > 1 and cells[0].strip().lower() in _ROW_NAMES:
            raise FileError(
                f"{request.path}, line {line}: the first column is called {cells[0]!r}, so it seems to hold row "
                "numbers or ids, not a part of the vectors; leave it out (in pandas: to_csv(..., index=False)), and "
                "give ids in a file of their own"
            )
        if index == 0 and len(cells) > 2 and cells == [str(i) for i in range(len(cells))]:
            numbered = line  # 0,1,2,...: the column numbers that pandas writes
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError as error:
            words = [cell for cell in cells if not _is_number(cell)]
            if index == 0 and words == cells:
                continue  # the header
            wrong = f"{words[0][:40]!r} is not a number"
            raise FileError(f"{request.path}, line {line}: {wrong}; write numbers separated by commas") from error
        if numbers and row and len(row) != width:
            wrong = f"{len(row)} numbers where the first row has {width}"
            raise FileError(f"{request.path}, line {line}: {wrong}; make all rows of one length")
        width = len(row) or width  # 0: an empty line
        numbers.extend(row)
    if not numbers:
        raise FileError(f"{request.path} is empty: it has no row of numbers; write one vector on each line")
    read = np.array(numbers).reshape(-1, width)
    if numbered and (read == np.rint(read)).all():
        warnings.warn(
            f"{request.path}, line {numbered} counts 0, 1, 2 … and is taken as the names of the columns; if it is a "
            "vector, write a line of names above it",
            DataWarning,
            stacklevel=2,
        )
    return read


def _label_lines(request: Request) -> Array:
    path = request.path
    if path.suffix.lower() == ".csv":
        rows = list(_csv_rows(path))
    else:
        rows = [(line, [text]) for line, text in enumerate(_text(path).rstrip("\n").split("\n"), 1)]
    labels = []
    for line, cells in rows:
        if len(cells) != 1 or not cells[0].strip():
            raise FileError(f"{path}, line {line} does not hold one label; write one label on each line")
        labels.append(cells[0].strip())
    with suppress(OverflowError):  # longer ones stay text
        if all(_INTEGER.fullmatch(label) for label in labels):
            return np.array([int(label) for label in labels], dtype=np.int64)
    return _texts(path, labels)


def _texts(path: Path, labels: Any) -> Array:
    """As numpy keeps them: every one takes the room of the longest."""
    check_growth(path, 4 * len(labels) * max(len(str(label)) for label in labels))
    return np.array(labels, dtype=str)


def _json(request: Request) -> Array:
    with decoding(request.path, ValueError, RecursionError):
        labels = json.loads(_text(request.path))
    kinds = {type(label) for label in labels} if isinstance(labels, list) else set()
    if labels != [] and kinds not in ({int}, {float}, {str}):
        raise FileError(f"{request.path} must hold a flat list of integers or of strings, and nothing else")
    if kinds == {str}:
        return _texts(request.path, labels)
    try:
        return np.array(labels, dtype=np.int64 if kinds == {int} else None)
    except OverflowError as error:
        raise FileError(f"{request.path}: some labels do not fit in 64-bit integers; quote them") from error


READERS: dict[str, Callable[[Request], Array]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".fvecs": _vecs,
    ".bvecs": _vecs,
    ".ivecs": _vecs,
    ".mat": _mat,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".parquet": _parquet,
    ".safetensors": _safetensors,
    ".csv": _csv,
    ".zarr": _zarr,
}
LABEL_READERS: dict[str, Callable[[Request], Array]] = {
    **{suffix: READERS[suffix] for suffix in (".npy", ".npz", ".mat", ".h5", ".hdf5", ".parquet")},
    ".json": _json,
    ".csv": _label_lines,
    ".txt": _label_lines,
}
