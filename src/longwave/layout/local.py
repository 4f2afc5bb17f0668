"""The graph around a query and one of its hits, with a place for every item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.layout.stress import place_few
from longwave.search.defaults import own_solver
from longwave.search.snapshot import Snapshot
from longwave.solvers import ChebyshevFilter, System
from longwave.types import Array, Filter, Sparse

#: Vertices that are shown for their score. For what the query is observed at, and on the way, there are as many more.
MOST = 60
# Of the vertices that an item outside of the graph is expressed by, those that are shown.
_EXPRESSED = 5


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Items of the graph. ids: of each. places: (m, 2). observed, scores: (m,) y and x there. edges: i, j, weight."""

    ids: list[Any]
    places: NDArray[np.float32]
    observed: Array
    scores: Array
    edges: list[tuple[int, int, float]]


def neighborhood(
    snapshot: Snapshot, observation: Sparse, path: Sequence[Any], filter: Filter, *, most: int = MOST
) -> Neighborhood:
    """What lies between a query and an item: the neighbours of the query, the way, and what has the best scores.

    observation: y, CSR (1, n). path: ids, as an explanation has them. An item outside of the graph is joined with the
    vertices that it is expressed by.
    """
    n, items = snapshot.n_vertices, snapshot.items
    solver = ChebyshevFilter() if snapshot.spectrum is None else own_solver(snapshot)
    x = solver(System(snapshot.graph.normalized, snapshot.spectrum), observation, filter).scores[0]  # (n,)
    x = x if snapshot.gains is None else x * snapshot.gains  # as they are ranked
    way = items.rows_of(items.places([*path[:most], *path[-most:]]))[0] if path else np.zeros(0, dtype=np.int64)
    outside = np.unique(way[way >= n])
    psi = _expressed(snapshot, outside)  # (o, n)
    weight = np.abs(observation.data)
    needed = [observation.indices[np.argsort(-weight, kind="stable")[:most]], way[way < n], psi.indices]
    best = np.argsort(-x, kind="stable")[:most]
    vertices = np.unique(np.concatenate([*needed, best[x[best] > 0]])).astype(np.int64)
    rows = np.concatenate([vertices, outside])
    near = psi[:, vertices]
    joined = sp.csr_array(
        sp.block_array([[snapshot.graph.normalized[vertices][:, vertices], near.T], [near, None]]), dtype=np.float32
    )
    own, item = np.unique(items.first_items(rows), return_inverse=True)
    member = sp.csr_array((np.ones(len(rows), dtype=np.float32), (item, np.arange(len(rows)))))  # (items, rows)
    matrix = sp.csr_array(member @ joined @ member.T)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    y = np.zeros(n, dtype=np.float32)
    y[observation.indices] = observation.data
    observed = member @ np.concatenate([y[vertices], np.zeros(len(outside), dtype=np.float32)])
    scores = member @ np.concatenate([x[vertices], near @ x[vertices]])
    above = sp.coo_array(sp.triu(matrix))
    ends = zip(*(side.tolist() for side in above.coords), above.data.tolist(), strict=True)
    return Neighborhood(
        items.ids[own].tolist(),
        place_few(matrix),
        observed,
        scores,
        [(int(i), int(j), float(weight)) for i, j, weight in ends],
    )


def _expressed(snapshot: Snapshot, rows: NDArray[np.int64]) -> Sparse:
    """ψ of some vectors outside of the graph, the largest of each. CSR (o, n)"""
    if not len(rows) or snapshot.added is None:
        return sp.csr_array((0, snapshot.n_vertices), dtype=np.float32)
    psi = sp.csr_array(snapshot.added.psi[rows - snapshot.n_vertices])
    spans = zip(psi.indptr[:-1], psi.indptr[1:], strict=True)
    kept = [start + np.argsort(-psi.data[start:stop], kind="stable")[:_EXPRESSED] for start, stop in spans]
    ends = np.concatenate([[0], np.cumsum([len(own) for own in kept])])
    chosen = np.concatenate(kept)
    return sp.csr_array((psi.data[chosen], psi.indices[chosen], ends), psi.shape)
