"""k-NN lists: exact, approximate for large collections, or given by the user; all with one result type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.graph.lists import approximate
from longwave.graph.lists.exact import nearest, nearest_others
from longwave.graph.lists.given import check_lists, of_other_items
from longwave.types import Checkpoint, Neighbors, Progress

__all__ = ["build_lists", "check_lists", "nearest", "nearest_others", "of_other_items"]

# Vectors up to which lists are exact unless approximate ones are asked for. Of 32, 128 or 784 dimensions alike, both
# take as long below 14,000 vectors; at 30,000 approximate ones take half of the seconds of exact ones (5 to 12).
EXACT_VERTICES = 30_000


def build_lists(
    vectors: NDArray[np.float32],
    *,
    k: int,
    recall: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Neighbors, float]:
    """Lists for the graph and their recall: exact (1.0) where that takes seconds, else approximate, measured.

    recall: 1 forces exact lists, another value approximate ones of at least that recall, unless the collection is small
    enough for exact ones; None chooses by size (0.99 where approximate). checkpoint: where rounds are kept.
    """
    if len(vectors) <= EXACT_VERTICES if recall is None else recall == 1:
        return nearest_others(vectors, k=k, progress=progress), 1.0
    target = 0.99 if recall is None else recall
    return approximate.nearest_others(vectors, k=k, target=target, seed=seed, progress=progress, checkpoint=checkpoint)
