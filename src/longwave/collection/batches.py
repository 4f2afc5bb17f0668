"""New items as a user gives them, checked as a whole and made a segment before anything is written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.building.growth import pooling_of, psi_of, vertices_near
from longwave.collection.living import Living
from longwave.errors import InputError
from longwave.items.items import Items, labels_of
from longwave.metadata import common_schema
from longwave.metadata.arrow import need
from longwave.metadata.described import Sheet, described
from longwave.rows.vectors import unit_vectors
from longwave.search.added import Block
from longwave.search.segments import Segment
from longwave.search.snapshot import Snapshot
from longwave.search.trust import reciprocity
from longwave.stores.memory import Memory
from longwave.types import Array

#: No items.
NONE = np.zeros(0, dtype=np.int64)


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
    if ids is None and groups is None:
        if living.base.items.ids.dtype.kind == "U":
            raise InputError("ids of this collection are strings; give ids for the new items too")
        first = max(part.largest for part in living.parts) + 1
        return Items(items.ids + first, items.item_of)
    return Items(ids_of(living, items.ids), items.item_of)


def ids_of(living: Living, ids: ArrayLike) -> Array:
    """Ids that a user gives, of the kind that the collection has."""
    given, kind = np.atleast_1d(np.asarray(ids)), living.base.items.ids.dtype.kind
    if not given.size:
        return living.base.items.ids[:0]
    found = labels_of(given, "ids")
    if found.dtype.kind != kind:
        kinds = {"U": "strings", "i": "whole numbers"}
        raise InputError(f"ids of this collection are {kinds[kind]}, got {found[0].item()!r}")
    return found


def check_new(living: Living, ids: Array, free: NDArray[np.int64]) -> None:
    """Raise where an id is there already, or comes twice. free: numbers of items that give theirs up."""
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"ids must be distinct, but {counts.max()} items would have the id {values[counts.argmax()].item()!r}"
        )
    numbers = living.find(ids)
    known = np.flatnonzero((numbers >= 0) & ~np.isin(numbers, free))
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


def sheet_of(living: Living, metadata: Any, ids: Array, gone: NDArray[np.int64]) -> Sheet:
    """The metadata of new items; an error where they do not go with what is there.

    Where none are given, an item in place of one that goes keeps what was known of that. gone: numbers of these.
    """
    if metadata is None:
        numbers = living.find(ids) if len(gone) and living.schema is not None else NONE
        kept = np.isin(numbers, gone)
        if not kept.any():
            return Sheet(len(ids))
        assert living.index.metadata is not None
        return Sheet.of_table(living.index.metadata.table.take(need().array(numbers, mask=~kept)))
    sheet = Sheet.of(metadata, len(ids))
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
    removed: NDArray[np.int64] = NONE,
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
