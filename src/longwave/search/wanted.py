"""What a search may find: how many items, and which of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from longwave.rows.encoded import plain
from longwave.search.snapshot import Snapshot
from longwave.types import Array, Hits

# Where no more of the targets are allowed, a search may score all of them, should it not find enough on its way.
_FEW_SHARE = 1 / 8


@dataclass(eq=False)
class Wanted:
    """count: of items. allowed: whether each item is, (N,), none that was removed; None for all that are there."""

    snapshot: Snapshot
    count: int
    allowed: NDArray[np.bool_] | None

    @classmethod
    def of(cls, snapshot: Snapshot, k: int, allowed: NDArray[np.bool_] | None) -> Wanted:
        """At most k of them."""
        left = snapshot.items.n_live if allowed is None else int(np.count_nonzero(allowed))
        return cls(snapshot, min(k, left), allowed)

    @cached_property
    def mask(self) -> NDArray[np.bool_] | None:
        """Whether each target is wanted; None where all are. As loops take it: read-only, in one piece. (targets,)"""
        items = self.snapshot.items
        if self.allowed is None:
            return None if self.snapshot.live is None else plain(self.snapshot.live)
        if items.item_of is not None or items.row_of is None:
            return plain(self.allowed)
        mask = np.zeros(items.n_targets, dtype=bool)  # copies are one target
        mask[items.row_of[self.allowed]] = True
        return plain(mask)

    @cached_property
    def targets(self) -> NDArray[np.int64] | None:
        """The targets that are wanted, ascending; None for all."""
        if self.allowed is None:
            return self.snapshot.live_targets
        assert self.mask is not None
        return np.flatnonzero(self.mask)

    @cached_property
    def share(self) -> float:
        """Of the targets, that are wanted."""
        if self.allowed is None:
            left = self.snapshot.live_targets
            return 1.0 if left is None else len(left) / self.snapshot.items.n_targets
        assert self.mask is not None
        return int(np.count_nonzero(self.mask)) / self.snapshot.items.n_targets

    def hits(self, targets: NDArray[np.int64], scores: Array) -> Hits:
        """The first of a ranking of targets, as items. targets, scores: (q, t), best first, with enough items."""
        items = self.snapshot.items
        places, values = items.expand(targets, scores, self.count, self.allowed)
        return Hits(items.ids[places], values)

    @property
    def few(self) -> bool:
        """Whether those allowed are so few that all may be scored."""
        return self.allowed is not None and self.share <= _FEW_SHARE
