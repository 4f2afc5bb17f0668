"""All segments as one: what was added and removed again is gone, and so are the steps by which it came."""

from __future__ import annotations

import numpy as np

from longwave.collection.living import Living
from longwave.items.items import Items
from longwave.metadata.described import Sheet
from longwave.search.added import Block
from longwave.search.segments import Segment, merged
from longwave.stores.memory import Memory


def is_needed(known: Living) -> bool:
    """Whether there are several segments, or one with items that were removed again."""
    inside = len(known.base.items)
    return len(known.segments) > 1 or any((segment.removed >= inside).any() for segment in known.segments)


def compacted(known: Living) -> Segment | None:
    """One segment in place of all; None where nothing is left of them. Items of the base keep their numbers."""
    inside, number = len(known.base.items), known.next_segment
    if not known.segments:
        return None
    whole = merged(known.segments, number)
    gone = whole.removed[whole.removed >= inside] - inside
    removed = whole.removed[whole.removed < inside]
    if whole.block is None or not len(gone):
        return whole if whole.size else None
    keep = np.ones(len(whole.ids), dtype=bool)
    keep[gone] = False
    if not keep.any():
        return Segment(number, whole.ids[:0], None, None, removed, Sheet(0)) if len(removed) else None
    items, block = Items(whole.ids, whole.item_of), whole.block
    rows = np.flatnonzero(keep if items.item_of is None else keep[items.item_of])
    item_of = pooling = None
    if items.item_of is not None:
        item_of = (np.cumsum(keep) - 1)[items.item_of[rows]]
        pooling = None if block.pooling is None else block.pooling[np.flatnonzero(keep)][:, rows]
    sheet = Sheet(int(keep.sum()))
    if whole.sheet.data is not None:
        sheet = Sheet.of_table(whole.sheet.table.take(np.flatnonzero(keep)))
    left = Block(Memory(block.vectors.rows(rows)), block.psi[rows], pooling)
    return Segment(number, whole.ids[keep], left, item_of, removed, sheet, whole.expressed)
