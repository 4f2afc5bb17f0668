"""The metadata of a collection: a table for each of its segments, joined when first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.metadata.given import as_table
from longwave.metadata.parquet import from_bytes, to_bytes
from longwave.metadata.tables import common_schema, join


@dataclass(frozen=True, eq=False)
class Sheet:
    """The metadata of some items as the bytes of a Parquet file; None where they have none. name: for messages."""

    count: int
    data: NDArray[np.uint8] | None = None
    name: str = "metadata"

    @classmethod
    def of(cls, metadata: Any, count: int) -> Sheet:
        """From what a user gives, checked (`as_table`)."""
        return cls.of_table(as_table(metadata, count=count))

    @classmethod
    def of_table(cls, table: Any) -> Sheet:
        """From a table that was checked already."""
        return cls(table.num_rows, np.frombuffer(to_bytes(table), dtype=np.uint8))

    @cached_property
    def table(self) -> Any:
        """The table, or the number of items where there is none."""
        if self.data is None:
            return self.count
        return from_bytes(self.data.tobytes(), count=self.count, name=self.name)


@dataclass(frozen=True, eq=False)
class Described:
    """sheets: of consecutive items. At least one has a table."""

    sheets: tuple[Sheet, ...]

    @cached_property
    def table(self) -> Any:
        """One row for every item, those removed included."""
        return join([sheet.table for sheet in self.sheets if sheet.count])

    @property
    def schema(self) -> Any:
        """Columns and their types, as they are joined."""
        return common_schema(sheet.table.schema for sheet in self.sheets if sheet.data is not None)


def described(sheets: tuple[Sheet, ...]) -> Described | None:
    """The sheets as one; None where none of them has a table."""
    return Described(sheets) if any(sheet.data is not None for sheet in sheets) else None


def need_metadata(known: Described | None) -> Described:
    """What is known of the items, or an error that says how to give it."""
    if known is None:
        raise InputError(
            "this index has no metadata, which a condition or columns would need; give it: index.with_metadata(table), "
            "longwave.create(path, vectors, metadata=table), or longwave build --metadata F"
        )
    return known
