"""Items added without a new graph, expressed by their neighbours in it (§5.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.building.speed import with_pooled
from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.items.items import Items
from longwave.items.pooling import pooling_matrix
from longwave.metadata.described import Described, Sheet
from longwave.plan import Plan
from longwave.rows.vectors import unit_queries, unit_vectors
from longwave.search import extension
from longwave.search.added import Added, Block
from longwave.search.first import lists_needed
from longwave.search.snapshot import Snapshot
from longwave.stores.memory import Memory
from longwave.types import Neighbors, Sparse

_S = TypeVar("_S", bound=Snapshot)


def extend(
    snapshot: _S,
    vectors: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    neighbors: int | None = None,
    normalized: bool = True,
) -> _S:
    """A snapshot that also ranks new items. Parameters as for `Index.extend`."""
    neighbors = 2 * snapshot.settings.search.neighbors if neighbors is None else neighbors
    check_counts(neighbors=neighbors)
    snapshot.require_vectors("extend")
    unit = unit_vectors(vectors)
    if unit.shape[1] != snapshot.vertices.dimension:
        raise InputError(f"vectors has {unit.shape[1]} dimensions but the index has {snapshot.vertices.dimension}")
    psi = coordinates_of(snapshot, unit, neighbors, normalized=normalized)
    fresh = Items.make(len(unit), groups=groups, ids=ids)
    default = ids is None and groups is None
    if fresh.item_of is not None and snapshot.pooling is None:
        snapshot = _regional(snapshot)
    items = snapshot.items.extend(fresh, default=default, n_rows=len(snapshot.vectors))
    block = Block(Memory(unit), psi, None if snapshot.pooling is None else pooling_of(snapshot, unit, fresh.item_of))
    added = Added((block,)) if snapshot.added is None else snapshot.added.more(block)
    known = snapshot.metadata
    if known is not None:
        known = Described((*known.sheets, Sheet(len(fresh))))
    settings = replace(snapshot.settings, rows=None)
    return replace(snapshot, added=added, items=items, stored=None, settings=settings, metadata=known)


def unseen(snapshot: Snapshot, vectors: ArrayLike, count: int) -> Sparse:
    """ψ of vectors that a user gives, checked. (m, d) -> CSR (m, n)"""
    snapshot.require_vectors("an embedding of vectors")
    return coordinates_of(snapshot, unit_queries(vectors, dimension=snapshot.dimension), count)


def coordinates_of(snapshot: Snapshot, regions: NDArray[np.float32], count: int, *, normalized: bool = False) -> Sparse:
    """ψ of unseen unit vectors, over all vertices: those whose items were removed are still of the graph.

    (m, d) -> CSR (m, n)
    """
    return psi_of(snapshot, vertices_near(snapshot, regions, count), count, normalized=normalized)


def vertices_near(snapshot: Snapshot, regions: NDArray[np.float32], count: int) -> Neighbors:
    """The vertices by which unseen unit vectors are expressed, and what else ψ needs. Lists (m, at least count)"""
    return snapshot.vertices.search(regions, min(lists_needed(snapshot, count), snapshot.n_vertices))


def psi_of(snapshot: Snapshot, found: Neighbors, count: int, *, normalized: bool = True) -> Sparse:
    """ψ from the lists of unseen vectors. CSR (m, n)"""
    return extension.psi(
        found,
        count=count,
        n_vertices=snapshot.n_vertices,
        kernel=snapshot.similarity,
        scales=snapshot.graph.scales,
        normalized=normalized,
    )


def pooling_of(snapshot: Snapshot, vectors: NDArray[np.float32], item_of: NDArray[np.int64] | None) -> Sparse:
    """Σ of new vectors to their items, which are new too. item_of: (a,); None where each is its own. CSR (A, a)"""
    own = np.arange(len(vectors)) if item_of is None else item_of
    return pooling_matrix(vectors, own, pooling=snapshot.settings.pooling)


def _regional(snapshot: _S) -> _S:
    """The same with items of groups of vectors, one vector each: what is ranked are then items, not vertices."""
    items, n = snapshot.items, snapshot.n_vertices
    inside = len(items) - (0 if snapshot.added is None else snapshot.added.n_items)
    where = np.arange(inside), np.arange(n) if items.row_of is None else items.row_of[:inside]
    pooling = sp.csr_array((np.ones(inside, dtype=np.float32), where), shape=(inside, n))
    settings = replace(snapshot.settings, plan=Plan(vectors=snapshot.settings.plan.vectors))
    items = replace(items, item_of=np.arange(len(items)))
    changed: dict[str, Any] = {"items": items, "pooling": pooling, "searches": None, "settings": settings}
    return with_pooled(replace(snapshot, **changed))
