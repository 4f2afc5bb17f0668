"""Why an item was found: the neighbours of the query that its score comes from, and the way through the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import plural
from longwave.filters import LowPass
from longwave.items.items import Items
from longwave.search.defaults import own_solver
from longwave.search.snapshot import Snapshot
from longwave.solvers import BestFirst, ChebyshevFilter, Spectral, System
from longwave.types import Array, Filter, Solution, Sparse


@dataclass(frozen=True, eq=False)
class Explanation:
    """score: of the item, as `search` gives it. manifold: what reaches it through the graph. similarity: Euclidean.

    The index's blend makes the score of both. The similarity of items of several vectors is pooled over these.
    neighbors: ids of the query's neighbours, those that contribute most first. similarities: (m,) y of each.
    contributions: (m,) what each adds to `manifold`; they sum to it. path: ids of the items on the strongest way from a
    neighbour of the query to the item, both ends included; empty if there is none.
    """

    score: float
    manifold: float
    similarity: float
    neighbors: Array
    similarities: Array
    contributions: Array
    path: list[object]

    def parts(self) -> list[tuple[object, float, float]]:
        """Items that the query starts from, most first: id, weight, and share of what reaches the item, in per cent.

        Those of several vectors are listed once, with the sum of them.
        """
        whole = float(np.abs(self.contributions).sum()) or 1.0
        summed: dict[object, tuple[float, float]] = {}
        for name, y, part in zip(self.neighbors.tolist(), self.similarities, self.contributions, strict=True):
            weight, share = summed.get(name, (0.0, 0.0))
            summed[name] = weight + float(y), share + 100 * float(part) / whole
        return sorted(((name, *own) for name, own in summed.items()), key=lambda part: -abs(part[2]))

    def __str__(self) -> str:
        parts = self.parts()
        wide = max((len(str(name)) for name, _, _ in parts), default=0)
        lines = [
            f"score {self.score:.4g}: {self.manifold:.4g} through the graph, similarity {self.similarity:.4g}",
            f"through the graph it comes from {plural(len(parts), 'neighbour')} of the query:",
            *(f"  {name!s:<{wide}}  weight {y:.3f}  gives {share:.1f}%" for name, y, share in parts),
        ]
        way = " → ".join(str(name) for name in self.path)
        lines.append(
            f"way: query → {way}" if self.path else "way: none; no chain of neighbours leads from the query to it"
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from longwave.display import explanation_html

        return explanation_html(self)


@dataclass(frozen=True, eq=False)
class Route:
    """How a target is reached: contributions (m,) of the vertices (m,) that y touches, and the strongest path."""

    vertices: NDArray[np.int64]
    observed: Array
    contributions: Array
    path: NDArray[np.int64]


def route(
    system: System, observation: Sparse, target: int, filter: Filter, solver: Callable[..., Solution] | None = None
) -> Route:
    """h(𝒲) is symmetric, so the score of a target is Σ_j (h(𝒲) p)_j y_j, p its row of Σ. observation: CSR (1, n)."""
    pulse = sp.csr_array(system.targets_of[:, [target]].T, dtype=np.float32)  # p: (1, n)
    alone = System(system.normalized, system.spectrum)
    if solver is None:
        solver = ChebyshevFilter() if system.spectrum is None else Spectral()
    response = solver(alone, pulse, filter).scores[0]  # h(𝒲) p: (n,)
    vertices, y = observation.indices, observation.data
    contributions = response[vertices] * y
    order = np.argsort(-np.abs(contributions), kind="stable")
    path = strongest_path(system.normalized, vertices[y > 0], y[y > 0], pulse.indices)
    return Route(vertices[order], y[order], contributions[order], path)


def strongest_path(
    matrix: Sparse, starts: NDArray[np.int64], weights: Array, ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Vertices on the path from a start to an end with the largest weight · Π 𝒲_ij, or none. Dijkstra's algorithm."""
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


def explain(
    snapshot: Snapshot, observation: Sparse, place: int, filter: Filter, score: float, similarity: float
) -> Explanation:
    """Why an item was found. observation: y, CSR (1, n). place: the item's number. score, similarity: as found."""
    items = snapshot.items
    target = int(items.target_of(np.array([place]))[0])
    own = own_solver(snapshot)
    solver = own.exactly if isinstance(own, BestFirst) and isinstance(filter, LowPass) else None
    way = route(snapshot.system, observation, target, filter, solver)
    return Explanation(
        score,
        float(way.contributions.sum()),
        similarity,
        items.ids[items.first_items(way.vertices)],
        way.observed,
        way.contributions,
        _named_path(items, way.path, place, target),
    )


def _named_path(items: Items, vertices: NDArray[np.int64], place: int, target: int) -> list[object]:
    """A path of vertices as ids of items, each once, that ends with the item itself."""
    if not len(vertices):
        return []
    steps = items.first_items(vertices)
    names = items.ids[steps[np.concatenate([[True], np.diff(steps) != 0])]].tolist()
    own = items.ids[place].item()
    if target == vertices[-1] and items.item_of is None:
        names[-1] = own  # a copy of it stands for it in the graph
    return names if names[-1] == own else [*names, own]  # one outside of the graph hangs on its neighbours in it
