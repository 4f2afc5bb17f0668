"""From ids to item numbers without looking at all ids again: every part of a collection is sorted once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Part:
    """The ids of the base, or of a segment. removed: numbers of items that went by this part, ascending."""

    ids: Array
    removed: NDArray[np.int64]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The places of the ids, sorted; equal ones in the order in which they came."""
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def largest(self) -> int:
        """The largest id, of whole numbers; −1 where there is none."""
        return int(self.ids.max()) if len(self.ids) else -1

    def find(self, wanted: Array) -> NDArray[np.int64]:
        """The last place of each id; −1 where there is none. (m,) -> (m,)"""
        if not len(self.ids):
            return np.full(len(wanted), -1)
        after = np.searchsorted(self.ids, wanted, side="right", sorter=self.order)
        found = self.order[np.maximum(after - 1, 0)]
        return np.where(self.ids[found] == wanted, found, -1)


def find(parts: Sequence[Part], wanted: Array) -> NDArray[np.int64]:
    """The number of the item that has each id now; −1 where none has. (m,) -> (m,)

    The newest part that has an id decides: an earlier item of that id was removed. Time O(m · parts · log).
    """
    numbers = np.full(len(wanted), -1, dtype=np.int64)
    start = sum(len(part.ids) for part in parts)
    for part in reversed(parts):
        start -= len(part.ids)
        open_ = np.flatnonzero(numbers < 0)
        if not len(open_):
            break
        found = part.find(wanted[open_])
        numbers[open_] = np.where(found >= 0, found + start, -1)
    for part in parts:
        if len(part.removed):
            places = np.minimum(np.searchsorted(part.removed, numbers), len(part.removed) - 1)
            numbers[part.removed[places] == numbers] = -1
    return numbers
