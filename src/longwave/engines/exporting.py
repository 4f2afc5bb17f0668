"""`export`: an index to an engine, whole or not at all; where an export of the same graph is, only what changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import Batch, Engine
from longwave.engines.foreign import Harmed
from longwave.engines.opening import NAME, open_engine
from longwave.engines.record import Record
from longwave.engines.source import Source
from longwave.errors import CorruptIndexError, NewerIndexError, plural
from longwave.progress import shown
from longwave.search.snapshot import Snapshot
from longwave.types import Progress

# What an earlier export may be: nobody can search it, or this Longwave cannot.
_DAMAGE = (CorruptIndexError, NewerIndexError, Harmed)


@dataclass(frozen=True)
class Exported:
    """What an export did. whole: it was written anew; else only what changed since the one before."""

    place: str
    items: int
    written: int
    removed: int
    whole: bool

    def __str__(self) -> str:
        if self.whole:
            return f"{plural(self.items, 'item')} in {self.place}, {plural(self.written, 'row')} written"
        if not self.written and not self.removed:
            return f"{plural(self.items, 'item')} in {self.place}, nothing to write"
        return (
            f"{plural(self.items, 'item')} in {self.place}, {plural(self.written, 'row')} written, "
            f"{self.removed:,} removed"
        )


def export(
    snapshot: Snapshot,
    url: str,
    *,
    name: str = NAME,
    approximate: bool = True,
    anew: bool = False,
    version: int | None = None,
    progress: Progress | bool | None = None,
) -> Exported:
    """Write an index to an engine. Parameters as for `Index.export`; version: of the collection."""
    source = Source(snapshot, version, approximate)
    engine = open_engine(url, name, write=True)
    try:
        with shown(progress) as report:
            if not anew:
                with suppress(*_DAMAGE):  # then it is written anew
                    known = engine.record()
                    if known is not None and _is_same_graph(known, source.record):
                        return _follow(engine, source, known, report)
            return _whole(engine, source, report)
    finally:
        engine.close()


def _is_same_graph(known: Record, now: Record) -> bool:
    """Whether rows of both can stand beside each other: only items, ids and metadata of new items differ."""
    same = {"version": None, "items": 0, "outside": 0, "copies": False}
    return replace(known, **same) == replace(now, **same)  # type: ignore[arg-type]


def _whole(engine: Engine, source: Source, report: Progress) -> Exported:
    total, written = len(source.numbers), 0
    done = int(np.searchsorted(source.numbers, engine.begin(source.record), side="right"))
    report("export", done, total)
    for batch in source.batches(np.arange(done, total)):
        engine.write(batch)
        written += len(batch.facts)
        report("export", done + written, total)
    report("export: indexes", total, total)
    engine.finish()
    return Exported(engine.place, total, written, 0, whole=True)


def _follow(engine: Engine, source: Source, known: Record, report: Progress) -> Exported:
    """What is there is compared with what should be: so a change that was broken off is made up for."""
    total = len(source.numbers)
    if known.version is not None and known == source.record:
        return Exported(engine.place, total, 0, 0, whole=False)
    removed, chosen = _difference(engine, source)
    written = 0
    if len(removed) or len(chosen) or known != source.record:

        def counted() -> Iterator[Batch]:
            nonlocal written
            for batch in source.batches(chosen):
                yield batch
                written += len(batch.facts)
                report("export", written, len(chosen))

        engine.change(source.record, removed, counted())
    return Exported(engine.place, total, len(chosen), len(removed), whole=False)


def _difference(engine: Engine, source: Source) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers that must go, and places of items in `source` that must be written."""
    numbers, ids, leader = engine.known()
    gone = numbers[~np.isin(numbers, source.numbers)]
    at = np.minimum(np.searchsorted(numbers, source.numbers), max(0, len(numbers) - 1))
    if not len(numbers):
        return gone, np.arange(len(source.numbers))
    there = (numbers[at] == source.numbers) & (ids[at] == source.ids) & (leader[at] == source.leader)
    return gone, np.flatnonzero(~there)
