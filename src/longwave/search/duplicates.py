"""Near-duplicates in a whole collection, in groups around one item each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.search.snapshot import Snapshot

# Rows that are looked up at a time, and neighbours of each at first.
_ROWS, _NEIGHBORS = 2048, 32


def duplicates(snapshot: Snapshot, least: float) -> list[list[Any]]:
    """Groups of items whose vectors are nearly the same. Parameters as for `Index.duplicates`."""
    if not 0 < least <= 1:
        raise InputError(f"threshold must be a cosine above 0 and at most 1, such as 0.98, got {least}")
    snapshot.require_vectors("duplicates")
    if snapshot.items.item_of is not None:
        raise InputError("duplicates are of items of one vector each; this index has groups of vectors")
    near = _near(snapshot, least)
    items = snapshot.items
    rows = items.target_of(items.live_numbers())  # the row of every item that is there
    members: dict[int, list[Any]] = {}
    for row, name in zip(rows.tolist(), items.ids[items.live_numbers()].tolist(), strict=True):
        members.setdefault(row, []).append(name)
    free = set(members)
    groups = []
    # The row with most near ones leads first; who is near to it is no longer free to lead or to join.
    for row in sorted(members, key=lambda own: (-len(near[own]), own)):
        if row not in free:
            continue
        own = [row, *(other for other in near[row].tolist() if other in free and other != row)]
        free -= set(own)
        names = [name for member in own for name in members[member]]
        if len(names) > 1:
            groups.append(names)
    return sorted(groups, key=len, reverse=True)


def _near(snapshot: Snapshot, least: float) -> list[NDArray[np.int64]]:
    """Of every row those that are at least so near, nearest first."""
    store, n = snapshot.vectors, len(snapshot.vectors)
    found: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * n
    waiting, count = np.arange(n), min(_NEIGHBORS, n)
    while len(waiting):
        full = []
        for start in range(0, len(waiting), _ROWS):
            part = waiting[start : start + _ROWS]
            lists = store.search(np.asarray(store.rows(part), dtype=np.float32), count)
            # Products of unit rows are rounded in float32: equal ones may be a little below 1.
            enough = (lists.similarities >= least - 1e-6) & (lists.ids >= 0)
            for place, row in enumerate(part.tolist()):
                found[row] = lists.ids[place, enough[place]]
            full.append(part[enough.all(axis=1)])
        waiting = np.concatenate(full) if count < n else np.zeros(0, dtype=np.int64)
        count = min(4 * count, n)
    return found
