"""`Collection`: the handle of a living folder. It composes the files beside it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longwave.collection import compaction, living, renewal
from longwave.collection.changes import Change, change_of
from longwave.collection.living import Living
from longwave.collection.staleness import Staleness, staleness
from longwave.collection.tiers import run_to_merge
from longwave.engines.exporting import Exported, export
from longwave.errors import DataWarning, InputError, StorageError, plural
from longwave.graph.weights import Kernel
from longwave.index import Index
from longwave.items.items import labels_of
from longwave.search import packing
from longwave.search.explanation import Explanation
from longwave.search.segments import PREFIX, Segment, merged, pack_segment, prefix_of
from longwave.search.stored import warn_of_damage
from longwave.search.where import Where
from longwave.storage import DISK, Commit, Files, Kept, Vacuumed, Writer, history, read, writer
from longwave.types import Array, Hits, Progress


class Collection:
    """A folder of items that is added to, removed from and searched. Many readers, one writer.

    Every change is one commit: all of it or nothing, on the disk when the call returns. The lock of the writer is taken
    at the first change and held until `close`; searches need none, and threads may search while another one changes
    something. `index` is the immutable snapshot that searches use; `reload` follows a writer in another process.

    Added items are found like others, through their neighbours in the graph. Removed items are never found and
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

    def export(
        self,
        url: str,
        *,
        name: str = "longwave",
        approximate: bool = True,
        anew: bool = False,
        progress: Progress | bool | None = None,
    ) -> Exported:
        """Write the collection to an engine, or what changed since it was last written there. As `Index.export`."""
        with self._change:  # the version is that of the index
            index, version = self.index, self.version
        rule: dict[str, Any] = {"name": name, "approximate": approximate, "anew": anew, "progress": progress}
        return export(index, url, **rule, version=version)

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
        Costs one search for each vector, and the files of the batch; this does not grow with the collection.
        """
        found = self._apply(vectors, ids, groups, metadata)
        self._warn_if_stale()
        return found

    def remove(self, ids: ArrayLike) -> None:
        """Take items out, by id. They are never found again; their vertices remain bridges until `refresh`."""
        self._apply(remove=ids)

    def replace(
        self, vectors: ArrayLike, *, ids: ArrayLike, groups: ArrayLike | None = None, metadata: Any = None
    ) -> None:
        """Exchange the vectors of items that are there, in one step; their metadata too, where it is given.

        Parameters as for `add`.
        """
        self._apply(vectors, ids, groups, metadata, remove=ids)
        self._warn_if_stale()

    def change(
        self,
        vectors: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        metadata: Any = None,
        remove: ArrayLike | None = None,
        rename: Mapping[Any, Any] | None = None,
        about: Mapping[str, Any] | None = None,
        attach: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Several changes in one commit: all of them or none. Returns the ids of the items that came.

        - remove: ids of items that go.
        - rename: new ids by old ones, all at once. Such items keep all else: vectors, metadata, place in the graph.
        - vectors, ids, groups, metadata: items that come, as for `add`. Their ids may be those of items that go; where
          no metadata is given, such an item keeps what was known of the other.
        - about: what is kept with the collection (`Index.attach`), in place of what was. attach: arrays kept with it,
          in place of those of the same names.
        """
        notes: dict[str, Any] = {"about": about, "attach": attach}
        found = self._apply(vectors, ids, groups, metadata, remove=remove, rename=rename, **notes)
        self._warn_if_stale()
        return found

    def refresh(self, *, progress: Progress | bool | None = None, fast: bool | None = None, **options: Any) -> None:
        """A new graph and basis of all that is there, built as the old ones were. Searches and changes go on meanwhile.

        options: of `Index.build`, where they are to change. Takes as long as a build.
        """
        with self._heavy:
            with self._change:
                before = self._begin()
            made = renewal.rebuilt(before.index, self._kernel, progress, options, fast)
            with self._change:
                now = self._begin()
                made = renewal.caught_up(made, before, now)
                later = renewal.carried_over(made, before, now)
                facts = {**packing.facts(made, self._path), "segments": [], "next_segment": now.next_segment}
                self._commit(facts, packing.pack(made), later, f"refresh of {plural(len(made), 'item')}")
                self._warned = False

    def compact(self, *, keep: int = 10, grace: float = 3600.0) -> Vacuumed:
        """Merge all segments into one, without what was removed, and delete files that are no longer needed.

        keep: how many versions stay at least. grace: what was replaced fewer seconds ago stays as well. Where many
        items were added they are linked, so that a search no longer reads them all; `refresh` takes them into the
        graph.
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

    def lock(self) -> None:
        """Take the lock of the writer now and open the newest state, instead of at the first change."""
        with self._change:
            self._begin()

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

    def _apply(self, *given: Any, **options: Any) -> Array:
        """Commit a change, if it is one; the ids of the items that came. Parameters as for `change_of`."""
        with self._change:
            made = change_of(self._begin(), self._path, *given, **options)
            if made:
                self._append(made)
        return made.ids

    def _append(self, change: Change) -> None:
        """Write what is new, and what the tiers put together. All other files are kept."""
        known, start = self._living, len(self._living.base.items)
        named = {"ids": change.renaming.of_part(known.base.items.ids, 0)}
        whole: list[Segment] = []
        for own in known.segments:
            ids = change.renaming.of_part(own.ids, start)
            named[f"{prefix_of(own.number)}ids"] = ids
            whole.append(own if ids is None else replace(own, ids=ids))
            start += len(own.ids)
        before = list(whole)
        if change.segment is not None:
            whole.append(change.segment)
            while count := run_to_merge([own.size for own in whole]):
                number = max(known.next_segment, max(own.number for own in whole) + 1)
                whole = [*whole[:-count], merged(whole[-count:], number)]
        kept = [own for own in whole if own in before]
        prefixes = tuple(prefix_of(own.number) for own in kept)
        arrays: dict[str, Array | Kept] = {
            name: Kept(name) if (ids := named.get(name)) is None else ids
            for name in known.state.entries
            if not name.startswith(PREFIX) or name.startswith(prefixes)
        }
        told = {one["number"]: one for one in known.state.facts.get("segments", [])}
        facts = {**known.state.facts, **change.facts, "segments": [told[own.number] for own in kept]}
        self._commit(facts, {**arrays, **change.arrays}, whole[len(kept) :], change.message)

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
