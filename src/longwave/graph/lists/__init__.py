"""k-NN lists: exact, approximate for large collections, or given by the user; all with one result type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.graph.lists import clustered
from longwave.graph.lists.exact import nearest, nearest_others
from longwave.graph.lists.given import check_lists, of_other_items
from longwave.types import Neighbors, Progress

__all__ = ["build_lists", "check_lists", "nearest", "nearest_others", "of_other_items"]

# Multiplications that the exact lists may take: n² d / 2 of 2e13 are a few minutes on two cores.
EXACT_WORK = 2e13


def build_lists(
    vectors: NDArray[np.float32],
    *,
    k: int,
    recall: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Neighbors, float]:
    """Lists for the graph and their recall: exact (1.0) where that takes minutes, else approximate, measured.

    recall: 1 forces exact lists, another value approximate ones of at least about that recall; None chooses by size
    (0.95 where approximate).
    """
    n, dimension = vectors.shape
    exact = n * n / 2 * dimension <= EXACT_WORK if recall is None else recall == 1
    if exact or n < 4 * clustered._CLUSTER_SIZE:
        return nearest_others(vectors, k=k, progress=progress), 1.0
    return clustered.nearest_others(vectors, k=k, target=recall or 0.95, seed=seed, progress=progress)
