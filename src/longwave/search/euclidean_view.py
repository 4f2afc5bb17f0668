"""How Euclidean search sees the items that are scored: what a blend may ask of all of them, or of some."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.items.pooling import POOLINGS
from longwave.rows.encoded import products
from longwave.search.euclidean import euclidean_scores
from longwave.search.first import SPREAD, Asked
from longwave.search.snapshot import Snapshot
from longwave.types import Array, Sparse

#: Products of two equal unit vectors are 1 but for the rounding of float32, which grows with the root of the dimension.
SAME = 4e-7


@dataclass(frozen=True, eq=False)
class EuclideanView:
    """What a blend asks for (`blending.Compared`). targets: (c,) of one query, ascending; None for all, of any.

    most: the targets are most of all, of any number of queries; products with all vectors are computed, then cut.
    """

    snapshot: Snapshot
    asked: Asked
    targets: NDArray[np.int64] | None
    most: bool = False

    @cached_property
    def similarities(self) -> Array:
        """Pooled Euclidean similarity. (q, c)"""
        if self.targets is None or self.most:
            return self._cut(self._all_similarities())
        return self._some_similarities(None)

    def unrepresented(self) -> Array:
        """The same with every vector weighted by 1 − η, what the basis lacks of it. (q, c)"""
        weights = 1 - self.snapshot.row_norms
        if self.targets is not None and not self.most:
            return self._some_similarities(weights)
        pooling = self.snapshot.whole_pooling
        return self._cut(euclidean_scores(self.asked.summed, self.snapshot.vectors, pooling, weights))

    @cached_property
    def own(self) -> Array:
        """The similarity that an item made of the query's own vectors would have: 1 for one vector. (q,)"""
        queries, summed = self.asked.queries, self.asked.summed
        if self.snapshot.pooling is None:
            return np.asarray(np.linalg.norm(summed, axis=1), dtype=np.float32)
        own = np.empty(len(queries), dtype=np.float32)
        for query, total in enumerate(summed):
            regions = queries.regions[queries.query_of == query]
            own[query] = POOLINGS[self.snapshot.settings.pooling](regions[None])[0] @ (regions @ total)
        return own

    @cached_property
    def seventh(self) -> Array:
        """Similarity of the query's 7th nearest neighbour. (q,)"""
        queries, snapshot = self.asked.queries, self.snapshot
        if len(queries) == len(queries.query_of) and snapshot.pooling is None and snapshot.added is None:
            near = self.asked.found.similarities[:, :SPREAD]
            last = np.where(np.isfinite(near), near, np.inf).min(axis=1)  # in fewer than 7: the last there is
            return np.asarray(np.where(np.isfinite(near[:, -1]), near[:, -1], last) * queries.weights)
        place = min(SPREAD, self.similarities.shape[1]) - 1
        return np.asarray(-np.partition(-self.similarities, place, axis=1)[:, place])

    @cached_property
    def signed(self) -> Array:
        """Whether the query has examples of what is not wanted. (q,)"""
        signed = np.zeros(len(self.asked.queries), dtype=bool)
        np.logical_or.at(signed, self.asked.queries.query_of, self.asked.queries.weights < 0)
        return signed

    @cached_property
    def identical(self) -> tuple[Array, Array]:
        """Queries, and places among the c of targets that have every one of their vectors. (t,), (t,)"""
        queries, found, snapshot = self.asked.queries, self.asked.found, self.snapshot
        same = 1 - SAME * np.sqrt(queries.regions.shape[1])
        outside = self.asked.outside
        best = found.similarities[:, 0]
        best = best if outside is None else np.maximum(best, outside.similarities[:, 0])
        whole = np.ones(len(queries), dtype=bool)
        np.logical_and.at(whole, queries.query_of, (best >= same) & (queries.weights > 0))
        pairs: list[tuple[int, int]] = []
        for query in np.flatnonzero(whole):
            common: set[int] | None = None
            for region in np.flatnonzero(queries.query_of == query):
                rows = found.ids[region][found.similarities[region] >= same]
                if outside is not None:
                    own = outside.ids[region][outside.similarities[region] >= same]
                    rows = np.concatenate([rows, snapshot.n_vertices + own])
                targets = rows if snapshot.pooling is None else snapshot.items.items_of(rows)
                common = set(targets.tolist()) if common is None else common & set(targets.tolist())
            pairs += [(int(query), target) for target in sorted(common or ())]
        where, targets = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
        if self.targets is None or not len(targets):
            return where, targets
        known = np.isin(targets, self.targets)
        return where[known], np.searchsorted(self.targets, targets[known])

    def _cut(self, similarities: Array) -> Array:
        return similarities if self.targets is None else similarities[:, self.targets]

    def _all_similarities(self) -> Array:
        kept, queries, pooling = self.asked.products, self.asked.queries, self.snapshot.whole_pooling
        if kept is None:
            return euclidean_scores(self.asked.summed, self.snapshot.vectors, pooling)
        if len(queries) == len(queries.query_of):
            summed = kept * queries.weights[:, None]
        else:
            summed = np.zeros((len(queries), kept.shape[1]), dtype=np.float32)
            np.add.at(summed, queries.query_of, kept * queries.weights[:, None])
        return summed if pooling is None else np.asarray(summed @ pooling.T)

    def _some_similarities(self, weights: Array | None) -> Array:
        """By the vectors of the targets alone. (1, c)"""
        rows, pooling = self._rows
        found = products(self.asked.summed, self.snapshot.vectors.rows(rows))  # (1, m), in this thread
        if weights is not None:
            found = found * weights[rows]
        return np.asarray(found if pooling is None else found @ pooling.T, dtype=np.float32)

    @cached_property
    def _rows(self) -> tuple[NDArray[np.int64], Sparse | None]:
        """The vectors of the targets, and Σ from these to the targets; None where they are the same."""
        assert self.targets is not None
        if self.snapshot.whole_pooling is None:
            return self.targets, None
        pooling = sp.csr_array(self.snapshot.whole_pooling[self.targets])
        rows = np.unique(pooling.indices)
        return rows, sp.csr_array(pooling[:, rows])
