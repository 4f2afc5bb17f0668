"""The graph around a query and one of its hits, with a place for every vertex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.search.defaults import own_solver
from longwave.search.snapshot import Snapshot
from longwave.solvers import System
from longwave.types import Array, Filter, Sparse

#: Vertices that are shown.
MOST = 80


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Vertices of the graph. ids: the item of each. places: (m, 2). observed, scores: (m,) y and x. edges: i, j, 𝒲_ij."""

    ids: list[Any]
    places: NDArray[np.float32]
    observed: Array
    scores: Array
    edges: list[tuple[int, int, float]]


def neighborhood(
    snapshot: Snapshot, observation: Sparse, path: Sequence[object], filter: Filter, *, most: int = MOST
) -> Neighborhood:
    """What lies between a query and an item. observation: y, CSR (1, n). path: ids, as an explanation has them."""
    alone = System(snapshot.graph.normalized, snapshot.spectrum)
    scores = own_solver(snapshot)(alone, observation, filter).scores[0]  # (n,)
    items = snapshot.items
    way, _ = items.rows_of(items.places(list(path))) if path else (np.zeros(0, dtype=np.int64), None)
    needed = np.unique(np.concatenate([observation.indices, way[way < snapshot.n_vertices]]))
    others = np.setdiff1d(np.argsort(-scores, kind="stable")[:most], needed)
    order = others[np.argsort(-scores[others], kind="stable")][: max(0, most - len(needed))]
    vertices = np.sort(np.concatenate([needed, order]))
    between = sp.coo_array(sp.triu(snapshot.graph.normalized[vertices][:, vertices]))
    y = np.zeros(snapshot.n_vertices, dtype=np.float32)
    y[observation.indices] = observation.data
    own = snapshot.system_basis.some_rows(vertices)[:, :2]
    return Neighborhood(
        items.ids[items.first_items(vertices)].tolist(),
        np.asarray(own, dtype=np.float32),
        y[vertices],
        np.asarray(scores[vertices]),
        list(zip(*(part.tolist() for part in (*between.coords, between.data)), strict=True)),
    )
