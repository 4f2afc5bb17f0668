"""Segments: what was added and removed since the base of a collection was made, as values, as arrays, as a snapshot.

Items are numbered through: those of the base, then those of every segment in order. A number is never given twice, so
what was removed is told by number, and neighbouring segments become one by being put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.items.items import Items
from longwave.metadata.described import Sheet, described
from longwave.metadata.tables import join as join_tables
from longwave.plan import Structure
from longwave.search.added import Added, Block
from longwave.search.snapshot import Snapshot
from longwave.storage.packing import (
    FLOATS,
    PLACES,
    pack_search,
    pack_sparse,
    take,
    take_places,
    unpack_first,
    unpack_sparse,
)
from longwave.storage.settings import fit
from longwave.stores.approximate import Approximate
from longwave.stores.memory import Memory
from longwave.types import Array

_S = TypeVar("_S", bound=Snapshot)
#: Before the names of arrays of segments.
PREFIX = "segment-"


@dataclass(frozen=True, eq=False)
class Segment:
    """One batch, or several that became one.

    ids: (A,) of the new items. block: their vectors and ψ; None where nothing was added. item_of: (a,) the item of each
    vector, where items have several. removed: numbers of items that went, ascending; of any segment. sheet: metadata of
    the new items. expressed: the share of their neighbours that would count them among their own, a mean.
    """

    number: int
    ids: Array
    block: Block | None
    item_of: NDArray[np.int64] | None
    removed: NDArray[np.int64]
    sheet: Sheet
    expressed: float = 1.0

    @property
    def size(self) -> int:
        """Items added and removed: what tiers go by."""
        return len(self.ids) + len(self.removed)


def prefix_of(number: int) -> str:
    """What the names of a segment's arrays begin with."""
    return f"{PREFIX}{number:06d}-"


def pack_segment(segment: Segment) -> tuple[dict[str, Any], dict[str, Array]]:
    """What the manifest says of a segment, and its arrays by name."""
    name = prefix_of(segment.number)
    facts: dict[str, Any] = {"number": segment.number, "items": len(segment.ids)}
    facts["expressed"] = round(segment.expressed, 6)
    arrays: dict[str, Array] = {}
    if segment.block is not None:
        block = segment.block
        arrays |= {f"{name}vectors": block.vectors.rows(slice(None)), f"{name}ids": segment.ids}
        arrays |= pack_sparse(f"{name}psi", block.psi)
        if isinstance(block.vectors, Approximate):
            facts["first"] = asdict(block.vectors.by.facts)
            arrays |= pack_search(f"{name}first", block.vectors.by)
        if segment.item_of is not None and block.pooling is not None:
            arrays |= {f"{name}item_of": segment.item_of, f"{name}weights": _weights(block.pooling)}
    if len(segment.removed):
        arrays[f"{name}removed"] = segment.removed
    if segment.sheet.data is not None:
        arrays[f"{name}metadata"] = segment.sheet.data
    return facts, arrays


def unpack_segment(facts: Mapping[str, Any], arrays: Mapping[str, Array], base: Snapshot, before: int) -> Segment:
    """The segment that `pack_segment` took apart. before: items in front of it. ValueError where something is wrong."""
    number, count, expressed = facts.get("number"), facts.get("items"), facts.get("expressed", 1.0)
    if type(number) is not int or type(count) is not int or count < 0 or not isinstance(expressed, int | float):
        raise ValueError(f"a segment has the number {number!r} and {count!r} items")
    name, n = prefix_of(number), base.n_vertices
    block = item_of = None
    ids = base.items.ids[:0]
    if count:
        vectors = take(arrays, f"{name}vectors", (np.float32,), None, base.vertices.dimension)
        ids = take(arrays, f"{name}ids", (*PLACES, np.str_), count)
        if ids.dtype.kind != base.items.ids.dtype.kind:
            raise ValueError(f"{name}ids are {ids.dtype}, those of the index {base.items.ids.dtype}")
        psi = unpack_sparse(f"{name}psi", arrays, (len(vectors), n))
        pooling = None
        if base.pooling is not None:
            item_of = take_places(arrays, f"{name}item_of", len(vectors), count)
            pooling = _pooling(take(arrays, f"{name}weights", FLOATS, len(vectors)), item_of, count)
        elif len(vectors) != count:
            raise ValueError(f"{name}vectors are {len(vectors)} for {count} items")
        by = unpack_first(f"{name}first", arrays, fit(Structure | None, facts.get("first"), "first"), vectors)
        block = Block(Memory(vectors) if by is None else Approximate(Memory(vectors), by), psi, pooling)
    removed = np.zeros(0, dtype=np.int64)
    if f"{name}removed" in arrays:
        removed = np.asarray(take_places(arrays, f"{name}removed", None, before + count), dtype=np.int64)
        if (removed[1:] <= removed[:-1]).any():
            raise ValueError(f"{name}removed does not ascend")
    data = take(arrays, f"{name}metadata", (np.uint8,), None) if f"{name}metadata" in arrays else None
    sheet = Sheet(count, data, f"{name}metadata")
    return Segment(number, ids, block, item_of, removed, sheet, float(expressed))


