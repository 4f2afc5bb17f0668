"""What is outside of the graph: vectors, and ψ, which says what each is as a combination of vertices (§5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.spectrum.basis import Basis
from longwave.stores.joined import join
from longwave.stores.store import ScannedStore
from longwave.types import Sparse


@dataclass(frozen=True, eq=False)
class Block:
    """Vectors that came together. vectors: (a, d). psi: ψ of each, CSR (a, n).

    pooling: Σ from them to their items, CSR (A, a); None where every vector is an item. A block belongs to one graph,
    and keeps its coordinates on that graph's basis once they were asked for: what did not change is not computed again.
    """

    vectors: ScannedStore
    psi: Sparse
    pooling: Sparse | None = None

    @cached_property
    def combined(self) -> Sparse:
        """Its items as combinations of vertices. CSR (A, n)"""
        return self.psi if self.pooling is None else sp.csr_array(self.pooling @ self.psi, dtype=np.float32)

    def balanced(self, gains: NDArray[np.float32] | None) -> Sparse:
        """The same with what the scores of vertices are multiplied with. CSR (A, n)"""
        own = self.combined
        if gains is None:
            return own
        return sp.csr_array((own.data * gains[own.indices], own.indices, own.indptr), own.shape)

    def coordinates(self, basis: Basis, gains: NDArray[np.float32] | None) -> Basis:
        """ψU, with the gains. (A, r)"""
        kept = self.__dict__.get("_coordinates")
        if kept is None or kept[0] is not basis:
            kept = basis, basis.pool(self.balanced(gains))
            self.__dict__["_coordinates"] = kept
        made: Basis = kept[1]
        return made


@dataclass(frozen=True, eq=False)
class Added:
    """All blocks, in the order in which they came."""

    blocks: tuple[Block, ...]

    @cached_property
    def vectors(self) -> ScannedStore:
        """All of their vectors. (a, d)"""
        return join(*(block.vectors for block in self.blocks))

    @cached_property
    def psi(self) -> Sparse:
        """ψ of all. CSR (a, n)"""
        if len(self.blocks) == 1:
            return self.blocks[0].psi
        return sp.csr_array(sp.vstack([block.psi for block in self.blocks], format="csr"))

    @property
    def n_items(self) -> int:
        """Items of all blocks."""
        return sum(block.psi.shape[0] if block.pooling is None else block.pooling.shape[0] for block in self.blocks)

    def balanced(self, gains: NDArray[np.float32] | None) -> Sparse:
        """Items as combinations of vertices, with the gains of these. CSR (A, n)"""
        parts = [block.balanced(gains) for block in self.blocks]
        return parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))

    def more(self, block: Block) -> Added:
        """These, then another."""
        return Added((*self.blocks, block))
