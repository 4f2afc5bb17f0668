"""All segments of a collection put together as one, without what was added and removed again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from longwave.collection.living import Living
from longwave.items.items import Items
from longwave.metadata.described import Sheet
from longwave.plan import wants_codes, wants_links
from longwave.search.added import Block
from longwave.search.segments import Segment, merged
from longwave.stores import links
from longwave.stores.approximate import Approximate
from longwave.stores.codes import Codes
from longwave.stores.memory import Memory


def is_needed(known: Living) -> bool:
    """Whether there are several segments, or one with items that were removed again, or one that is to be linked."""
    inside = len(known.base.items)
    several = len(known.segments) > 1 or any((segment.removed >= inside).any() for segment in known.segments)
    return several or any(_is_scanned(known, segment) for segment in known.segments)


def compacted(known: Living) -> Segment | None:
    """One segment in place of all; None where nothing is left of them. Items of the base keep their numbers.

    Where the vectors of the graph have a quick search, and the new ones are many, these get one as well.
    """
    whole = _as_one(known)
    if whole is None or whole.block is None or not _is_scanned(known, whole):
        return whole
    rows = whole.block.vectors.rows(slice(None))
    made = Codes(rows) if wants_codes(*rows.shape) else links.build(rows)
    if made.facts.recall < links.TARGET:  # a scan misses nothing
        return whole
    return replace(whole, block=replace(whole.block, vectors=Approximate(Memory(rows), made)))


def _is_scanned(known: Living, segment: Segment) -> bool:
    """Whether codes or links would be quicker."""
    if segment.block is None or not isinstance(known.base.vertices, Approximate):
        return False
    held = segment.block.vectors
    size = len(held), held.dimension
    return not isinstance(held, Approximate) and (wants_codes(*size) or wants_links(*size, None))


def _as_one(known: Living) -> Segment | None:
    """All segments, without what was added and removed again."""
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
