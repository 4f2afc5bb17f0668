"""From scores to hits: the best items, with ties in the order of Euclidean similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from longwave.rows.vectors import top_k
from longwave.types import Array, Hits

# Scores of what nothing reaches, spread by similarity below 0 and far above every other negative score's rounding.
_UNREACHED = 1e-30


def best_of(scores: Array, k: int, allowed: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], Array]:
    """The k best columns of every row, of all or of those allowed (ascending). (q, N) -> places, scores (q, k)."""
    if allowed is None:
        return top_k(scores, k)
    places, best = top_k(scores[:, allowed], k)
    return allowed[places], best


def best_with_ties(
    scores: Array, similarities: Callable[[], Array], k: int, allowed: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], Array]:
    """As `best_of`; what nothing reaches, a score of exactly 0, follows in the order of Euclidean similarity.

    similarities: (q, N), asked for only where such an item is among the k best.
    """
    places, best = best_of(scores, k, allowed)
    if not (best[:, -1] <= 0).any() or (scores != 0).all():
        return places, best
    similar = similarities()
    span = np.abs(similar).max(axis=1, keepdims=True)
    order = np.divide(similar, span, out=np.zeros_like(similar), where=span > 0) - 2  # -3 … -1
    spread = np.where(scores == 0, np.float32(_UNREACHED) * order, scores).astype(np.float32)
    places, best = best_of(spread, k, allowed)
    return places, np.where(np.abs(best) < 10 * _UNREACHED, 0, best)


def without_self(hits: Hits, own: Array) -> Hits:
    """Drop each query's own item from its hits, or the last one where it is not among them. own: (q,) ids."""
    keep = hits.ids != own[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = hits.n_queries, hits.ids.shape[1] - 1
    return replace(hits, ids=hits.ids[keep].reshape(shape), scores=hits.scores[keep].reshape(shape))
