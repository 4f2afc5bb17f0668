"""The first search: the vertices that are nearest to the vectors of a query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.graph.weights import scale_neighbor
from longwave.rows.vectors import top_k
from longwave.search import observation
from longwave.search.queries import Queries
from longwave.search.snapshot import Snapshot
from longwave.search.trust import ASKED
from longwave.stores.memory import Memory
from longwave.stores.store import ScannedStore
from longwave.types import Array, Neighbors, Sparse

#: The neighbour whose similarity is the spread of a query (`blending.Anchor`).
SPREAD = 7


@dataclass(frozen=True, eq=False)
class Asked:
    """What is known of some queries before the second search.

    found: the nearest vertices of each of their vectors. observed: y, CSR (q, n). products: of each of their vectors
    with all stored vectors, where the first search has computed them, (m, rows). outside: the nearest of the vectors
    outside of the graph, numbered from 0; None where there are none.
    """

    queries: Queries
    found: Neighbors
    observed: Sparse
    products: Array | None
    outside: Neighbors | None = None

    @cached_property
    def summed(self) -> NDArray[np.float32]:
        """The sum of the vectors of each query. (q, d)"""
        return self.queries.summed()

    def one(self, query: int) -> Asked:
        """What is known of one of them."""
        rows = self.queries.query_of == query
        lists, outside = (
            None if own is None else Neighbors(own.ids[rows], own.similarities[rows])
            for own in (self.found, self.outside)
        )
        assert lists is not None
        return Asked(self.queries.some(query, query + 1), lists, self.observed[[query]], None, outside)


def nearest_vertices(snapshot: Snapshot, regions: NDArray[np.float32], count: int) -> Neighbors:
    """The vertices nearest to each region, none whose items were removed. (m, d) -> lists (m, count), −1 where fewer"""
    return nearest_live(snapshot.vertices, regions, count, snapshot.dead_vertices)


def nearest_outside(snapshot: Snapshot, regions: NDArray[np.float32], count: int) -> Neighbors | None:
    """The same of the vectors outside of the graph, numbered from 0; None where there are none."""
    if snapshot.added is None:
        return None
    live = snapshot.live_added
    return nearest_live(snapshot.added.vectors, regions, count, None if live is None else ~live)


def nearest_live(
    store: ScannedStore, regions: NDArray[np.float32], count: int, dead: NDArray[np.bool_] | None
) -> Neighbors:
    """The nearest rows of a store that are not dead. (m, d) -> lists (m, count), −1 where fewer"""
    n = len(store)
    count = min(count, n)
    if dead is None:
        return store.search(regions, count)
    left = n - int(np.count_nonzero(dead))
    asked = min(n, count * n // max(left, 1) + count)  # a few more, as some will be dropped
    while True:
        lists = _without(store.search(regions, asked), dead, count)
        if asked == n or (lists.ids[:, : min(count, left)] >= 0).all():
            return lists
        asked = min(n, 4 * asked)


def _without(lists: Neighbors, dead: NDArray[np.bool_], count: int) -> Neighbors:
    """The first `count` of every list that are not dead, in order."""
    gone = (lists.ids < 0) | dead[np.maximum(lists.ids, 0)]
    order = np.argsort(gone, axis=1, kind="stable")[:, :count]
    kept = ~np.take_along_axis(gone, order, axis=1)
    ids = np.where(kept, np.take_along_axis(lists.ids, order, axis=1), -1)
    products = np.where(kept, np.take_along_axis(lists.similarities, order, axis=1), -np.inf)
    return Neighbors(ids, products.astype(np.float32))


def lists_needed(snapshot: Snapshot, neighbors: int) -> int:
    """How many neighbours of a query are looked up: those of y, of the confidence and of the scale."""
    return max(neighbors, ASKED, SPREAD, scale_neighbor(snapshot.similarity) or 1)


def ask(
    snapshot: Snapshot,
    queries: Queries,
    count: int,
    *,
    neighbors: int,
    cut: int | None,
    region_sum: str,
    keep_products: bool,
) -> Asked:
    """The first search and y. keep_products: all items will be scored, so the products of a scan are kept for it."""
    kept = None
    if keep_products and isinstance(snapshot.vertices, Memory):
        kept = snapshot.vectors.products(queries.regions)  # (m, rows)
        n, live = snapshot.n_vertices, snapshot.live_added
        found = _best(kept[:, :n], snapshot.dead_vertices, count)
        outside = None
        if snapshot.added is not None:
            outside = _best(kept[:, n:], None if live is None else ~live, count)
    else:
        found = nearest_vertices(snapshot, queries.regions, count)
        outside = nearest_outside(snapshot, queries.regions, count)
    # The paper's own setting observes vertices alone, as printed.
    y = observe(snapshot, queries, found, neighbors, cut, region_sum, outside if snapshot.settings.balanced else None)
    return Asked(queries, found, y, kept, outside)


def _best(products: Array, dead: NDArray[np.bool_] | None, count: int) -> Neighbors:
    """Lists from products with all rows of a store, without the dead ones. (m, n) -> (m, count)"""
    if dead is None:
        ids, best = top_k(np.ascontiguousarray(products), count)
        return Neighbors(ids, np.asarray(best, dtype=np.float32))
    live = np.flatnonzero(~dead)
    places, best = top_k(np.ascontiguousarray(products[:, live]), count)
    lists = Neighbors(np.full((len(products), count), -1), np.full((len(products), count), -np.inf, dtype=np.float32))
    lists.ids[:, : places.shape[1]], lists.similarities[:, : places.shape[1]] = live[places], best
    return lists


def observe(
    snapshot: Snapshot,
    queries: Queries,
    found: Neighbors,
    neighbors: int,
    cut: int | None,
    region_sum: str,
    outside: Neighbors | None = None,
) -> Sparse:
    """Lists of the query vectors to y, CSR (queries, n).

    outside: the nearest vectors outside of the graph. They are observed like vertices, and hand what they are given to
    the vertices that they consist of: y + yₐψ.
    """
    n, scales = snapshot.n_vertices, snapshot.graph.scales
    if outside is not None:
        found = joined(found, outside, n)
        scales = None if scales is None else np.concatenate([scales, snapshot.added_scales])
    y = observation.observe(
        found,
        queries.query_of,
        count=neighbors,
        n_vertices=len(snapshot.vectors) if outside is not None else n,
        kernel=snapshot.similarity,
        scales=scales,
        weights=queries.weights,
        cut=cut,
        region_sum=region_sum,
    )
    return y if outside is None else _handed_on(y, snapshot.observing, n)


def joined(found: Neighbors, outside: Neighbors, n: int) -> Neighbors:
    """The nearest of the graph and of what is outside of it, which is numbered behind. Lists as long as they were."""
    ids = np.hstack([found.ids, np.where(outside.ids < 0, -1, outside.ids + n)])
    products = np.hstack([found.similarities, outside.similarities])
    order = np.argsort(-products, axis=1, kind="stable")[:, : found.ids.shape[1]]
    return Neighbors(np.take_along_axis(ids, order, axis=1), np.take_along_axis(products, order, axis=1))


def _handed_on(y: Sparse, psi: Sparse, n: int) -> Sparse:
    """y + yₐψ. y: CSR (q, n + a) -> CSR (q, n)"""
    inside = y.indices < n
    rows = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))
    shape = y.shape[0], n
    own = sp.csr_array((y.data[inside], (rows[inside], y.indices[inside])), shape=shape, dtype=np.float32)
    if inside.all():
        return own
    numbers, places = np.unique(y.indices[~inside] - n, return_inverse=True)
    few = sp.csr_array((y.data[~inside], (rows[~inside], places)), shape=(y.shape[0], len(numbers)))
    total = sp.csr_array(own + few @ psi[numbers], dtype=np.float32)
    total.sort_indices()
    return total
