"""`Snapshot`: everything a search reads. It never changes; what changes an index makes another snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.graph.mutual import Graph
from longwave.graph.weights import Kernel, Local
from longwave.items.items import Items
from longwave.metadata.described import Described
from longwave.search.added import Added, Block
from longwave.solvers.system import StoredRows, System
from longwave.spectrum import Spectrum
from longwave.spectrum.basis import Basis
from longwave.storage.settings import Settings
from longwave.stores.coordinates import Coordinates
from longwave.stores.faiss import Faiss
from longwave.stores.joined import join
from longwave.stores.store import ScannedStore
from longwave.types import Array, Sparse

__all__ = ["Added", "Block", "Snapshot", "fields_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """The vectors of a collection, their graph and its Fourier basis, and which item each vector belongs to.

    vertices: the store of the graph's vectors, (n, d) unit rows. similarity: the kernel, which weighs neighbours.
    added: what was added after the graph was built. pooling: Σ from vertices to their items, CSR (N₀, n); None where
    every vector is an item. pooled: Ū = ΣU, where there is pooling. searches: over each dense part of Ū; None where
    there are none. stored: rows of h(𝒲) for one h. about, attached: what the user keeps with the index. metadata: what
    is known of every item.

    What is ranked, the targets, are those of the graph (vertices, or items where there is pooling), then the items that
    were added. Items that were removed (`items.removed`) are never found and carry no weight in y; their vertices stay
    bridges of the graph.
    """

    vertices: ScannedStore
    graph: Graph
    spectrum: Spectrum | None
    items: Items
    settings: Settings
    similarity: Kernel = field(default_factory=Local, repr=False)
    added: Added | None = field(default=None, repr=False)
    pooling: Sparse | None = field(default=None, repr=False)
    pooled: Basis | None = field(default=None, repr=False)
    searches: tuple[Faiss | None, ...] | None = field(default=None, repr=False)
    stored: StoredRows | None = field(default=None, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    attached: Mapping[str, Array] = field(default_factory=dict, repr=False)
    metadata: Described | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without what is computed when it is first needed: it is computed again, and may hold locks."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    @property
    def dimension(self) -> int:
        """Dimensions of a vector."""
        return self.vertices.dimension

    @property
    def has_vectors(self) -> bool:
        """Whether there are vectors: an index of a graph of your own need not have any."""
        return self.vertices.dimension > 0

    def require_vectors(self, what: str) -> None:
        """An error that says what to do instead, where there are no vectors."""
        if not self.has_vectors:
            raise InputError(
                f"{what} needs vectors, and this index has a graph alone; search with seeds={{id: weight}}, or build "
                "with vectors and graph="
            )

    @property
    def ids(self) -> Array:
        """The id of every item that is there. (N,)"""
        return self.items.ids if self.items.live is None else self.items.ids[self.items.live]

    def __len__(self) -> int:
        return self.items.n_live

    def __repr__(self) -> str:
        rank = "no basis" if self.spectrum is None else f"rank {self.spectrum.rank}"
        vectors = f"{len(self.vectors)} × {self.dimension} vectors" if self.has_vectors else "a graph"
        return f"<{type(self).__name__} of {len(self)} items, {vectors}, {rank}>"

    @cached_property
    def vectors(self) -> ScannedStore:
        """All vectors: those of the graph, then those added. (m, d)"""
        return self.vertices if self.added is None else join(self.vertices, self.added.vectors)

    @property
    def n_vertices(self) -> int:
        """Vertices of the graph."""
        return self.graph.n_vertices

    @cached_property
    def system(self) -> System:
        """What solvers work on: how the scores of vertices become those of items is part of it."""
        added, basis, gains = self.added, self.system_basis, self.gains
        return System(
            self.graph.normalized,
            self.spectrum,
            self.vertex_pooling,
            self.pooled,
            gains,
            None if added is None else added.balanced(gains),
            self.stored,
            self._second,
            None if added is None else lambda: tuple(block.coordinates(basis, gains) for block in added.blocks),
        )

    @cached_property
    def dead_vertices(self) -> NDArray[np.bool_] | None:
        """Whether all items of each vertex were removed; None where that is true of none. (n,)"""
        rows = self.items.live_rows(len(self.vectors))
        dead = None if rows is None else ~rows[: self.n_vertices]
        return dead if dead is not None and dead.any() else None

    @cached_property
    def live(self) -> NDArray[np.bool_] | None:
        """Whether each target has an item that is there; None where all have. (targets,)"""
        if self.items.item_of is not None or self.items.live is None:
            return self.items.live
        rows = self.items.live_rows(len(self.vectors))
        return None if rows is None or rows.all() else rows

    @cached_property
    def live_targets(self) -> NDArray[np.int64] | None:
        """The targets that can be found, ascending; None for all."""
        return None if self.live is None else np.flatnonzero(self.live)

    @cached_property
    def gains(self) -> NDArray[np.float32] | None:
        """(d + ε)^{−1/2} of every vertex, 1 of one without neighbours; None for scores as the paper has them. (n,)

        ε is a share of the mean degree, a hundredth where nothing else is said. Without it, what hangs on a vertex by a
        thread would be as good as that, and the errors of a stored basis would be multiplied by thousands. Indexes that
        were built before there was an ε have 0: it is in what they store.
        """
        if not self.settings.balanced:
            return None
        degrees = self.graph.degrees
        linked = np.isfinite(degrees) & (degrees > 0)
        if not linked.any():
            return np.ones(len(degrees), dtype=np.float32)
        added = np.where(linked, degrees, 0.0) + self.settings.least_degree * float(degrees.mean(where=linked))
        return np.where(linked, np.maximum(added, 1e-9), 1.0).astype(np.float32) ** np.float32(-0.5)

    @cached_property
    def vertex_pooling(self) -> Sparse | None:
        """Σ from the vertices of the graph to their items, where scores are balanced times `gains`."""
        if self.pooling is None or self.gains is None:
            return self.pooling
        data = self.pooling.data * self.gains[self.pooling.indices]
        return sp.csr_array((data, self.pooling.indices, self.pooling.indptr), self.pooling.shape)

    @cached_property
    def whole_pooling(self) -> Sparse | None:
        """Σ from all vectors to all items, CSR (N, n + a); None where every vector is a target."""
        if self.pooling is None or self.added is None:
            return self.pooling
        own = [block.pooling for block in self.added.blocks]
        sums = [sp.eye_array(b.psi.shape[0]) if p is None else p for b, p in zip(self.added.blocks, own, strict=True)]
        return sp.csr_array(sp.block_diag([self.pooling, *sums], format="csr"), dtype=np.float32)

    @cached_property
    def row_norms(self) -> Array:
        """η of every vector; of an added one the mean of its neighbours', weighted by ψ. (m,)"""
        basis = self.system.require_spectrum("blend")
        if self.added is None:
            return basis.row_norms
        psi = self.added.psi
        total = np.asarray(psi.sum(axis=1)).ravel()
        mean = np.divide(psi @ basis.row_norms, total, out=np.zeros_like(total), where=total > 0)
        return np.concatenate([basis.row_norms, mean]).astype(np.float32)

    @cached_property
    def live_added(self) -> NDArray[np.bool_] | None:
        """Whether each vector outside of the graph has an item that is there; None where all have. (a,)"""
        rows = self.items.live_rows(len(self.vectors))
        return None if rows is None else rows[self.n_vertices :]

    @cached_property
    def observing(self) -> Sparse:
        """ψ over the vertices that carry weight, those not removed, each row divided by its sum. CSR (a, n)"""
        assert self.added is not None
        psi = self.added.psi
        data = psi.data if self.dead_vertices is None else psi.data * ~self.dead_vertices[psi.indices]
        kept = sp.csr_array((data, psi.indices, psi.indptr), psi.shape)
        total = np.asarray(kept.sum(axis=1)).ravel()
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return sp.csr_array((data * np.repeat(scale, np.diff(psi.indptr)), psi.indices, psi.indptr), psi.shape)

    @cached_property
    def added_scales(self) -> NDArray[np.float32]:
        """σ of every vector outside of the graph: the mean of those that it consists of, by ψ. (a,)"""
        assert self.added is not None
        assert self.graph.scales is not None
        psi = self.added.psi
        total = np.asarray(psi.sum(axis=1)).ravel()
        mean = np.divide(psi @ self.graph.scales, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray(np.where(mean > 0, mean, self.graph.scales.mean()), dtype=np.float32)

    @cached_property
    def coordinates(self) -> Coordinates:
        """The rows of Ū as a store."""
        ranked = self.pooled if self.pooled is not None else self.system_basis
        gains = self.gains if self.pooling is None else None  # with pooling they are in Ū already
        return Coordinates(ranked, gains, self.searches or (None,) * len(ranked.parts))

    @property
    def system_basis(self) -> Basis:
        """U itself."""
        if self.spectrum is None:
            return Basis.from_sparse(sp.csr_array((self.n_vertices, 0), dtype=np.float32))
        return self.spectrum.eigenvectors

    @property
    def _second(self) -> Coordinates | None:
        return None if self.searches is None else self.coordinates


def fields_of(snapshot: Snapshot) -> dict[str, Any]:
    """The fields of a snapshot, by name."""
    return {own.name: getattr(snapshot, own.name) for own in fields(Snapshot)}
