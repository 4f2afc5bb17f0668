"""The collections that a server has: each a state that never changes, and what makes the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from longwave.collection import Collection
from longwave.collection import open as open_collection
from longwave.errors import InputError
from longwave.index import Index
from longwave.layout import graph_positions, positions
from longwave.pictures import Gallery, is_of_pictures
from longwave.server import schemas
from longwave.server.problems import Problem
from longwave.server.questions import Questions

T = TypeVar("T")
#: The column of the metadata that tells what is right, where nothing else is said.
LABEL = "label"


class GraphPlaces:
    """Where the vertices of one graph lie: made once, for all versions that have this graph."""

    def __init__(self, index: Index) -> None:
        self.graph, self._turn = index.graph, threading.Lock()
        self._places: NDArray[np.float32] | None = None

    def made(self, index: Index) -> NDArray[np.float32]:
        """The places. index: one that has this graph. (targets, 2)"""
        with self._turn:
            if self._places is None:
                self._places = graph_positions(index)
            return self._places


@dataclass(frozen=True, eq=False)
class State:
    """A version of a collection, ready to be searched. gallery: if it was made from pictures. questions: from texts."""

    version: int
    index: Index
    gallery: Gallery | None
    questions: Questions | None
    labels: str | None
    staleness: str
    places: GraphPlaces

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Columns of the metadata and their types."""
        known = self.index.metadata
        return [] if known is None else [(own.name, str(own.type)) for own in known.schema]

    @property
    def draw(self) -> schemas.Draw | None:
        """How items are drawn from their vectors, by what the index keeps about them; None where it says nothing."""
        told = self.index.about.get("draw")
        try:
            found = msgspec.convert(told, schemas.Draw)
        except msgspec.ValidationError:
            return None
        return found if found.width * found.height == self.index.dimension else None

    @cached_property
    def ids(self) -> list[Any]:
        """The id of every item, in order."""
        return list(self.index.ids.tolist())

    @cached_property
    def labels_by_id(self) -> dict[Any, Any]:
        """The label of every item; empty where there are none."""
        if self.labels is None or self.index.metadata is None:
            return {}
        column = self.index.metadata.table.column(self.labels).to_pylist()
        return {own: column[number] for own, number in zip(self.ids, self.index.items.live_numbers(), strict=True)}

    @cached_property
    def map(self) -> NDArray[np.float32]:
        """Places of all items. (N, 2)"""
        return positions(self.index, self.places.made(self.index))

    def parse_id(self, text: str) -> Any:
        """An id as the path of a request has it; Problem 404 where it is none."""
        if self.index.ids.dtype.kind == "U" and "\0" not in text:  # numpy does not see one at the end
            return text
        try:
            return int(text)
        except ValueError:
            raise Problem(404, f"there is no item '{text[:100]}'; ids are whole numbers") from None

    def place_of(self, item: Any) -> int:
        """The number of an item that a request names in its path; Problem 404 where there is none."""
        try:
            return int(self.index.items.places([item])[0])
        except (InputError, OverflowError) as error:
            raise Problem(404, str(error)) from error


class Served:
    """A collection under its name. `now` is replaced as a whole: a request that began with a state ends with it."""

    def __init__(self, name: str, collection: Collection, *, writable: bool, labels: str | None) -> None:
        self.name, self.writable = name, writable
        self._collection, self._labels = collection, labels
        self._renewing = threading.Lock()
        self.now = self._state(None)

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._collection.path

    def follow(self) -> bool:
        """Take the newest version, where another process has written one. Returns whether it did."""
        return self._collection.reload() and self._renew()

    def change(self, what: Callable[[Collection], T]) -> T:
        """Change the collection; when this returns, `now` has the change."""
        found = what(self._collection)
        self._renew()
        return found

    def close(self) -> None:
        """Free the lock of the writer."""
        self._collection.close()

    def _renew(self) -> bool:
        with self._renewing:
            self.now = self._state(self.now)
        return True

    def _state(self, before: State | None) -> State:
        version, index = -1, self._collection.index
        while version != self._collection.version:  # another thread may commit between the two
            version, index = self._collection.version, self._collection.index
        _warm(index)
        labels = self._labels
        known = [] if index.metadata is None else list(index.metadata.schema.names)
        if labels is None:
            labels = LABEL if LABEL in known else None
        elif labels not in known:
            raise InputError(f"{self.path} has no column '{labels}' to take labels from; it has {', '.join(known)}")
        gallery = _gallery(index, None if before is None else before.gallery)
        questions = Questions.of(index, None if before is None else before.questions)
        same = before is not None and before.places.graph is index.graph
        places = before.places if before is not None and same else GraphPlaces(index)
        return State(version, index, gallery, questions, labels, str(self._collection.staleness()), places)


def _warm(index: Index) -> None:
    """One search, so that what is compiled, read or put together at first is there when the first request comes."""
    if index.spectrum is None:  # a search must say how it is to be answered
        return
    if not index.has_vectors:
        index.search(seeds={index.ids[0].item(): 1.0}, k=min(10, len(index)))
        return
    rows = index.vectors.rows(np.arange(min(64, len(index.vectors))))
    seen = np.flatnonzero(rows.any(axis=1))
    if seen.size:
        index.search(rows[seen[0]], min(10, len(index)))


def _gallery(index: Index, before: Gallery | None) -> Gallery | None:
    """The pictures of an index; an encoder that was opened already is kept."""
    if not is_of_pictures(index.about):
        return None
    made = Gallery(index)
    if before is not None and "encoder" in vars(before) and before.treatment == made.treatment:
        made = Gallery(index, encoder=before.encoder)
    return made


class Shelf:
    """All collections, by name: the folder's name without its suffix."""

    def __init__(self, served: Sequence[Served]) -> None:
        self._by_name = {one.name: one for one in served}
        if not served:
            raise InputError("there is nothing to serve; name at least one index folder")
        if len(self._by_name) < len(served):
            twice = next(one.name for one in served if sum(one.name == other.name for other in served) > 1)
            raise InputError(f"two folders are called '{twice}'; serve them apart, or rename one")

    @classmethod
    def open(cls, paths: Sequence[str | Path], *, writable: bool = False, labels: str | None = None) -> Shelf:
        """Open folders."""
        return cls(
            [
                Served(Path(path).resolve().stem, open_collection(path), writable=writable, labels=labels)
                for path in paths
            ]
        )

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def find(self, name: str) -> Served:
        """The collection of this name; Problem 404 where there is none."""
        found = self._by_name.get(name)
        if found is None:
            raise Problem(404, f"there is no collection '{name[:100]}'; there are {', '.join(self._by_name)}")
        return found
