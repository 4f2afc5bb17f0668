"""`Collection`: the handle of a living folder. It composes the files beside it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longwave.collection import batches, compaction, living, renewal
from longwave.collection.folder import DISK, Commit, Files, Kept, Vacuumed, Writer, history, read, writer
from longwave.collection.living import Living
from longwave.collection.staleness import Staleness, staleness
from longwave.collection.tiers import run_to_merge
from longwave.errors import DataWarning, InputError, StorageError, plural
from longwave.graph.weights import Kernel
from longwave.index import Index
from longwave.items.items import labels_of
from longwave.metadata.described import Sheet
from longwave.search import packing
from longwave.search.explanation import Explanation
from longwave.search.segments import PREFIX, Segment, merged, pack_segment, prefix_of
from longwave.search.stored import warn_of_damage
from longwave.search.where import Where
from longwave.types import Array, Hits, Progress


class Collection:
    """A folder of items that is added to, removed from and searched. Many readers, one writer.

    Every change is one commit: all of it or nothing, on the disk when the call returns. The lock of the writer is taken
    at the first change and held until `close`; searches need none, and threads may search while another one changes
    something. `index` is the immutable snapshot that searches use; `reload` follows a writer in another process.

    Added items are found like others, by what they are to the vertices of the graph. Removed items are never found and
    carry no weight; their vertices remain bridges of the graph until `refresh`, which makes a new graph of all that is
    there. `staleness` tells when that is worth it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        version: int | None = None,
        kernel: Kernel | None = None,
        verify: bool = False,
        files: Files = DISK,
    ) -> None:
        """Open a folder. Parameters as for `longwave.open`; files: the layer that writes, for tests."""
        self._path, self._version, self._kernel, self._files = Path(path), version, kernel, files
        self._change = threading.RLock()  # one change after the other
        self._heavy = threading.Lock()  # of refresh and compact, one at a time: item numbers hold as long
        self._stack, self._closed, self._warned = ExitStack(), False, False
        self._writer: Writer | None = None
        state = read(path, version, verify=verify)
        warn_of_damage(path, state)
        self._living = living.load(path, state, kernel)

    # What is there.

    @property
    def path(self) -> Path:
        """The folder."""
        return self._path

    @property
    def index(self) -> Index:
        """The snapshot that searches use now. It never changes, and outlives this handle."""
        return self._living.index

    @property
    def version(self) -> int:
        """The number of the commit that is open."""
        return self._living.state.number

    def __len__(self) -> int:
        return self._living.n_items - self._living.n_removed

    def __contains__(self, id: object) -> bool:
        try:
            ids = labels_of(np.array([id]), "ids")
        except InputError:
            return False
        known = self._living
        return ids.dtype.kind == known.base.items.ids.dtype.kind and bool(known.find(ids)[0] >= 0)

    def __repr__(self) -> str:
        return f"<Collection {self._path}: {plural(len(self), 'item')}, version {self.version}>"

    def search(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        where: Where | None = None,
        columns: Sequence[str] | None = None,
        **options: Any,
    ) -> Hits:
        """Rank the items along the manifold. As `Index.search`, of the newest state that this handle knows."""
        return self.index.search(queries, k, where=where, columns=columns, **options)

    def similar(self, ids: ArrayLike, k: int = 10, **options: Any) -> Hits:
        """More like these items. As `Index.search_by_id`."""
        return self.index.search_by_id(ids, k, **options)

    def explain(self, query: ArrayLike, item: Any, **options: Any) -> Explanation:
        """Why this item was found. As `Index.explain`."""
        return self.index.explain(query, item, **options)

    def staleness(self) -> Staleness:
        """How far the collection has moved away from its graph."""
        return staleness(self._living)

    def history(self) -> list[Commit]:
        """All versions that `longwave.open(path, version=...)` can open, oldest first."""
        return history(self._path)

    # What changes it.

    def add(
        self,
        vectors: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        metadata: Any = None,
    ) -> Array:
        """Add items; they are on the disk when this returns. All of them or none. Returns their ids.

        vectors: (m, d), or one (d,). ids: one for each item, of the kind that the collection has; by default numbers go
        on after the largest. groups: (m,) the item of each vector, where items have several, as for `Index.build`.
        metadata: one row for each item, as for `Index.with_metadata`; columns that are new are missing elsewhere.
        Costs one search for each vector and the files of the batch, however large the collection is.
        """
        with self._change:
            known = self._begin()
            unit = batches.unit_of(known, vectors)
            items = batches.new_items(known, len(unit), ids, groups)
            batches.check_new(known, items.ids)
            sheet = batches.sheet_of(known, metadata, len(items))
            segment = batches.make_segment(known.base, known.next_segment, unit, items, sheet=sheet)
            self._append(segment, f"add {plural(len(items), 'item')}")
        self._warn_if_stale()
        return items.ids

    def remove(self, ids: ArrayLike) -> None:
        """Take items out, by id. They are never found again; their vertices remain bridges until `refresh`."""
        with self._change:
            known = self._begin()
            numbers = np.unique(batches.numbers_of(known, self._ids(ids)))
            if len(numbers) == len(self):
                raise InputError("remove would leave no item at all; create another collection instead")
            segment = batches.without(known.base, known.next_segment, numbers)
            self._append(segment, f"remove {plural(len(numbers), 'item')}")

    def replace(
        self, vectors: ArrayLike, *, ids: ArrayLike, groups: ArrayLike | None = None, metadata: Any = None
    ) -> None:
        """Exchange the vectors of items that are there, in one step. metadata: theirs, too; kept where none is given.

        Parameters as for `add`.
        """
        with self._change:
            known = self._begin()
            unit = batches.unit_of(known, vectors)
            items = batches.new_items(known, len(unit), ids, groups)
            numbers = batches.numbers_of(known, items.ids)
            if metadata is None and known.index.metadata is not None:
                sheet = Sheet.of_table(known.index.metadata.table.take(numbers))
            else:
                sheet = batches.sheet_of(known, metadata, len(items))
            removed = np.unique(numbers)
            segment = batches.make_segment(known.base, known.next_segment, unit, items, sheet=sheet, removed=removed)
            self._append(segment, f"replace {plural(len(items), 'item')}")
        self._warn_if_stale()

    def refresh(self, *, progress: Progress | bool | None = None, fast: bool | None = None, **options: Any) -> None:
        """A new graph and basis of all that is there, built as the old ones were. Searches and changes go on meanwhile.

        options: of `Index.build`, where they shall be others than they were. Takes as long as a build.
        """
        with self._heavy:
            with self._change:
                before = self._begin()
            made = renewal.rebuilt(before.index, self._kernel, progress, options, fast)
            with self._change:
                now = self._begin()
                later = renewal.carried_over(made, before, now)
                facts = {**packing.facts(made), "segments": [], "next_segment": now.next_segment}
                self._commit(facts, packing.pack(made), later, f"refresh of {plural(len(made), 'item')}")
                self._warned = False

    def compact(self, *, keep: int = 10, grace: float = 3600.0) -> Vacuumed:
        """All segments become one without what was removed, and files that are of no use go.

        keep, grace: so many versions stay, and what was replaced for less than so many seconds. Added items are still
        scanned on the fast plan; `refresh` takes them into the graph.
        """
        with self._heavy, self._change:
            known = self._begin()
            if compaction.is_needed(known):
                whole = compaction.compacted(known)
                kept: dict[str, Array | Kept] = {
                    name: Kept(name) for name in known.state.entries if not name.startswith(PREFIX)
                }
                facts = {**known.state.facts, "segments": []}
                self._commit(facts, kept, [] if whole is None else [whole], "compact")
            assert self._writer is not None
            return self._writer.vacuum(keep=keep, grace=grace)

    def reload(self) -> bool:
        """Follow the writer: open the newest state. Returns whether it is another one."""
        with self._change:
            if self._writer is not None or self._version is not None:
                return False
            before = self._living
            state = read(self._path, known=before.state)
            if state.commit == before.state.commit:
                return False
            self._living = living.load(self._path, state, self._kernel, before)
            return True

    def close(self) -> None:
        """Free the lock of the writer. What was opened can still be searched."""
        with self._change:
            self._closed, self._writer = True, None
            self._stack.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> Living:
        """Before a change: hold the lock, and know the newest state."""
        if self._closed:
            raise StorageError(f"this handle of {self._path} is closed; open it again: longwave.open(path)")
        if self._version is not None:
            raise StorageError(
                f"version {self._version} of {self._path} is open for reading only; open the newest one to change it"
            )
        if self._writer is None:
            own = self._stack.enter_context(writer(self._path, files=self._files))
            state = own.state
            assert state is not None  # it was read
            self._living = living.load(self._path, state, self._kernel, self._living)
            self._writer = own
        return self._living

    def _append(self, segment: Segment, message: str) -> None:
        """Commit one more segment: only what is new is written, and what the tiers put together."""
        state, known = self._living.state, self._living.segments
        whole = [*known, segment]
        while count := run_to_merge([own.size for own in whole]):
            number = max(self._living.next_segment, max(own.number for own in whole) + 1)
            whole = [*whole[:-count], merged(whole[-count:], number)]
        kept = [own for own in whole if own in known]
        arrays: dict[str, Array | Kept] = {
            name: Kept(name)
            for name in state.entries
            if not name.startswith(PREFIX) or any(name.startswith(prefix_of(own.number)) for own in kept)
        }
        told = {one["number"]: one for one in state.facts.get("segments", [])}
        facts = {**state.facts, "segments": [told[own.number] for own in kept]}
        self._commit(facts, arrays, whole[len(kept) :], message)

    def _commit(
        self, facts: Mapping[str, Any], arrays: Mapping[str, Array | Kept], later: Sequence[Segment], message: str
    ) -> None:
        """Write the segments behind those that the facts name, and make this the state."""
        assert self._writer is not None
        told, written = list(facts["segments"]), dict(arrays)
        for segment in later:
            own, new = pack_segment(segment)
            told.append(own)
            written |= new
        following = max([self._living.next_segment, *(segment.number + 1 for segment in later)])
        self._writer.commit({**facts, "segments": told, "next_segment": following}, written, message)
        state = self._writer.state
        assert state is not None
        self._living = living.load(self._path, state, self._kernel, self._living)

    def _ids(self, ids: ArrayLike) -> Array:
        """Ids of a user's, of the kind that the collection has."""
        given = np.atleast_1d(np.asarray(ids))
        if not given.size:
            return given
        found, kind = labels_of(given, "ids"), self._living.base.items.ids.dtype.kind
        if found.dtype.kind != kind:
            kinds = {"U": "strings", "i": "whole numbers"}
            raise InputError(f"ids of this collection are {kinds[kind]}, got {found[0].item()!r}")
        return found

    def _warn_if_stale(self) -> None:
        known = self.staleness()
        if known.stale and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._path}: {known.outside:.0%} of the items are outside of the graph, which is expected to cost "
                f"{known.loss:.1f} points of mAP; make a new graph with refresh()",
                DataWarning,
                stacklevel=3,
            )
