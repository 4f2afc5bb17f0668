"""Metadata as the bytes of a Parquet file with a checksum: how an index folder keeps them."""

from __future__ import annotations

import io
import zlib
from typing import Any

from longwave.errors import CorruptIndexError, plural
from longwave.files.bounded import most_bytes
from longwave.files.parquet_footer import announced
from longwave.metadata.arrow import need
from longwave.metadata.messages import one_line
from longwave.metadata.tables import plain

# Bytes of a value in memory, of which a file of copies of one value has next to none.
_VALUE_BYTES = 16
# Before the footer, where readers of Parquet do not look: the checksum of everything else.
_SEAL = b"LWmd"


def to_bytes(table: Any) -> bytes:
    """A Parquet file that any reader of Parquet opens, with a checksum for `from_bytes`."""
    sink = io.BytesIO()
    need("pyarrow.parquet").write_table(plain(table), sink, compression="zstd", write_page_checksum=True)
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
        return plain(table)
    except (ValueError, LookupError, TypeError, OverflowError, OSError, MemoryError, arrow.ArrowException) as error:
        raise CorruptIndexError(
            f"{name} is damaged ({one_line(error)}); restore it from a copy, or add the items again"
        ) from error


def read_foreign(data: bytes, count: int) -> Any:
    """A table from anybody's Parquet file, for `count` items; one that announces far more than they need is refused."""
    found = announced(io.BytesIO(data))
    _check_size(len(data), found.n_bytes, found.pieces, count)
    return _unpack(data)


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
