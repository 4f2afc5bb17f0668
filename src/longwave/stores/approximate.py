"""A store that is searched through another structure: quick and approximate, with the rows themselves behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.stores.codes import Codes
from longwave.stores.faiss import Faiss
from longwave.stores.links import Links
from longwave.stores.store import ScannedStore
from longwave.types import Neighbors


@dataclass(frozen=True, eq=False)
class Approximate:
    """over: the rows. by: what searches them."""

    over: ScannedStore
    by: Faiss | Links | Codes

    @property
    def dimension(self) -> int:
        """Numbers in a row."""
        return self.over.dimension

    @property
    def nbytes(self) -> int:
        """Bytes of the rows; `by.nbytes` has those of the structure."""
        return self.over.nbytes

    def __len__(self) -> int:
        return len(self.over)

    def rows(self, numbers: Any) -> NDArray[np.float32]:
        """Some rows. (c,) -> (c, d)"""
        return self.over.rows(numbers)

    def products(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Inner products of every query with every row. (q, d) -> (q, n)"""
        return self.over.products(queries)

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k rows of largest inner product with each query. Lists (q, k)"""
        return self.by.search(queries, min(k, len(self)))
