"""Nearest rows by a scan of codes: all rows in a byte a number, the best of them compared again as they are.

A scan reads every row, so that no query is too strange for it. Searches that go from row to row are led astray by
queries that are unlike the collection: with 9,144 unrelated photographs beside those of Oxford, links miss nearly all
neighbours of every seventh query. Codes are a quarter of the rows, and up to some millions of numbers they are scanned
in the time that such a search takes. They are made when they are first needed, and stored nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.plan import Structure
from longwave.rows.encoded import Compact, biased, compact, plain, stored_rows
from longwave.stores.memory import Memory
from longwave.stores.strange import strange_queries
from longwave.types import Array, Neighbors

#: The name of this kind of search, beside the factory strings of faiss.
KIND = "codes"
# Rows that are compared again for k wanted ones: codes err by some thousandths.
_SPARE = 64
_FACTS = Structure(KIND, effort=_SPARE, recall=1.0, k=10)
# Queries that the recall is measured with.
_SAMPLE = 100


@dataclass(frozen=True, eq=False)
class Codes:
    """A scan of codes. Any number of threads may search at a time; a query takes the calling one.

    rows: float32, or float16 as `Compact`. facts: what the plan says of it.
    """

    rows: Any
    facts: Structure = _FACTS

    @cached_property
    def _plain(self) -> tuple[Array, ...]:
        """What the loop reads: codes and their scales, the rows and theirs."""
        codes = compact(np.asarray(self.rows[:], dtype=np.float32), "int8")
        return *(plain(array) for array in (codes.codes, codes.scales)), *stored_rows(self.rows)

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """The k rows of largest inner product with each query. (q, d) -> lists (q, k)"""
        from longwave.rows import link_loops

        asked = np.ascontiguousarray(queries, dtype=np.float32)
        ids, products = np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k), dtype=np.float32)
        count = min(2 * k + self.facts.effort, len(self.rows))
        link_loops.nearest_coded(*self._plain, asked, biased(asked, self._plain[2]), count, ids, products)
        return Neighbors(ids, products)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes; the rows are not its own."""
        n, dimension = self.rows.shape
        return int(n * (dimension + 4))

    def over(self, rows: Any) -> Codes:
        """The same over the same rows, stored in fewer bytes."""
        return replace(self, rows=rows)

    def pack(self) -> dict[str, Array]:
        """Nothing: codes are made of the rows."""
        return {}

    @classmethod
    def unpack(cls, rows: Any, facts: Structure) -> Codes:
        """From `pack`. ValueError where it cannot be."""
        if not (serves(rows) and facts.effort >= 0):
            raise ValueError("the plan has codes where the vectors are codes themselves, or less than none to compare")
        return cls(rows, facts)


def build(rows: NDArray[np.float32], *, seed: int = 0, k: int = 10) -> Codes:
    """A scan of the codes of some rows (n, d), its recall measured with `strange_queries`."""
    made = Codes(rows)
    queries = strange_queries(rows, min(_SAMPLE, len(rows)), np.random.default_rng(seed))
    found, truth = (search(queries, min(k, len(rows))).similarities for search in (made.search, Memory(rows).search))
    recall = float((found >= truth[:, -1:] - 1e-5).mean())  # one as good as the k-th true one counts
    return replace(made, facts=replace(made.facts, recall=recall, k=found.shape[1]))


def serves(rows: Any) -> bool:
    """Whether codes are smaller than the rows as they are stored."""
    return isinstance(rows, np.ndarray) or (isinstance(rows, Compact) and rows.codes.dtype != np.int8)
