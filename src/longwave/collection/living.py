"""`Living`: one committed state of a collection, as values. It never changes; a commit makes another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.collection.lookup import Part, find
from longwave.errors import CorruptIndexError
from longwave.graph.weights import Kernel
from longwave.index import Index
from longwave.metadata import common_schema
from longwave.search import packing, segments
from longwave.search.segments import PREFIX, Segment
from longwave.search.snapshot import fields_of
from longwave.storage import Entry, State
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Living:
    """state: as it is in the folder. base: the index that segments follow. parts: ids of the base and of segments."""

    state: State
    base: Index
    segments: tuple[Segment, ...]
    parts: tuple[Part, ...]

    @cached_property
    def index(self) -> Index:
        """The snapshot of everything. Made at the first search, from what did not change and what did."""
        return segments.assemble(self.base, self.segments)

    @property
    def n_items(self) -> int:
        """Items, those removed included: the number of the next."""
        return sum(len(part.ids) for part in self.parts)

    @property
    def n_removed(self) -> int:
        """Items that are not there any more."""
        return sum(len(part.removed) for part in self.parts)

    @property
    def n_outside(self) -> int:
        """Items that are not in the graph, those removed included."""
        added = self.base.added
        return sum(len(segment.ids) for segment in self.segments) + (0 if added is None else added.n_items)

    @property
    def next_segment(self) -> int:
        """A number that no segment has or had."""
        known = self.state.facts.get("next_segment", 0)
        return max([known if type(known) is int else 0, *(segment.number + 1 for segment in self.segments)])

    @property
    def schema(self) -> Any:
        """Columns of the metadata and their types; None where there is no metadata."""
        known = [] if self.base.metadata is None else list(self.base.metadata.sheets)
        known += [segment.sheet for segment in self.segments]
        tables = [sheet.table for sheet in known if sheet.data is not None]
        return common_schema(table.schema for table in tables) if tables else None

    def find(self, ids: Array) -> NDArray[np.int64]:
        """The number of each id; −1 where it is not there."""
        return find(self.parts, ids)


def load(path: str | Path, state: State, kernel: Kernel | None, known: Living | None = None) -> Living:
    """The values of a state. known: an earlier one; what has the same files is taken from it."""
    if known is not None and _rest(state) != _rest(known.state):
        known = None
    mine, theirs = _by_segment(state), {} if known is None else _by_segment(known.state)
    plain = {name: array for name, array in state.arrays.items() if not name.startswith(PREFIX)}
    if known is None:
        base = Index(**fields_of(packing.restore(path, {**state.facts, "segments": []}, plain, kernel)))
        removed = base.items.removed
        first = Part(base.items.ids, np.zeros(0, dtype=np.int64) if removed is None else removed)
    else:
        base, first = known.base, known.parts[0]
    old = {} if known is None else {s.number: (s, p) for s, p in zip(known.segments, known.parts[1:], strict=True)}
    made: list[Segment] = []
    parts, before = [first], len(base.items)
    try:
        if known is not None and _notes(state) != _notes(known.state):
            base = packing.renoted(base, path, state.facts, plain)
            parts = [Part(base.items.ids, first.removed)]
        for one in state.facts.get("segments", []):
            number = one.get("number")
            if number in old and mine.get(number) == theirs.get(number):
                segment, part = old[number]
            else:
                segment = segments.unpack_segment(one, state.arrays, base, before)
                part = Part(segment.ids, segment.removed)
            made.append(segment)
            parts.append(part)
            before += len(segment.ids)
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptIndexError(f"{path} is damaged ({error}); copy it again, or build the index again") from error
    return Living(state, base, tuple(made), tuple(parts))


def _notes(state: State) -> Any:
    """What of the base can change by itself: ids, and what the user keeps."""
    own = {name: entry for name, entry in state.entries.items() if packing.is_note(name)}
    return own, state.facts.get("about"), state.facts.get("beside")


def _rest(state: State) -> Any:
    """What of the base cannot."""
    own = {n: e for n, e in state.entries.items() if not n.startswith(PREFIX) and not packing.is_note(n)}
    return own, state.facts.get("settings")


def _by_segment(state: State) -> dict[int, dict[str, Entry]]:
    """The files of every segment, by its number."""
    found: dict[int, dict[str, Entry]] = {}
    for name, entry in state.entries.items():
        number = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and number.isdigit():
            found.setdefault(int(number), {})[name] = entry
    return found
