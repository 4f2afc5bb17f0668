"""From ids to item numbers without looking at all ids again: every part of a collection is sorted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

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

    def find(self, wanted: Array, is_gone: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> NDArray[np.int64]:
        """The place of each id; −1 where there is none. is_gone: whether items at some places were removed. (m,)"""
        found = np.full(len(wanted), -1)
        after = np.searchsorted(self.ids, wanted, side="right", sorter=self.order)
        open_ = np.flatnonzero(after)
        while len(open_):  # again only where an item of that id was removed
            places = self.order[after[open_] - 1]
            same = self.ids[places] == wanted[open_]
            gone = same & is_gone(places)
            there = same & ~gone
            found[open_[there]] = places[there]
            after[open_] -= 1
            open_ = open_[gone & (after[open_] > 0)]
        return found


def find(parts: Sequence[Part], wanted: Array) -> NDArray[np.int64]:
    """The number of the item that has each id now; −1 where none has. (m,) -> (m,)

    Earlier items of an id, which were removed, are passed over. Time O(m · parts · log).
    """
    numbers = np.full(len(wanted), -1, dtype=np.int64)
    removed = [part.removed for part in parts if len(part.removed)]
    start = sum(len(part.ids) for part in parts)
    for part in reversed(parts):
        start -= len(part.ids)
        open_ = np.flatnonzero(numbers < 0)
        if not len(open_):
            break
        found = part.find(wanted[open_], partial(_are_removed, removed, start))
        numbers[open_] = np.where(found >= 0, found + start, -1)
    return numbers


def _are_removed(removed: Sequence[NDArray[np.int64]], start: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the items at these places of the part that begins at `start` were removed."""
    numbers, gone = places + start, np.zeros(len(places), dtype=bool)
    for own in removed:
        gone |= own[np.minimum(np.searchsorted(own, numbers), len(own) - 1)] == numbers
    return gone
