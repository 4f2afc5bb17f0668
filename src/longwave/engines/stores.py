"""The vectors of an engine as a `Store`, and the neighbours of all of its rows: lists that an index is built from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.engines.engine import VECTOR, Engine
from longwave.types import Array, Neighbors

_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class EngineStore:
    """The vectors of an export. Rows are called by the numbers of their items.

    dimension: numbers in a row. count: rows.
    """

    engine: Engine
    dimension: int
    count: int

    def __len__(self) -> int:
        return self.count

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k rows of largest inner product with each query. Lists (q, k)"""
        ids = np.full((len(queries), k), -1, dtype=np.int64)
        products = np.full((len(queries), k), -np.inf, dtype=np.float32)
        for place, query in enumerate(queries):
            numbers, own = self.engine.search(VECTOR, query, min(k, self.count))
            ids[place, : len(numbers)], products[place, : len(numbers)] = numbers, own
        return Neighbors(ids, products)

    def rows(self, numbers: Any) -> NDArray[np.float32]:
        """Vectors of some items. (c,) -> (c, d)"""
        wanted = np.atleast_1d(np.asarray(numbers, dtype=np.int64))
        found = [vectors for number in wanted for _, vectors in [self.engine.vectors(int(number) - 1, 1)]]
        return np.concatenate(found) if found else np.zeros((0, self.dimension), dtype=np.float32)

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Numbers and vectors of all rows, ascending, some at a time."""
        after = -1
        while True:
            numbers, vectors = self.engine.vectors(after, _BLOCK)
            if not len(numbers):
                return
            yield numbers, vectors
            after = int(numbers[-1])

    def everything(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Numbers and vectors of all rows, ascending. (n,), (n, d)"""
        numbers, vectors = zip(*self.blocks(), strict=True)
        return np.concatenate(numbers), np.concatenate(vectors)

    def neighbors(self, k: int) -> tuple[Array, NDArray[np.float32]]:
        """The k other rows nearest to each, as the engine finds them: `lists` for `Index.build(vectors, lists=…)`.

        Rows are numbered from 0 in the order of `everything`. (n, k), −1 where there are fewer.
        """
        check_counts(k=k)
        numbers = np.concatenate([own for own, _ in self.blocks()])
        ids = np.full((len(numbers), k), -1, dtype=np.int64)
        products = np.full((len(numbers), k), -np.inf, dtype=np.float32)
        start = 0
        for own, vectors in self.blocks():
            found = self.search(vectors, k + 1)
            rows = np.arange(start, start + len(own))
            places = np.where(found.ids >= 0, np.searchsorted(numbers, np.maximum(found.ids, 0)), -1)
            mine = places == rows[:, None]
            mine[~mine.any(axis=1), -1] = True  # an approximate search may miss the row itself: the last goes
            ids[rows] = places[~mine].reshape(len(own), k)
            products[rows] = found.similarities[~mine].reshape(len(own), k)
            start += len(own)
        return ids, products
