"""How far a collection has moved away from its graph: what is outside of it, what is gone, what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.collection.living import Living
from longwave.errors import plural

#: Expected loss, in points of mAP, from which a refresh is advised.
ADVISED = 1.0
# Measured by `python -m benchmarks.living`: the share of items outside of the graph, and what is lost in mAP against a
# graph of all items: the mean over digits, the Oxford buildings and USPS, default setting.
_SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
_LOSSES = (0.0, 0.29, 0.72, 1.42, 3.06, 10.39)


@dataclass(frozen=True)
class Staleness:
    """items: that are there. outside: the share of these that is not in the graph.

    removed: the share of all items that there were since the graph was made. expressed: of the added items, the mean
    share of the neighbours that they are expressed by that would count them among their own nearest; 1 where nothing
    was added, and about 1 where new items are like old ones. loss: what a refresh is expected to gain, in points of
    mAP, by the share outside alone, as measured on three collections.
    """

    items: int
    outside: float
    removed: float
    expressed: float
    loss: float

    @property
    def stale(self) -> bool:
        """Whether a refresh is advised."""
        return self.loss >= ADVISED

    def __str__(self) -> str:
        told = f"{self.outside:.1%} of {plural(self.items, 'item')} outside of the graph, {self.removed:.1%} removed"
        if self.outside:
            told += f"; the added have {self.expressed:.0%} of mutual neighbours, expected loss {self.loss:.1f} mAP"
        return f"{told}: refresh it" if self.stale else told


def expected_loss(outside: float) -> float:
    """Points of mAP, by the share of items outside of the graph."""
    return float(np.interp(outside, _SHARES, _LOSSES))


def staleness(living: Living) -> Staleness:
    """Of a state. Cost: a few numbers of every segment."""
    full = [segment for segment in living.segments if len(segment.ids)]
    counted = sum(len(segment.ids) for segment in full)
    expressed = sum(segment.expressed * len(segment.ids) for segment in full) / counted if counted else 1.0
    inside = living.n_items - living.n_outside
    gone = np.concatenate([part.removed for part in living.parts])
    added = living.n_outside - int(np.count_nonzero(gone >= inside))
    items = living.n_items - living.n_removed
    outside = added / items
    return Staleness(items, outside, living.n_removed / living.n_items, expressed, expected_loss(outside))
