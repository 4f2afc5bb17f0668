"""Several stores as one: rows are numbered through. What was added to a collection lies behind what was there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.rows.encoded import row_numbers
from longwave.stores.store import ScannedStore
from longwave.types import Neighbors


@dataclass(frozen=True, eq=False)
class Joined:
    """parts: stores of one dimension."""

    parts: tuple[ScannedStore, ...]

    @property
    def dimension(self) -> int:
        """Numbers in a row."""
        return self.parts[0].dimension

    @property
    def nbytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.nbytes for part in self.parts)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Where each part begins, and the end of the last."""
        return np.concatenate([[0], np.cumsum([len(part) for part in self.parts])])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def rows(self, numbers: Any) -> NDArray[np.float32]:
        """Some rows, each from its part. (c,) -> (c, d)"""
        wanted = row_numbers(numbers, len(self))
        out = np.empty((*wanted.shape, self.dimension), dtype=np.float32)
        owner = np.searchsorted(self._ends, wanted, side="right") - 1
        for number, part in enumerate(self.parts):
            own = owner == number
            if own.any():
                out[own] = part.rows(wanted[own] - self._ends[number])
        return out

    def products(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Inner products of every query with every row. (q, d) -> (q, n)"""
        return np.hstack([part.products(queries) for part in self.parts])

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k best rows of all parts. Lists (q, k)"""
        k = min(k, len(self))
        found = [part.search(queries, min(k, len(part))) for part in self.parts]
        pairs = zip(found, self._ends, strict=False)
        ids = np.hstack([np.where(lists.ids >= 0, lists.ids + start, -1) for lists, start in pairs])
        products = np.hstack([lists.similarities for lists in found])
        order = np.argsort(-products, axis=1, kind="stable")[:, :k]
        return Neighbors(np.take_along_axis(ids, order, axis=1), np.take_along_axis(products, order, axis=1))


def join(*parts: ScannedStore) -> ScannedStore:
    """The parts as one store, none inside of another."""
    flat = [own for part in parts for own in (part.parts if isinstance(part, Joined) else (part,))]
    return flat[0] if len(flat) == 1 else Joined(tuple(flat))
