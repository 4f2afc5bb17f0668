"""Nearest rows by a scan of codes: all rows in a byte a number, the best of them compared again as they are.

A scan reads every row, so that no query is too strange for it. Searches that go from row to row are led astray by
queries that are unlike the collection: with 9,144 unrelated photographs beside those of Oxford, links missed nearly all
neighbours of every seventh query. Codes are a quarter of the rows, and up to some millions of numbers they are scanned
in the time that such a search takes. They are made when they are first needed, and stored nowhere.

The answer is that of an exact scan. How far a code can be from its row is known, so that it is known, too, whether a
row that was not compared again could be nearer. Then more are compared, and in the end all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.plan import Structure
from longwave.rows.encoded import Compact, biased, compact, plain, stored_rows
from longwave.rows.vectors import check_scores
from longwave.types import Array, Neighbors

#: The name of this kind of search, beside the factory strings of faiss.
KIND = "codes"
# Rows that are compared again, beside twice the wanted ones.
_SPARE = 64
_FACTS = Structure(KIND, effort=_SPARE, recall=1.0, k=10)
# Rounding of float32 products, beside what codes leave out.
_ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class Codes:
    """A scan of codes. Any number of threads may search at a time; a query takes the calling one.

    rows: float32, or float16 as `Compact`. facts: what the plan says of it.
    """

    rows: Any
    facts: Structure = _FACTS

    @cached_property
    def _coded(self) -> tuple[Array, Array, NDArray[np.float32], float]:
        """Codes and scales of the rows less their mean, the mean, and the largest error of a code, as a length.

        The mean is the same in all products with a query, and would take the most of the byte where it is large.
        """
        rows = np.asarray(self.rows[:], dtype=np.float32)
        mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
        check_scores(np.isfinite(mean))
        rows = rows - mean
        codes = compact(rows, "int8")
        rows -= codes[:]
        error = float(np.sqrt(np.einsum("nd,nd->n", rows, rows).max(initial=0.0)))
        return plain(codes.codes), plain(codes.scales), mean, error

    @cached_property
    def _plain(self) -> tuple[Array, NDArray[np.float32]]:
        """The rows as the loops read them."""
        return stored_rows(self.rows)

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """The k rows of largest inner product with each query. (q, d) -> lists (q, k)"""
        from longwave.rows import link_loops

        asked = np.ascontiguousarray(queries, dtype=np.float32)
        ids, products = np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k), dtype=np.float32)
        codes, scales, mean, error = self._coded
        values, value_scales = self._plain
        link_loops.nearest_coded(
            codes,
            scales,
            values,
            value_scales,
            asked,
            biased(asked, values),
            np.asarray([float(query @ mean) for query in asked]),
            error + _ROUNDING,
            min(2 * k + self.facts.effort, len(codes)),
            ids,
            products,
        )
        check_scores(np.isfinite(products))
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


def serves(rows: Any) -> bool:
    """Whether codes are smaller than the rows as they are stored."""
    return isinstance(rows, np.ndarray) or (isinstance(rows, Compact) and rows.codes.dtype != np.int8)
