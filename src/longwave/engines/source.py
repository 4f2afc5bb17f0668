"""What an index writes to an engine: a record, and rows in batches."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import Batch, Facts
from longwave.engines.record import Record, schema_text
from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.search import blending
from longwave.search.snapshot import Snapshot
from longwave.types import Array

# Numbers of a batch: some ten megabytes, which every engine takes at once.
_BATCH_NUMBERS = 1 << 21
# Rows of Ū that tell one basis from another.
_SAMPLE = 64
#: Names that columns of metadata cannot have, as the rows have them themselves.
OWN = {
    "number", "id", "leader", "row", "gain", "scale", "reach", "norm", "kind", "component", "psi_rows", "psi_weights",
    "vector", "coordinates", "score", "similarity",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Source:
    """The rows of a snapshot. version: of its collection; approximate: whether the engine is to index vectors."""

    snapshot: Snapshot
    version: int | None
    approximate: bool

    def __post_init__(self) -> None:
        own = self.snapshot
        own.require_vectors("an export")
        if not own.system.require_spectrum("an export").rank:
            raise InputError(
                "this index has no waves: no two of its vectors are neighbours; an export would gain nothing"
            )
        if own.pooling is not None:
            raise InputError(
                "this index has items of several vectors, which an engine cannot rank by one search; build it with one "
                "vector for each item (a mean, for example), or serve it with: longwave serve"
            )
        if own.settings.kernel.startswith("own:"):
            raise InputError(
                f"a client cannot know the kernel {own.settings.kernel}; build with Local() or Power(gamma), or "
                "register it (docs/contributing.md)"
            )
        kernels.parse(own.settings.kernel)

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The items that are there, ascending. (N,)"""
        return self.snapshot.items.live_numbers()

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The stored vector of each. (N,)"""
        return self.snapshot.items.target_of(self.numbers)

    @cached_property
    def ids(self) -> Array:
        """The id of each. (N,)"""
        return self.snapshot.items.ids[self.numbers]

    @cached_property
    def leader(self) -> NDArray[np.bool_]:
        """Whether each is the first of those that share its vector. (N,)"""
        leader = np.zeros(len(self.numbers), dtype=bool)
        leader[np.unique(self.rows, return_index=True)[1]] = True
        return leader

    @cached_property
    def record(self) -> Record:
        """What the engine keeps beside the rows."""
        own, spectrum = self.snapshot, self.snapshot.system.require_spectrum("an export")
        search = own.settings.search
        blending.parse(search.blend)
        return Record(
            fingerprint=self._fingerprint(),
            version=self.version,
            items=len(self.numbers),
            outside=int(np.count_nonzero(self.rows >= own.n_vertices)),
            copies=not bool(self.leader.all()),
            text_ids=self.ids.dtype.kind == "U",
            dimension=own.dimension,
            rank=spectrum.rank,
            n_vertices=own.n_vertices,
            eigenvalues=spectrum.eigenvalues.tolist(),
            next_eigenvalue=spectrum.next_eigenvalue,
            filter=search.filter,
            neighbors=search.neighbors,
            blend=search.blend,
            kernel=own.settings.kernel,
            balanced=own.settings.balanced,
            columns=self.columns,
            schema=None if own.metadata is None else schema_text(own.metadata.schema),
            approximate=self.approximate,
        )

    @cached_property
    def columns(self) -> dict[str, str]:
        """The engine's name for each column of the metadata: its own, where that is a plain word that is free."""
        names: dict[str, str] = {}
        taken = set(OWN)
        for number, name in enumerate([] if self.snapshot.metadata is None else self.snapshot.metadata.schema.names):
            plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,59}", name) and name.lower() not in taken
            names[name] = name if plain else f"column_{number}"
            taken.add(names[name].lower())
        return names

    def batches(self, chosen: NDArray[np.int64] | None = None) -> Iterator[Batch]:
        """Rows of all items, or of those at these places of `numbers`."""
        places = np.arange(len(self.numbers)) if chosen is None else chosen
        step = max(1, _BATCH_NUMBERS // (self.snapshot.dimension + self.record.rank))
        for start in range(0, len(places), step):
            yield self._batch(places[start : start + step])

    def _batch(self, places: NDArray[np.int64]) -> Batch:
        own, rows = self.snapshot, self.rows[places]
        inside = rows < own.n_vertices
        vertex, graph, spectrum = rows[inside], own.graph, own.system.require_spectrum("an export")

        def fact(values: Any, kind: Any, outside: Any = 0) -> Array:
            """Of vertices, and of what is outside of the graph."""
            filled: Array = np.zeros(len(rows), dtype=kind)
            filled[inside] = values
            filled[~inside] = outside
            return filled

        outside = rows[~inside] - own.n_vertices
        scales = None if graph.scales is None else graph.scales[vertex]
        own_scales = own.added_scales[outside] if len(outside) and graph.scales is not None else 0
        coordinates = np.zeros((len(rows), self.record.rank), dtype=np.float32)
        coordinates[inside] = own.coordinates.rows(vertex)
        coordinates[~inside] = self._outside_rows(outside)
        psi = [self._psi(row) if row >= 0 else ([], []) for row in np.where(inside, -1, rows - own.n_vertices)]
        facts = Facts(
            numbers=self.numbers[places],
            ids=self.ids[places],
            row=rows,
            gain=fact(1 if own.gains is None else own.gains[vertex], np.float32, 1),
            scale=fact(0 if scales is None else scales, np.float32, own_scales),
            reach=fact(graph.reach[vertex], np.float32),
            norm=own.row_norms[rows],
            kind=fact(spectrum.kinds[vertex], np.uint8),
            component=fact(graph.component_sizes[graph.labels[vertex]], np.int64),
            psi_rows=[pair[0] for pair in psi],
            psi_weights=[pair[1] for pair in psi],
            coordinates=coordinates,
        )
        table = None
        if own.metadata is not None:
            table = own.metadata.table.take(self.numbers[places]).rename_columns(list(self.columns.values()))
        return Batch(facts, own.vectors.rows(rows), self.leader[places], table)

    def _outside_rows(self, outside: NDArray[np.int64]) -> NDArray[np.float32]:
        """Coordinates of rows outside of the graph. (a,) -> (a, r)"""
        found = np.zeros((len(outside), self.record.rank), dtype=np.float32)
        start = 0
        for basis in self.snapshot.system.added_bases if len(outside) else ():
            here = (outside >= start) & (outside < start + basis.n)
            found[here] = basis.some_rows(outside[here] - start)
            start += basis.n
        return found

    def _psi(self, row: int) -> tuple[list[int], list[float]]:
        added = self.snapshot.added
        assert added is not None
        psi = added.psi
        span = slice(psi.indptr[row], psi.indptr[row + 1])
        return psi.indices[span].tolist(), psi.data[span].tolist()

    def _fingerprint(self) -> str:
        """Of the graph and the basis: two builds of the same vectors differ at least in the signs of waves."""
        own, spectrum = self.snapshot, self.snapshot.system.require_spectrum("an export")
        sample = np.unique(np.linspace(0, own.n_vertices - 1, _SAMPLE).astype(np.int64))
        parts = [spectrum.eigenvalues, own.graph.degrees, own.coordinates.rows(sample), own.vertices.rows(sample)]
        digest = hashlib.sha256(f"{own.settings.kernel} {own.settings.balanced}".encode())
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:32]
