"""What every baseline is: a value, called as ranker(index, queries, k) -> Hits; and what they share."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.index import Index
from longwave.rows.vectors import top_k
from longwave.types import Array, Hits


class Ranker(Protocol):
    """A way to rank the items of an index."""

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """queries: (m, d), query_groups: (m,) the query of each row -> hits (queries, k)."""


def whole_vectors(index: Index) -> NDArray[np.float32]:
    """The vectors of an index as they are, (n, d); an error if it stores them in fewer bytes."""
    if index.settings.vectors_as is not None:
        raise InputError("the vectors of this index are stored in fewer bytes; give the index as it was built")
    if index.items.live is not None:
        raise InputError(
            "items were removed from this index, which baselines cannot take into account; refresh the collection"
        )
    return index.vectors.rows(slice(None))


def best_hits(index: Index, scores: Array, k: int) -> Hits:
    """The best items by the scores of targets. scores: (q, targets)"""
    places, best = index.items.expand(*top_k(scores, min(k, scores.shape[1])), min(k, len(index)))
    return Hits(index.ids[places], best)