def unpack_segments(facts: Mapping[str, Any], arrays: Mapping[str, Array], base: Snapshot) -> tuple[Segment, ...]:
    """All segments of a folder. facts: what its manifest says."""
    told = facts.get("segments", [])
    if not isinstance(told, list) or not all(isinstance(one, Mapping) for one in told):
        raise ValueError(f"segments must be a list of objects, got {told!r}")
    segments: list[Segment] = []
    before = len(base.items)
    for one in told:
        segments.append(unpack_segment(one, arrays, base, before))
        before += len(segments[-1].ids)
    return tuple(segments)


def merged(segments: Sequence[Segment], number: int) -> Segment:
    """Neighbouring segments as one. Items keep their numbers."""
    full = [segment for segment in segments if segment.block is not None]
    blocks = [segment.block for segment in full if segment.block is not None]
    removed = np.unique(np.concatenate([segment.removed for segment in segments]))
    sheets = [segment.sheet for segment in full]
    count = sum(sheet.count for sheet in sheets)
    sheet = Sheet(count)
    if any(own.data is not None for own in sheets):
        sheet = Sheet.of_table(join_tables([own.table for own in sheets]))
    if not full:
        return replace(segments[0], number=number, removed=removed, sheet=sheet)
    pooling = item_of = None
    if blocks[0].pooling is not None:
        starts = np.cumsum([0, *(len(segment.ids) for segment in full)])
        pairs = zip(full, starts, strict=False)
        item_of = np.concatenate([start + s.item_of for s, start in pairs if s.item_of is not None])
        weights = np.concatenate([_weights(own.pooling) for own in blocks if own.pooling is not None])
        pooling = _pooling(weights, item_of, count)
    block = Block(
        Memory(np.vstack([own.vectors.rows(slice(None)) for own in blocks])),
        sp.csr_array(sp.vstack([own.psi for own in blocks], format="csr")),
        pooling,
    )
    ids = np.concatenate([segment.ids for segment in full])
    expressed = sum(segment.expressed * len(segment.ids) for segment in full) / count
    return Segment(number, ids, block, item_of, removed, sheet, expressed)


def assemble(base: _S, segments: Sequence[Segment]) -> _S:
    """The snapshot of a base and its segments. Cost: ids and numbers are put together, nothing else is read."""
    if not segments:
        return base
    full = [segment for segment in segments if segment.block is not None]
    blocks = [segment.block for segment in full if segment.block is not None]
    items, added, known, settings = base.items, base.added, base.metadata, base.settings
    if full:
        a = sum(len(block.vectors) for block in blocks)
        ids = np.concatenate([items.ids, *(segment.ids for segment in full)])
        fresh = Items(ids[len(items) :], _numbers(full), None if items.row_of is None else np.arange(a))
        items = items.followed_by(ids, fresh, n_rows=len(base.vectors))
        added = Added((*(() if added is None else added.blocks), *blocks))
        first = (Sheet(len(base.items)),) if known is None else known.sheets
        known = described((*first, *(segment.sheet for segment in full)))
        settings = replace(settings, rows=None)
    removed = np.unique(np.concatenate([segment.removed for segment in segments]))
    if items.removed is not None:
        removed = np.union1d(items.removed, removed)
    items = replace(items, removed=removed if len(removed) else None)
    stored = None if full else base.stored
    return replace(base, items=items, added=added, metadata=known, settings=settings, stored=stored)


def _numbers(full: Sequence[Segment]) -> NDArray[np.int64] | None:
    """The item of each vector of all segments, from 0; None where every vector is one."""
    if full[0].item_of is None:
        return None
    starts = np.cumsum([0, *(len(segment.ids) for segment in full)])
    return np.concatenate([start + s.item_of for s, start in zip(full, starts, strict=False) if s.item_of is not None])


def _weights(pooling: Any) -> NDArray[np.float32]:
    """The weight of every vector in its item: each has one."""
    columns = sp.csc_array(pooling)
    return np.asarray(columns.data, dtype=np.float32)


def _pooling(weights: Array, item_of: NDArray[np.int64], count: int) -> Any:
    where = item_of, np.arange(len(item_of))
    return sp.csr_array((np.asarray(weights, dtype=np.float32), where), shape=(count, len(item_of)))
