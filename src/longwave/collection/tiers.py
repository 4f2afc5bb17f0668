"""When segments are merged: those of like size become one, so that there are always few of them."""

from __future__ import annotations

from collections.abc import Sequence

#: So many segments of one size class become one of the next.
WIDTH = 10


def size_class(size: int) -> int:
    """0 for 1 to 9 items, 1 for 10 to 99, and so on."""
    return len(str(max(size, 1))) - 1


def run_to_merge(sizes: Sequence[int]) -> int:
    """How many of the last segments become one now; 0 for none. sizes: items of each segment, oldest first.

    A segment takes part in one merge for each class that it rises, so an item is written about log₁₀(n) times in all.
    """
    if not sizes:
        return 0
    highest, count = size_class(sizes[-1]), 0
    for size in reversed(sizes):
        if size_class(size) > highest:
            break
        count += 1
    return count if count >= WIDTH else 0
