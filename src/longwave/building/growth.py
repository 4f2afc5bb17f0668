"""Items added without a new graph, expressed by their neighbours in it (§5.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.building.speed import with_pooled
from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.items.items import Items
from longwave.items.pooling import pooling_matrix
from longwave.plan import Plan
from longwave.rows.vectors import unit_vectors
from longwave.search import extension
from longwave.search.first import lists_needed, nearest_vertices
from longwave.search.snapshot import Added, Snapshot
from longwave.stores.joined import join
from longwave.stores.memory import Memory
from longwave.types import Sparse

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
    unit = unit_vectors(vectors)
    if unit.shape[1] != snapshot.vertices.dimension:
        raise InputError(f"vectors has {unit.shape[1]} dimensions but the index has {snapshot.vertices.dimension}")
    psi = coordinates_of(snapshot, unit, neighbors, normalized=normalized)
    fresh = Items.make(len(unit), groups=groups, ids=ids)
    default = ids is None and groups is None
    items = snapshot.items.extend(fresh, default=default, n_rows=len(snapshot.vectors))
    added = Added(Memory(unit), psi)
    if snapshot.added is not None:
        before = snapshot.added
        added = Added(join(before.vectors, added.vectors), sp.csr_array(sp.vstack([before.psi, psi])))
    settings = replace(snapshot.settings, rows=None)
    pooling = searches = None
    if items.item_of is not None:  # Ū has new rows, and a search over it knows nothing of them
        pooling = _extended_pooling(snapshot, unit, fresh)
        settings = replace(settings, plan=Plan(vectors=settings.plan.vectors))
    else:
        searches = snapshot.searches
    changed = {"added": added, "items": items, "pooling": pooling, "pooled": None, "searches": searches}
    return with_pooled(replace(snapshot, **changed, stored=None, settings=settings))  # type: ignore[arg-type]


def coordinates_of(snapshot: Snapshot, regions: NDArray[np.float32], count: int, *, normalized: bool = False) -> Sparse:
    """ψ of unseen unit vectors. (m, d) -> CSR (m, n)"""
    return extension.psi(
        nearest_vertices(snapshot, regions, lists_needed(snapshot, count)),
        count=count,
        n_vertices=snapshot.n_vertices,
        kernel=snapshot.similarity,
        scales=snapshot.graph.scales,
        normalized=normalized,
    )


def _extended_pooling(snapshot: Snapshot, added: NDArray[np.float32], fresh: Items) -> Sparse:
    """Σ of the items there were and of the new ones, which never share a vector."""
    rows, count = len(snapshot.vectors), len(snapshot.items)
    first = snapshot.pooling
    if first is None:
        where = np.arange(count), np.arange(rows) if snapshot.items.row_of is None else snapshot.items.row_of
        first = sp.csr_array((np.ones(count, dtype=np.float32), where), shape=(count, rows))
    own = np.arange(len(added)) if fresh.item_of is None else fresh.item_of
    second = pooling_matrix(added, own, pooling=snapshot.settings.pooling)
    return sp.csr_array(sp.block_diag([first, second], format="csr"), dtype=np.float32)
