"""Metadata of items: a table beside them, and conditions on it (extra `metadata`)."""

from longwave.metadata.conditions import Condition, all_of
from longwave.metadata.given import as_table
from longwave.metadata.lines import parse_text
from longwave.metadata.objects import parse
from longwave.metadata.parquet import from_bytes, to_bytes
from longwave.metadata.tables import common_schema, join, select

__all__ = [
    "Condition",
    "all_of",
    "parse",
    "parse_text",
    "as_table",
    "common_schema",
    "from_bytes",
    "join",
    "select",
    "to_bytes",
]
