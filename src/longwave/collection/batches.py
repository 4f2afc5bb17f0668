"""From what a user gives to a segment: checked as a whole before anything is written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.building.growth import pooling_of, psi_of, vertices_near
from longwave.collection.living import Living
from longwave.errors import InputError
from longwave.items.items import Items
from longwave.metadata import common_schema
from longwave.metadata.described import Sheet, described
from longwave.rows.vectors import unit_vectors
from longwave.search.added import Block
from longwave.search.segments import Segment
from longwave.search.snapshot import Snapshot
from longwave.search.trust import reciprocity
from longwave.stores.memory import Memory
from longwave.types import Array

_NONE = np.zeros(0, dtype=np.int64)


def unit_of(living: Living, vectors: ArrayLike) -> NDArray[np.float32]:
    """The vectors of a batch, checked and of unit length. (m, d), or (d,) -> (m, d)"""
    given: Any = vectors
    if isinstance(vectors, np.ndarray) and vectors.ndim == 1:
        given = vectors[None]
    unit, dimension = unit_vectors(given), living.base.dimension
    if unit.shape[1] != dimension:
        raise InputError(f"vectors has {unit.shape[1]} dimensions but the collection has {dimension}")
    return unit


def new_items(living: Living, count: int, ids: ArrayLike | None, groups: ArrayLike | None) -> Items:
    """The items of a batch of so many vectors, with ids of the kind that the collection has."""
    if groups is not None and living.base.pooling is None:
        raise InputError(
            "items of this collection have one vector each; leave groups out, or create a collection with groups"
        )
    items = Items.make(count, groups=groups, ids=ids)
    kind = living.base.items.ids.dtype.kind
    if ids is None and groups is None:
        if kind == "U":
            raise InputError("ids of this collection are strings; give ids for the new items too")
        first = max(part.largest for part in living.parts) + 1
        return Items(items.ids + first, items.item_of)
    if items.ids.dtype.kind != kind:
        kinds = {"U": "strings", "i": "whole numbers"}
        raise InputError(f"ids of this collection are {kinds[kind]}, got {items.ids[0].item()!r}")
    return items


def check_new(living: Living, ids: Array) -> None:
    """Raise where an id is there already."""
    known = np.flatnonzero(living.find(ids) >= 0)
    if known.size:
        raise InputError(
            f"there is an item with id {ids[known[0]].item()!r} already ({known.size} of {len(ids)} ids are known); "
            "replace(vectors, ids=...) exchanges its vectors, remove(ids) takes it out"
        )


def numbers_of(living: Living, ids: Array) -> NDArray[np.int64]:
    """The number of each id; an unknown one, or one that occurs twice, is an error."""
    if not len(ids):
        raise InputError("ids is empty; give at least one id of the collection")
    numbers = living.find(ids)
    unknown = np.flatnonzero(numbers < 0)
    if unknown.size:
        raise InputError(
            f"there is no item with id {ids[unknown[0]].item()!r} ({unknown.size} of {len(ids)} ids are unknown); "
            "collection.index.ids lists them all"
        )
    return numbers


def sheet_of(living: Living, metadata: Any, count: int) -> Sheet:
    """The metadata of new items; an error where they do not go with what is there."""
    if metadata is None:
        return Sheet(count)
    sheet = Sheet.of(metadata, count)
    known = living.schema
    if known is not None and common_schema([known, sheet.table.schema]) != known:
        # Other types: whether every value fits is seen by putting all together, which is rare.
        base = living.base.metadata
        sheets = (Sheet(len(living.base.items)),) if base is None else base.sheets
        whole = described((*sheets, *(segment.sheet for segment in living.segments), sheet))
        assert whole is not None
        _ = whole.table
    return sheet


def make_segment(
    base: Snapshot,
    number: int,
    unit: NDArray[np.float32],
    items: Items,
    *,
    sheet: Sheet,
    removed: NDArray[np.int64] = _NONE,
) -> Segment:
    """New items as a segment: one search for each of their vectors. Nothing else of the collection is looked at."""
    count = 2 * base.settings.search.neighbors
    found = vertices_near(base, unit, count)
    item_of = pooling = None
    if base.pooling is not None:
        item_of = np.arange(len(unit)) if items.item_of is None else items.item_of
        pooling = pooling_of(base, unit, item_of)
    block = Block(Memory(unit), psi_of(base, found, count), pooling)
    expressed = float(reciprocity(found, base.graph.reach).mean())
    return Segment(number, items.ids, block, item_of, removed, sheet, expressed)


def without(base: Snapshot, number: int, removed: NDArray[np.int64]) -> Segment:
    """A segment that only takes items out."""
    return Segment(number, base.items.ids[:0], None, None, np.unique(removed), Sheet(0))
