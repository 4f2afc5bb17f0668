"""`Snapshot`: everything a search reads. It never changes; what changes an index makes another snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.graph.mutual import Graph
from longwave.graph.weights import Kernel, Local
from longwave.items.items import Items
from longwave.solvers.system import StoredRows, System
from longwave.spectrum import Spectrum
from longwave.spectrum.basis import Basis
from longwave.storage.settings import Settings
from longwave.stores.coordinates import Coordinates
from longwave.stores.faiss import Faiss
from longwave.stores.joined import join
from longwave.stores.store import ScannedStore
from longwave.types import Array, Sparse


@dataclass(frozen=True, eq=False)
class Added:
    """Vectors outside of the graph. vectors: (a, d). psi: ψ, each as a combination of vertices, CSR (a, n)."""

    vectors: ScannedStore
    psi: Sparse


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """The vectors of a collection, their graph and its Fourier basis, and which item each vector belongs to.

    vertices: the store of the graph's vectors, (n, d) unit rows. similarity: the kernel, which weighs neighbours.
    added: what was added after the graph was built. pooling: Σ from all vectors to items, CSR (N, n + a); None where
    every vector is an item. pooled: Ū = ΣU, where there is pooling. searches: over each dense part of Ū; None where
    there are none. stored: rows of h(𝒲) for one h. about, attached: what the user keeps with the index.
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

    @property
    def dimension(self) -> int:
        """Dimensions of a vector."""
        return self.vertices.dimension

    @property
    def ids(self) -> Array:
        """The id of every item. (N,)"""
        return self.items.ids

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        rank = "no basis" if self.spectrum is None else f"rank {self.spectrum.rank}"
        vectors = f"{len(self.vectors)} × {self.dimension} vectors"
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
        pooling = outside = None
        if self.pooling is not None:
            pooling = self.vertex_pooling
        elif self.added is not None:
            outside = self._balance(self.added.psi)
        return System(
            self.graph.normalized, self.spectrum, pooling, self.pooled, self.gains, outside, self.stored, self._second
        )

    @cached_property
    def gains(self) -> NDArray[np.float32] | None:
        """d^{−1/2} of every vertex, 1 where it is isolated; None for scores as the paper has them. (n,)"""
        if not self.settings.balanced:
            return None
        degrees = self.graph.degrees
        return np.where(degrees > 0, np.maximum(degrees, 1e-9), 1.0).astype(np.float32) ** np.float32(-0.5)

    @cached_property
    def vertex_pooling(self) -> Sparse | None:
        """Σ from the vertices of the graph to items of several vectors, those outside of the graph included."""
        if self.pooling is None:
            return None
        if self.added is None:
            return self._balance(self.pooling)
        own = sp.eye_array(self.n_vertices, dtype=np.float32, format="csr")
        return self._balance(sp.csr_array(self.pooling @ sp.csr_array(sp.vstack([own, self.added.psi]))))

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

    def _balance(self, pooling: Sparse) -> Sparse:
        """Σ D^{−1/2}, where scores are balanced. CSR (rows, n)"""
        if self.gains is None:
            return pooling
        data = pooling.data * self.gains[pooling.indices]
        return sp.csr_array((data, pooling.indices, pooling.indptr), pooling.shape)


def fields_of(snapshot: Snapshot) -> dict[str, Any]:
    """The fields of a snapshot, by name."""
    return {own.name: getattr(snapshot, own.name) for own in fields(Snapshot)}
