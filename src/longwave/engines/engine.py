"""`Engine`: what Longwave asks of a place that keeps a row for each item and searches rows by inner product."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.engines.record import Record
from longwave.errors import RemoteError
from longwave.metadata import Condition
from longwave.types import Array

#: The two columns that are searched: unit vectors, and rows of Ū.
VECTOR, COORDINATES = "vector", "coordinates"
#: What the client has to know of a row, beside its id: see `Facts`.
FACTS = ("row", "gain", "scale", "reach", "norm", "kind", "component", "psi_rows", "psi_weights")


class Moved(RemoteError):
    """Rows went away in the middle of a search: it has to begin again."""

    def __init__(self) -> None:
        super().__init__("rows were taken away while they were searched; ask again")


@dataclass(frozen=True, eq=False)
class Facts:
    """Some rows, as the mathematics between the searches needs them. c rows.

    numbers: of the items. row: the stored vector, which copies share; those of the graph come first. gain: what U was
    multiplied with. scale: σ. reach: similarity to the k-th neighbour. norm: η. kind: as `Spectrum.kinds`. component:
    vertices in it. psi_rows, psi_weights: ψ of what was added after the graph was built, else empty. coordinates:
    (c, r), where they were asked for.
    """

    numbers: NDArray[np.int64]
    ids: Array
    row: NDArray[np.int64]
    gain: NDArray[np.float32]
    scale: NDArray[np.float32]
    reach: NDArray[np.float32]
    norm: NDArray[np.float32]
    kind: NDArray[np.uint8]
    component: NDArray[np.int64]
    psi_rows: Sequence[Sequence[int]]
    psi_weights: Sequence[Sequence[float]]
    coordinates: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where rows of these numbers are, all of which are there unless somebody has just taken them away."""
        order = np.argsort(self.numbers)
        found = order[np.minimum(np.searchsorted(self.numbers, numbers, sorter=order), max(0, len(order) - 1))]
        if not np.array_equal(self.numbers[found], numbers):
            raise Moved
        return found


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows to be written: facts with coordinates, vectors (c, d), leader (c,): whether a row stands for its copies.

    metadata: a pyarrow.Table with the engine's names; None without.
    """

    facts: Facts
    vectors: NDArray[np.float32]
    leader: NDArray[np.bool_]
    metadata: Any

    def columns(self) -> dict[str, Any]:
        """All but the two searched columns and the metadata, by name: arrays, and lists of lists."""
        known = {name: getattr(self.facts, name) for name in FACTS}
        return {"number": self.facts.numbers, "id": self.facts.ids, "leader": self.leader, **known}


@dataclass(frozen=True, eq=False)
class Scored:
    """Some rows and their products with a query and with its waves. (c,)"""

    facts: Facts
    similarities: NDArray[np.float32]
    products: NDArray[np.float32]


class Engine(Protocol):
    """A place for one collection. Numbers are those of the items; they ascend in the order of writing."""

    @property
    def place(self) -> str:
        """Where it is, for messages; without a password."""

    def record(self) -> Record | None:
        """Of the newest complete export; None where there is none."""

    def begin(self, record: Record) -> int:
        """Go on with an export of the same record that was broken off, or begin one: the largest number written.

        −1 where nothing is. What is there already stays as it is until `finish`.
        """

    def write(self, batch: Batch) -> None:
        """Write rows of the export that was begun."""

    def finish(self) -> None:
        """Make the indexes and put the export in the place of the one before, at once."""

    def change(self, record: Record, removed: NDArray[np.int64], batches: Iterable[Batch]) -> None:
        """Take rows out of the newest export and put others in, which replace those of their number."""

    def known(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """Number, id and `leader` of every row of the newest export, ascending."""

    def search(
        self, column: str, query: NDArray[np.float32], k: int, *, where: Condition | None = None, leaders: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The k rows of largest inner product, best first: numbers and products. where: settled, in engine's names."""

    def facts(
        self, *, numbers: Array | None = None, rows: Array | None = None, ids: Array | None = None, waves: bool = False
    ) -> Facts:
        """Rows of these numbers, stored vectors or ids, in any order; those that are not there are left out.

        waves: with their coordinates.
        """

    def scored(self, numbers: Array, query: NDArray[np.float32], waves: NDArray[np.float32]) -> Scored:
        """Rows of these numbers with the products of both columns."""

    def vectors(self, after: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The next `count` rows of numbers above `after`, ascending: numbers and vectors."""

    def metadata(self, numbers: Array, columns: Sequence[str]) -> Mapping[str, list[Any]]:
        """Metadata of rows, in the order of the numbers. columns: in engine's names."""

    def close(self) -> None:
        """Give back what is open."""


def asked_by(**columns: Array | None) -> tuple[str, Array]:
    """The column that rows are asked for by, and its values: the one of them that is given."""
    return next((name, own) for name, own in columns.items() if own is not None)


def in_blocks(numbers: Array, size: int) -> Iterator[Array]:
    """The numbers, so many at a time."""
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]
