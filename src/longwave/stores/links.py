"""Nearest rows by links: every row knows some near ones in different directions, and a search goes from row to row.

The links are chosen from the neighbour lists that a build has anyway, so that they cost seconds and a few dozen numbers
a row. A search begins at the best of the entries: one row in 64 at random, or up to one in 16,
and one of each part that no link leads to from there. All entries are looked at, as codes of a byte a number: a search
that begins in the wrong place may never leave it, above all where a query is unlike the collection. Steps go by codes,
too, a quarter of what would be read of the rows; in the end those that were kept are compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.graph.lists import build_lists, nearest
from longwave.plan import Structure
from longwave.rows.encoded import Compact, biased, compact, plain, stored_rows
from longwave.rows.vectors import check_scores
from longwave.stores.strange import strange_queries
from longwave.types import Array, Neighbors

#: The name of this kind of search, beside the factory strings of faiss.
KIND = "links"
# Links that are chosen of a row's own, and all of them, those of others that chose it included.
_CHOSEN, _MOST = 32, 48
# How much nearer another must be to lead there in its place: 0.4 of the squared distance.
_SLACK = 0.4
# One row in so many is an entry, as far as their codes have so many numbers; 2^21 take 0.1 ms. The first share that
# leads to the neighbours with an easy search is taken, else the first that leads there: where a collection falls apart,
# or is large, more entries help most.
_SHARES = {64: 1 << 21, 32: 1 << 22, 16: 1 << 23}
_EASY = 64
# Entries beside these, one for each part that no link leads to.
_UNREACHED = 20_000
# Neighbours that links are chosen from where no lists are given.
_LISTS = 50
# Rows that are kept on the way, in steps: the first that reaches the wanted recall is taken.
_EFFORTS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
#: Recall of the nearest 10 where nothing is said.
TARGET = 0.99
# Queries that the recall is measured with.
_SAMPLE = 400
#: Dimensions from which steps go by codes: shorter rows are read as quickly.
CODED = 256


@dataclass(frozen=True, eq=False)
class Ways:
    """Links between rows, CSR without values. ends: (n + 1,); links: numbers."""

    ends: NDArray[np.int64]
    links: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""
        return int(self.ends.nbytes + self.links.nbytes)

    @classmethod
    def between(cls, rows: NDArray[np.float32], lists: Neighbors) -> Ways:
        """Chosen from lists of the rows, and taken both ways."""
        from longwave.rows import link_loops

        chosen = np.full((len(rows), _CHOSEN), -1, dtype=np.int32)
        ids = np.ascontiguousarray(lists.ids, dtype=np.int64)
        link_loops.spread_links(rows, ids, np.ascontiguousarray(lists.similarities), _SLACK, chosen)
        return cls(*link_loops.both_ways(chosen, _MOST))

    def unreached(self, entries: NDArray[np.int32]) -> NDArray[np.int32]:
        """Rows that no entry leads to, one for each part, 20,000 at most."""
        from longwave.rows import link_loops

        return np.asarray(link_loops.unreached(self.ends, self.links, entries, _UNREACHED))


@dataclass(eq=False)
class _Scratch:
    """Which rows a search has seen: one at a time writes to it."""

    stamps: NDArray[np.int64]
    used: int = 0

    def next_stamps(self, count: int) -> int:
        """The first of so many numbers that no search has used."""
        self.used += count
        return self.used - count + 1


@dataclass(frozen=True, eq=False)
class Links:
    """A search along links. Any number of threads may search at a time; a query takes the calling one.

    rows: float32, or `Compact`. ways: of the rows. entries: (e,) rows to begin at; codes: these in a byte a number.
    facts: effort, the rows that are kept on the way; recall of the best k, measured when it was built. steps: all rows
    in a byte a number, less their mean, which steps go by; None where they go by the rows.
    """

    rows: Any
    ways: Ways
    entries: NDArray[np.int32]
    codes: Compact
    facts: Structure
    steps: Compact | None = None
    _free: list[_Scratch] = field(default_factory=list, repr=False)

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k rows of largest inner product with each query. (q, d) -> lists (q, k), −1 where there is none."""
        from longwave.rows import link_loops

        asked = np.ascontiguousarray(queries, dtype=np.float32)
        ids, products = np.empty((len(asked), k), dtype=np.int64), np.empty((len(asked), k), dtype=np.float32)
        scratch, coded, compared = self.borrow(), self.steps is not None, biased(asked, self.plain[0])
        try:
            link_loops.nearest_linked(
                *self.plain,
                asked,
                asked if coded else compared,
                compared,
                coded,
                self.effort_for(k),
                scratch.stamps,
                scratch.next_stamps(len(asked)),
                ids,
                products,
            )
        finally:
            self.give_back(scratch)
        check_scores(products == products)  # not NaN
        return Neighbors(ids, products)

    def tried(self, queries: NDArray[np.float32], worst: NDArray[np.float32], target: float) -> Links:
        """With the least effort that finds so much of what is no worse than the k-th true one, of either kind of query.

        queries: (2, q, d). worst: (2, q, 1)
        """
        made, k = self, self.facts.k
        for effort in _EFFORTS:
            made = replace(made, facts=Structure(KIND, effort, 0.0, k), _free=self._free)
            found = (
                made.search(kind, k).similarities >= least - 1e-5 for kind, least in zip(queries, worst, strict=True)
            )
            made = replace(made, facts=Structure(KIND, effort, min(float(right.mean()) for right in found), k))
            if made.facts.recall >= target:
                break
        return made

    def effort_for(self, k: int) -> int:
        """Rows that are kept on the way to k of them; more than was measured are looked for harder."""
        return max(self.facts.effort, int(1.5 * k))

    @cached_property
    def plain(self) -> tuple[Any, ...]:
        """What the loops read: rows, steps, links, entries; read-only, so that every loop is compiled once."""
        rows = *stored_rows(self.rows), *stored_rows(self.rows if self.steps is None else self.steps)
        arrays = (*rows, self.ways.ends, self.ways.links, self.entries, *stored_rows(self.codes))
        return tuple(plain(array) for array in arrays)

    def borrow(self) -> _Scratch:
        """Something to write to that no other search has."""
        try:
            return self._free.pop()  # one step of the interpreter: threads need no lock
        except IndexError:
            return _Scratch(np.zeros(len(self.rows), dtype=np.int64))

    def give_back(self, scratch: _Scratch) -> None:
        """For the next search."""
        self._free.append(scratch)

    @property
    def nbytes(self) -> int:
        """Bytes of the links; the rows are not its own."""
        return self.ways.nbytes + self.entries.nbytes + self.codes.nbytes + (self.steps.nbytes if self.steps else 0)

    def over(self, rows: Any) -> Links:
        """The same links over the same rows, stored in fewer bytes."""
        steps = None if isinstance(rows, Compact) and rows.codes.dtype == np.int8 else self.steps
        return replace(self, rows=rows, steps=steps, _free=[])

    def pack(self) -> dict[str, Array]:
        """Its arrays, for the index folder."""
        arrays: dict[str, Array] = {"ends": self.ways.ends, "links": self.ways.links, "entries": self.entries}
        for name, rows in (("entry", self.codes), ("step", self.steps)):
            if rows is not None:
                arrays |= {f"{name}_codes": rows.codes, f"{name}_scales": rows.scales}
        return arrays

    @classmethod
    def unpack(cls, arrays: Mapping[str, Array], rows: Any, facts: Structure) -> Links:
        """From `pack`; ValueError where a number leads out of bounds, which compiled code does not look for."""
        entries = _numbers(arrays, "entries", len(rows))
        if not len(entries) or not 1 <= facts.effort <= _EFFORTS[-1]:
            raise ValueError(f"links have {len(entries)} entries and an effort of {facts.effort}")
        ways = Ways(_ends(arrays, "ends", len(rows), "links"), _numbers(arrays, "links", len(rows)))
        entry_codes = _codes(arrays, "entry", (len(entries), rows.shape[1]))
        if entry_codes is None:  # written by an earlier version
            entry_codes = compact(np.asarray(rows[entries], dtype=np.float32), "int8")
        return cls(rows, ways, entries, entry_codes, facts, _codes(arrays, "step", rows.shape))


