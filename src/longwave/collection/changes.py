"""One change of a collection, checked as a whole before anything is written: what goes, what comes, what is renamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.collection import batches
from longwave.collection.living import Living
from longwave.errors import InputError, plural
from longwave.search import packing
from longwave.search.segments import Segment
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Renaming:
    """Items that get another id, and stay what they are. numbers: (m,) ascending. ids: (m,) the new ones."""

    numbers: NDArray[np.int64]
    ids: Array

    def of_part(self, ids: Array, start: int) -> Array | None:
        """The ids of the part of a collection that begins with this number; None where they stay."""
        first, end = np.searchsorted(self.numbers, (start, start + len(ids)))
        if first == end:
            return None
        named = ids.astype(np.promote_types(ids.dtype, self.ids.dtype))
        named[self.numbers[first:end] - start] = self.ids[first:end]
        return named


@dataclass(frozen=True, eq=False)
class Change:
    """ids: of the items that come. segment: what comes and goes; None where nothing does.

    facts, arrays: what is kept with the collection, where it is new, as the folder has it.
    """

    ids: Array
    segment: Segment | None
    renaming: Renaming
    facts: Mapping[str, Any]
    arrays: Mapping[str, Array]
    message: str

    def __bool__(self) -> bool:
        return bool(self.segment is not None or len(self.renaming.ids) or self.facts or self.arrays)


def change_of(
    living: Living,
    home: Path,
    vectors: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    metadata: Any = None,
    *,
    remove: ArrayLike | None = None,
    rename: Mapping[Any, Any] | None = None,
    about: Mapping[str, Any] | None = None,
    attach: Mapping[str, ArrayLike] | None = None,
) -> Change:
    """The change that a user asks for. Parameters as for `Collection.change`; home: the folder."""
    gone = batches.NONE if remove is None else np.unique(batches.numbers_of(living, batches.ids_of(living, remove)))
    renaming = _renaming(living, rename or {}, gone)
    segment, fresh = None, living.base.items.ids[:0]
    if vectors is not None:
        unit = batches.unit_of(living, vectors)
        items = batches.new_items(living, len(unit), ids, groups)
        fresh = items.ids
    batches.check_new(living, np.concatenate([renaming.ids, fresh]), np.union1d(gone, renaming.numbers))
    if len(gone) == living.n_items - living.n_removed and not len(fresh):
        raise InputError("remove would leave no item at all; create another collection instead")
    if vectors is not None:
        sheet = batches.sheet_of(living, metadata, fresh, gone)
        segment = batches.make_segment(living.base, living.next_segment, unit, items, sheet=sheet, removed=gone)
    elif len(gone):
        segment = batches.without(living.base, living.next_segment, gone)
    known, kept = packing.check_notes({} if about is None else about, attach or {})
    facts = {} if about is None else packing.facts_about(known, home)
    replaced = int(np.isin(living.find(fresh), gone).sum()) if len(gone) and len(fresh) else 0
    counts = {"add": len(fresh) - replaced, "replace": replaced, "remove": len(gone) - replaced}
    told = [f"{verb} {plural(n, 'item')}" for verb, n in (counts | {"rename": len(renaming.ids)}).items() if n]
    return Change(fresh, segment, renaming, facts, packing.pack_attached(kept), ", ".join(told) or "notes")


def _renaming(living: Living, rename: Mapping[Any, Any], gone: NDArray[np.int64]) -> Renaming:
    """Checked but for who else has the new ids."""
    if not rename:
        return Renaming(batches.NONE, living.base.items.ids[:0])
    numbers = batches.numbers_of(living, batches.ids_of(living, list(rename)))
    both = np.flatnonzero(np.isin(numbers, gone))
    if both.size:
        raise InputError(f"the item {list(rename)[both[0]]!r} is to be removed and renamed; leave out one of them")
    order = np.argsort(numbers)
    return Renaming(numbers[order], batches.ids_of(living, list(rename.values()))[order])
