"""A document as the adapters know it, and as a row of a collection's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longwave.errors import InputError

#: The column of the metadata that holds the text of a document, and that for metadata which no column can hold.
TEXT, MORE = "text", "_more"


@dataclass(frozen=True)
class Found:
    """A document: id, text, metadata; and its score where a search has found it."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None = None


def to_row(text: str, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A document as a row of the table: what a column can hold as such, the rest as JSON."""
    known = dict(metadata or {})
    taken = [name for name in known if name in (TEXT, MORE)]
    if taken:
        raise InputError(f"metadata must not have the key {taken[0]!r}, which Longwave uses; give it another name")
    plain = {name: value for name, value in known.items() if isinstance(value, str | bool | int | float)}
    rest = {name: value for name, value in known.items() if name not in plain}
    try:
        return {TEXT: text, **plain, MORE: json.dumps(rest) if rest else None}
    except TypeError as error:
        raise InputError(f"metadata must be what JSON can hold: {error}") from error


def from_row(id: str, row: dict[str, Any], score: float | None = None) -> Found:
    """The document of a row; where it has no text, its id stands for it."""
    text, rest = row.pop(TEXT, None), row.pop(MORE, None)
    known = {name: value for name, value in row.items() if value is not None}
    return Found(id, id if text is None else text, known | (json.loads(rest) if rest else {}), score)