def build(
    rows: NDArray[np.float32],
    lists: Neighbors | None = None,
    *,
    seed: int = 0,
    k: int = 10,
    target: float | None = None,
) -> Links:
    """Link rows (n, d), and choose the effort: the least that finds `target` of the true k of rows and strange queries.

    lists: of the rows, where they are known. A target that is not reached is told by `facts.recall`.
    """
    if len(rows) < 2:
        raise InputError("links need at least two rows; leave the search out")
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    n, dimension = rows.shape
    if lists is None:
        lists, _ = build_lists(rows, k=min(_LISTS, n - 1), seed=seed)
    rng = np.random.default_rng(seed)
    order, ways, target = rng.permutation(n).astype(np.int32), Ways.between(rows, lists), target or TARGET
    # Strange queries want a long way, rows themselves codes that tell near ones apart.
    queries = np.stack([strange_queries(rows, min(_SAMPLE, n), rng), rows[order[: min(_SAMPLE, n)]]])
    worst = np.stack([nearest(kind, rows, k=min(k, n)).similarities[:, -1:] for kind in queries])
    mean = rows.mean(axis=0)  # the same in all products: the order is that of the rest
    coded = compact(rows, "int8", mean) if dimension >= CODED else None
    for steps in (None,) if coded is None else (coded, None):
        tried = []
        for share, numbers in _SHARES.items():
            entries = order[: max(1, min(n // share, numbers // dimension))]
            entries = np.concatenate([entries, ways.unreached(entries)])
            known = Structure(KIND, _EFFORTS[0], 0.0, min(k, n))
            made = Links(rows, ways, entries, compact(rows[entries], "int8", mean), known, steps)
            tried.append(made.tried(queries, worst, target))
            if tried[-1].facts.recall >= target and tried[-1].facts.effort <= _EASY:
                return tried[-1]
        enough = [made for made in tried if made.facts.recall >= target]
        if enough:
            return enough[0]
    return tried[-1]


def _numbers(arrays: Mapping[str, Array], name: str, end: int) -> NDArray[np.int32]:
    found = arrays[name]
    if found.dtype != np.int32 or found.ndim != 1 or (found.size and not (found.min() >= 0 and found.max() < end)):
        raise ValueError(f"{name} has numbers outside of 0 … {end - 1}")
    return found


def _ends(arrays: Mapping[str, Array], name: str, n: int, over: str) -> NDArray[np.int64]:
    ends = arrays[name]
    if ends.dtype != np.int64 or ends.shape != (n + 1,):
        raise ValueError(f"{name} has the shape {ends.shape}, not ({n + 1},)")
    if ends[0] != 0 or ends[-1] != len(arrays[over]) or (ends[1:] < ends[:-1]).any():
        raise ValueError(f"{name} does not fit {over}")
    return ends


def _codes(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Compact | None:
    """Rows in a byte a number, where there are any."""
    if f"{name}_codes" not in arrays:
        return None
    codes, scales = arrays[f"{name}_codes"], arrays.get(f"{name}_scales", np.zeros(0))
    if codes.dtype != np.int8 or codes.shape != shape:
        raise ValueError(f"{name}_codes has the shape {codes.shape}, not {shape}")
    if scales.dtype != np.float32 or scales.shape != shape[:1]:
        raise ValueError(f"{name}_scales has the shape {scales.shape}, not {shape[:1]}")
    if not np.isfinite(scales).all():
        raise ValueError(f"{name}_scales has numbers that are not finite")
    return Compact(codes, scales)
