"""The rows of Ū as a store: asked with waves h(Λ)Uᵀy, it finds the targets of largest score (the second search)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.rows.encoded import products, row_numbers
from longwave.rows.vectors import top_k
from longwave.spectrum.basis import Basis, Part
from longwave.stores.faiss import Faiss
from longwave.types import Array, Neighbors


@dataclass(frozen=True, eq=False)
class Coordinates:
    """basis: Ū, (n, r). gains: (n,) what every row is multiplied with; None for 1.

    searches: over the rows of each dense part of Ū, times their gains; None for a scan. h goes into the query, so one
    structure serves every filter. Rows of small components, which are sparse, are scanned where a query touches them.
    """

    basis: Basis
    gains: NDArray[np.float32] | None
    searches: tuple[Faiss | None, ...]

    @property
    def dimension(self) -> int:
        """Waves."""
        return self.basis.shape[1]

    def __len__(self) -> int:
        return self.basis.n

    def rows(self, numbers: Any) -> NDArray[np.float32]:
        """Some rows of Ū, times their gains. (c,) -> (c, r)"""
        wanted = row_numbers(numbers, len(self))
        found = self.basis.some_rows(wanted)
        return found if self.gains is None else found * self.gains[wanted, None]

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k rows of largest product with each query, of the components that it touches. Lists (q, k)"""
        ids = np.full((len(queries), k), -1, dtype=np.int64)
        best = np.full((len(queries), k), -np.inf, dtype=np.float32)
        for query, waves in enumerate(queries):
            found, scores = self._search_one(waves, k)
            order = np.argsort(-scores, kind="stable")[:k]
            ids[query, : len(order)], best[query, : len(order)] = found[order], scores[order]
        return Neighbors(ids, best)

    def _search_one(self, waves: Array, k: int) -> tuple[NDArray[np.int64], Array]:
        """The best of every component that the waves touch."""
        found: list[tuple[Array, Array]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))]
        for (part, columns), search in zip(self.basis.spans(), self.searches, strict=True):
            if waves[columns].any():
                rows, scores = self._best_rows(part, search, waves[columns], k)
                found.append((part.rows[rows], scores))
        small = waves[self.basis.n_dense :]
        if small.any():
            scores = np.zeros(len(self), dtype=np.float32)
            self.basis.add_sparse(small, scores)
            rows = np.flatnonzero(scores)
            found.append((rows, scores[rows] if self.gains is None else scores[rows] * self.gains[rows]))
        return np.concatenate([rows for rows, _ in found]), np.concatenate([scores for _, scores in found])

    def _best_rows(self, part: Part, search: Faiss | None, waves: Array, k: int) -> tuple[Array, Array]:
        """About the k rows of a part with the largest product with the waves; exactly these without a search."""
        count = min(k, len(part.rows))
        if search is None:
            scores = products(waves[None, :], part.values)
            rows, best = top_k(scores if self.gains is None else scores * self.gains[part.rows], count)
            return rows[0], best[0]
        lists = search.search(waves[None, :], count)
        kept = lists.ids[0] >= 0
        return lists.ids[0][kept], lists.similarities[0][kept]


def searched_rows(coordinates: Coordinates, number: int) -> NDArray[np.float32]:
    """What a structure over one part of Ū is made of: its rows times their gains. (m, r_l)"""
    part = coordinates.basis.parts[number]
    rows = np.asarray(part.values[:], dtype=np.float32)
    return rows if coordinates.gains is None else rows * coordinates.gains[part.rows, None]
