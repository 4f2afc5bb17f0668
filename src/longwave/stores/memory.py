"""Rows in memory, or mapped from a file, searched by an exact scan: the store that every index begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.graph.lists.exact import nearest
from longwave.rows import encoded
from longwave.rows.vectors import top_k
from longwave.types import Neighbors


@dataclass(frozen=True, eq=False)
class Memory:
    """values: (n, d) float32, or the same in fewer bytes (`rows.encoded`)."""

    values: Any

    @property
    def dimension(self) -> int:
        """Numbers in a row."""
        return int(self.values.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""
        return int(self.values.nbytes)

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, numbers: Any) -> NDArray[np.float32]:
        """Some rows, decoded. (c,) -> (c, d)"""
        return np.asarray(self.values[numbers], dtype=np.float32)

    def products(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Inner products of every query with every row. (q, d) -> (q, n)"""
        return encoded.products(queries, self.values)

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """The k rows of largest inner product with each query. Lists (q, k)"""
        k = min(k, len(self))
        if isinstance(self.values, encoded.Quantized):
            return self.values.search(queries, k)
        if len(queries) == 1:  # scanned as it is stored
            ids, best = top_k(self.products(queries), k)
            return Neighbors(ids, np.asarray(best, dtype=np.float32))
        return nearest(queries, self.values, k=k)
