"""`Store`: what Longwave asks of whatever holds rows of numbers and searches them by inner product."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.types import Neighbors


class Store(Protocol):
    """Rows of numbers, searched by inner product.

    An index has two: its vectors, asked for the neighbours of a query, and the rows of Ū, asked for the best items.
    A store of your own needs these four members. Rows are numbered from 0.
    """

    @property
    def dimension(self) -> int:
        """Numbers in a row."""

    def __len__(self) -> int: ...

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k rows of largest inner product with each query. (q, d) -> (q, k), −1 where there are fewer."""

    def rows(self, numbers: Any) -> NDArray[np.float32]:
        """Some rows, by number or slice. (c,) -> (c, d)"""


class ScannedStore(Store, Protocol):
    """A store whose rows can all be read: it also gives every product, and knows its size in bytes."""

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""

    def products(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Inner products of every query with every row. (q, d) -> (q, n)"""
