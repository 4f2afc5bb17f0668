"""Which items a search may find: a mask, ids, or a condition on their metadata; and the metadata of hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.metadata import Condition, parse, parse_text, select
from longwave.metadata.described import Described, Sheet, need_metadata
from longwave.search.snapshot import Snapshot
from longwave.types import Array, Hits

#: What `where` takes: a mask of the items, some of their ids, or a condition, also as a dict or as text.
Where: TypeAlias = ArrayLike | Mapping[str, Any] | Condition


def allowed(snapshot: Snapshot, where: Where) -> NDArray[np.bool_]:
    """Whether each item is left; none at all is an error. (N,)"""
    items = snapshot.items
    if isinstance(where, str) and not (items.ids.dtype.kind == "U" and _is_id(items.ids, where)):
        where = parse_text(where)
    if isinstance(where, Set):
        where = list(where)
    if _is_no_condition(where):
        raise InputError(
            f"where must be a mask, ids, or one condition, got {str(where)[:100]}; several conditions are joined with "
            '& and |, or as a dict: {"kind": "shoe", "price": {"$lt": 50}}'
        )
    if not isinstance(where, Mapping | Condition):
        return items.allowed(where)
    condition = parse(where)
    mask = condition.mask(need_metadata(snapshot.metadata).table)
    left: NDArray[np.bool_] = mask if items.live is None else mask & items.live
    if not left.any():
        raise InputError(f"no item meets the condition: {str(condition)[:400]}; widen it")
    return left


def _is_no_condition(given: Any) -> bool:
    """Whether this is a function, or several conditions that nothing joins."""
    several = isinstance(given, list | tuple) and any(isinstance(part, Mapping | Condition) for part in given)
    return several or callable(given)


def _is_id(ids: Array, text: str) -> bool:
    """Whether a text is meant as an id and not as a condition."""
    return not any(sign in text for sign in "=<>?{") or bool((ids == text).any())


def with_columns(snapshot: Snapshot, hits: Hits, columns: Sequence[str] | None) -> Hits:
    """The hits with some of their metadata."""
    if columns is None:
        return hits
    table = need_metadata(snapshot.metadata).table
    flat = np.asarray(hits.ids).ravel()
    found = select(table, snapshot.items.places(flat) if flat.size else flat[:0].astype(np.int64), columns)
    wide = hits.ids.shape[1]
    rows = range(0, len(flat), wide) if wide else ()
    return replace(hits, columns={name: [own[start : start + wide] for start in rows] for name, own in found.items()})


def described_items(snapshot: Snapshot, metadata: Any) -> Described:
    """What a user says of the items that are there, one row each, as a table over all items."""
    sheet = Sheet.of(metadata, len(snapshot))
    live = snapshot.items.live
    if live is not None:
        rows = np.where(live, np.cumsum(live) - 1, 0)  # rows of items that were removed are never looked at
        sheet = Sheet.of_table(sheet.table.take(rows))
    return Described((sheet,))
