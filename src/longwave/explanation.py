"""Why an item was found: the neighbours of the query that its score comes from, and the way through the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import plural
from longwave.items import Items
from longwave.solvers import ChebyshevFilter, Spectral, System
from longwave.types import Array, Filter, Sparse


@dataclass(frozen=True, eq=False)
class Explanation:
    """score: of the item. neighbors: ids of the query's neighbours, those that contribute most first.

    similarities: (m,) y of each. contributions: (m,) what each adds to the score; they sum to it. path: ids of the
    items on the strongest way from a neighbour of the query to the item, both ends included; empty if there is none.
    """

    score: float
    neighbors: Array
    similarities: Array
    contributions: Array
    path: list[object]

    def __str__(self) -> str:
        lines = [f"score {self.score:.4g}, from {plural(len(self.neighbors), 'neighbour')} of the query:"]
        rows = zip(self.neighbors.tolist(), self.similarities, self.contributions, strict=True)
        wide = max((len(str(name)) for name in self.neighbors), default=0)
        lines += [f"  {name!s:<{wide}}  similarity {y:.3f}  contributes {part:.4g}" for name, y, part in rows]
        way = " → ".join(str(name) for name in self.path)
        lines.append(
            f"way: query → {way}" if self.path else "way: none; no chain of neighbours leads from the query to it"
        )
        return "\n".join(lines)


def explain(system: System, observation: Sparse, place: int, filter: Filter, items: Items) -> Explanation:
    """h(𝒲) is symmetric, so the score of an item is Σ_j (h(𝒲) p)_j y_j, p its row of Σ. observation: CSR (1, n)."""
    n = system.normalized.shape[0]
    row = sp.csr_array(([1.0], ([0], [place])), shape=(1, n)) if system.pooling is None else system.pooling[[place]]
    pulse = sp.csr_array(row, dtype=np.float32)
    alone = replace(system, pooling=None, pooled=None)
    solver = ChebyshevFilter() if system.spectrum is None else Spectral()
    response = solver(alone, pulse, filter).scores[0]  # h(𝒲) p: (n,)
    vertices, y = observation.indices, observation.data
    contributions = response[vertices] * y
    order = np.argsort(-np.abs(contributions), kind="stable")
    item_of = np.arange(n) if items.item_of is None else items.item_of[:n]
    way = strongest_path(system.normalized, vertices[y > 0], y[y > 0], pulse.indices)
    steps = item_of[way]
    path = items.ids[steps[np.concatenate([[True], np.diff(steps) != 0])]].tolist() if len(way) else []
    if path and path[-1] != items.ids[place]:
        path.append(items.ids[place].item())  # an item outside of the graph hangs on its neighbours in it
    return Explanation(
        float(contributions.sum()), items.ids[item_of[vertices[order]]], y[order], contributions[order], path
    )


def strongest_path(
    matrix: Sparse, starts: NDArray[np.int64], weights: Array, ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Vertices on the path from a start to an end with the largest weight · Π 𝒲_ij, or none. Time that of Dijkstra."""
    from scipy.sparse.csgraph import dijkstra

    if not len(starts) or not len(ends):
        return np.zeros(0, dtype=np.int64)
    costs = sp.csr_array((-np.log(matrix.data.astype(np.float64)) + 1e-9, matrix.indices, matrix.indptr), matrix.shape)
    distances, before, _ = dijkstra(costs, indices=ends, min_only=True, return_predecessors=True)
    best = int(np.argmin(distances[starts] - np.log(weights)))
    if not np.isfinite(distances[starts[best]]):
        return np.zeros(0, dtype=np.int64)
    path = [int(starts[best])]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return np.array(path)
