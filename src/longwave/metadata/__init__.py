"""Metadata of items: a table beside them, and conditions on it (extra `metadata`)."""

from longwave.metadata.conditions import Condition, all_of, parse, parse_text
from longwave.metadata.tables import as_table, common_schema, from_bytes, join, select, to_bytes

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
