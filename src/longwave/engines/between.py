"""The mathematics between the two searches of an engine: y, the waves h(Λ)Uᵀy, candidates and their scores.

It is that of `search.scoring` with the plan "basis", on the few rows that the engine sends: the same kernels, the same
observation, the same blends. What the local index reads of all items, the best and the nearest, is what the two
searches find.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.engines.engine import COORDINATES, VECTOR, Engine, Facts, Scored
from longwave.engines.foreign import AGAIN, Harmed
from longwave.engines.record import Record
from longwave.filters import at_zero, response, warn_if_left_out
from longwave.graph import weights as kernels
from longwave.rows.vectors import normalize
from longwave.search import observation
from longwave.search.blending import Blending, near_count
from longwave.search.euclidean_view import SAME
from longwave.search.first import SPREAD
from longwave.search.queries import Queries
from longwave.search.ranking import best_of, best_with_ties
from longwave.search.trust import ASKED, confidence
from longwave.solvers.spectral import direct_gains
from longwave.types import Array, Filter, Neighbors, Sparse

# Candidates of the second search for every hit that is wanted, and the least. Where Euclidean similarity counts for all
# items and not for the nearest alone (`Blend`), more of both.
_EACH, _MORE, _LEAST = 2, 10, 100


@dataclass(frozen=True, eq=False)
class Asking:
    """How to answer: as for `Index.search`, with nothing left open. allowed: numbers of items, where ids were given."""

    filter: Filter
    neighbors: int
    blend: Blending | None
    complement: bool
    cut: int | None
    region_sum: str
    where: Any = None
    allowed: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """Numbers of items, their scores and ids, best first; confidence: as in `Hits`. blind: nothing is reached."""

    numbers: NDArray[np.int64]
    ids: Array
    scores: NDArray[np.float32]
    confidence: float
    blind: bool


@dataclass(frozen=True, eq=False)
class _Vertices:
    """The vertices that a query touches, as `search.trust` sees a graph. Numbered from 0."""

    reach: NDArray[np.float32]
    component_sizes: NDArray[np.int64]
    n_vertices: int

    @property
    def labels(self) -> NDArray[np.int64]:
        return np.arange(len(self.component_sizes))


@dataclass(frozen=True, eq=False)
class Observed:
    """What the first search gives. m vectors of the query, t rows that they touch.

    lists: of all rows, and `inside`, of vertices alone: numbers of items. facts: of these items. y: CSR (1, t), over
    `vertices`, whose rows are those of the graph.
    """

    lists: Neighbors
    inside: Neighbors
    facts: Facts
    vertices: Facts
    y: Sparse
    trust: float


def nearest(
    engine: Engine, record: Record, query: Queries, count: int, more: int
) -> tuple[Neighbors, Neighbors, Facts]:
    """The first search: `more` rows near to each vector, and the `count` first vertices of the graph among them."""
    most = record.items
    while True:
        found = [engine.search(VECTOR, q, min(more, most), leaders=record.copies) for q in query.regions]
        width = max((len(numbers) for numbers, _ in found), default=0)
        ids, products = np.full((len(found), width), -1), np.full((len(found), width), -np.inf, dtype=np.float32)
        for place, (numbers, own) in enumerate(found):
            ids[place, : len(numbers)], products[place, : len(numbers)] = numbers, own
        head = ids[:, : count if record.outside == 0 else width]
        facts = engine.facts(numbers=np.unique(head[head >= 0]), waves=True)
        if not len(facts):
            raise Harmed(f"{engine.place} has lost its rows; {AGAIN}")
        lists = Neighbors(ids, products)
        if record.outside == 0:
            return lists, _first(lists, count), facts
        row = np.where(ids >= 0, facts.row[facts.places(np.where(ids >= 0, ids, facts.numbers[0]))], record.n_vertices)
        outside = row >= record.n_vertices
        order = np.argsort(outside, axis=1, kind="stable")[:, :count]
        kept = ~np.take_along_axis(outside, order, axis=1)
        if kept.all() or more >= most:
            inside = np.where(kept, np.take_along_axis(ids, order, axis=1), -1)
            similar = np.where(kept, np.take_along_axis(products, order, axis=1), -np.inf)
            return lists, Neighbors(inside, similar.astype(np.float32)), facts
        more *= 4


def _first(lists: Neighbors, count: int) -> Neighbors:
    return Neighbors(lists.ids[:, :count], lists.similarities[:, :count])


def observe(engine: Engine, record: Record, query: Queries, asking: Asking, more: int) -> Observed:
    """The first search and y, of one query."""
    kernel = kernels.parse(record.kernel)
    count = max(asking.neighbors, ASKED, SPREAD, kernels.scale_neighbor(kernel) or 1)
    lists, inside, facts = nearest(engine, record, query, count, max(more, count))
    used = _first(lists, count) if record.balanced else inside  # the paper's own setting observes vertices alone
    present = used.ids >= 0
    places = np.where(present, facts.places(np.where(present, used.ids, facts.numbers[0])), -1)
    y = observation.observe(
        Neighbors(places, used.similarities),
        np.zeros(len(query.regions), dtype=np.int64),
        count=asking.neighbors,
        n_vertices=len(facts),
        kernel=kernel,
        scales=None if kernels.scale_neighbor(kernel) is None else facts.scale,
        weights=query.weights,
        cut=asking.cut,
        region_sum=asking.region_sum,
    )
    vertices, y = _handed_on(engine, record, facts, y)
    return Observed(lists, inside, facts, vertices, y, _trust(query, facts, inside, vertices, y, record.n_vertices))


def _handed_on(engine: Engine, record: Record, facts: Facts, y: Sparse) -> tuple[Facts, Sparse]:
    """y + yₐψ: what was added after the graph was built hands what it is given to the vertices it consists of."""
    weight = {int(facts.row[at]): float(own) for at, own in zip(y.indices, y.data, strict=True)}
    outside = [at for at in y.indices if facts.row[at] >= record.n_vertices]
    known = facts
    if outside:
        wanted = np.unique(np.concatenate([np.asarray(facts.psi_rows[at], dtype=np.int64) for at in outside]))
        others = engine.facts(rows=wanted, waves=True)
        known = joined(facts, others)
    there = set(known.row[known.row < record.n_vertices].tolist())
    total = {row: own for row, own in weight.items() if row < record.n_vertices}
    for at in outside:
        live = [(row, own) for row, own in zip(facts.psi_rows[at], facts.psi_weights[at], strict=True) if row in there]
        whole = sum(own for _, own in live)
        for row, own in live:
            total[row] = total.get(row, 0.0) + weight[int(facts.row[at])] * own / whole
    first = {int(row): place for place, row in reversed(list(enumerate(known.row.tolist())))}  # one of its copies
    rows = sorted(total)
    data = np.array([total[row] for row in rows], dtype=np.float32)
    columns = np.array([first[row] for row in rows], dtype=np.int64)
    return known, sp.csr_array((data, (np.zeros_like(columns), columns)), shape=(1, len(known)))


def joined(one: Facts, other: Facts) -> Facts:
    """Rows of both, those of the first before the others."""
    new = ~np.isin(other.numbers, one.numbers)
    both: dict[str, Any] = {}
    for name, own in vars(one).items():
        more = getattr(other, name)
        if isinstance(own, np.ndarray):
            both[name] = np.concatenate([own, more[new]])
        elif own is not None:
            both[name] = [*own, *(row for row, kept in zip(more, new, strict=True) if kept)]
    return Facts(**both)


def _trust(query: Queries, facts: Facts, inside: Neighbors, vertices: Facts, y: Sparse, n: int) -> float:
    present = inside.ids >= 0
    places = np.where(present, facts.places(np.where(present, inside.ids, facts.numbers[0])), -1)
    graph = _Vertices(vertices.reach, vertices.component, n)
    alone = np.zeros(len(query.regions), dtype=np.int64)
    lists = Neighbors(places, inside.similarities)
    return float(confidence(lists, alone, query.weights, y, graph)[0])


@dataclass(frozen=True, eq=False)
class Waves:
    """z = (h(Λ) − h(0)) Uᵀy, and what y hands on without the basis, by stored row. z: (r,)"""

    values: NDArray[np.float32]
    direct: dict[int, float]

    @classmethod
    def of(cls, record: Record, observed: Observed, filter: Filter, *, complement: bool) -> Waves:
        """Between the searches: `Spectral` on the rows that y touches."""
        eigenvalues = np.asarray(record.eigenvalues)
        if record.next_eigenvalue is not None:
            warn_if_left_out(filter, eigenvalues, record.next_eigenvalue, complement=complement)
        floor = at_zero(filter)
        gains = (response(filter, eigenvalues) - (floor if complement else 0.0)).astype(np.float32)
        known, y = observed.vertices, observed.y
        assert known.coordinates is not None
        basis = known.coordinates[y.indices] / known.gain[y.indices, None]  # rows of U
        handed = y.data * direct_gains(known.kind[y.indices], floor, complement=complement) * known.gain[y.indices]
        rows = known.row[y.indices].tolist()
        return cls((y.data @ basis) * gains, dict(zip(rows, handed.tolist(), strict=True)))

    def scores(self, scored: Scored, n_vertices: int) -> NDArray[np.float32]:
        """x of some rows: products, and what they are handed. (c,)"""
        found = scored.products.astype(np.float32).copy()
        facts = scored.facts
        for place, row in enumerate(facts.row.tolist()):
            if row < n_vertices:
                found[place] += self.direct.get(row, 0.0)
            else:  # ψ times what its vertices are handed
                pairs = zip(facts.psi_rows[place], facts.psi_weights[place], strict=True)
                found[place] += sum(own * self.direct.get(vertex, 0.0) for vertex, own in pairs)
        return found


@dataclass(frozen=True, eq=False)
class View:
    """Candidates as a blend sees them (`blending.Compared`), of one query."""

    record: Record
    query: Queries
    observed: Observed
    scored: Scored
    seventh_near: float
    summed: NDArray[np.float32] = field(repr=False)

    @property
    def similarities(self) -> Array:
        """Euclidean similarity. (1, c)"""
        return self.scored.similarities[None, :]

    def unrepresented(self) -> Array:
        """The same times 1 − η. (1, c)"""
        return np.asarray(self.similarities * (1 - self.scored.facts.norm))

    @property
    def own(self) -> Array:
        """Similarity of the query to itself. (1,)"""
        return np.array([np.linalg.norm(self.summed)], dtype=np.float32)

    @property
    def seventh(self) -> Array:
        """Similarity of its 7th neighbour. (1,)"""
        return np.array([self.seventh_near], dtype=np.float32)

    @property
    def signed(self) -> Array:
        """Whether it has examples of what is not wanted. (1,)"""
        return np.array([bool((self.query.weights < 0).any())])

    @cached_property
    def identical(self) -> tuple[Array, Array]:
        """Candidates whose vector is every one of the query's. (t,), (t,)"""
        lists, facts = self.observed.lists, self.observed.facts
        least = 1 - SAME * np.sqrt(self.query.regions.shape[1])
        common: set[int] | None = None
        for own, similar, weight in zip(lists.ids, lists.similarities, self.query.weights, strict=True):
            same = own[(similar >= least) & (own >= 0)] if weight > 0 else own[:0]
            same = same[np.isin(same, facts.numbers)]
            rows = set(facts.row[facts.places(same)].tolist()) if len(same) else set()
            common = rows if common is None else common & rows
        places = np.flatnonzero(np.isin(self.scored.facts.row, list(common or ())))
        return np.zeros(len(places), dtype=np.int64), places


def answer(engine: Engine, record: Record, query: Queries, k: int, asking: Asking) -> Answer:
    """Both searches and what lies between, of one query."""
    k = min(k, record.items if asking.allowed is None else len(asking.allowed))
    near = _near_count(asking.blend, k)
    single = len(query.regions) == 1 and query.weights[0] > 0
    observed = observe(engine, record, query, asking, near if single else 0)
    waves = Waves.of(record, observed, asking.filter, complement=asking.complement)
    summed = query.summed()[0]
    crowd, similar = _crowd(engine, record, query, observed, summed, near)
    best, _ = engine.search(COORDINATES, waves.values, _candidate_count(record, asking.blend, k))
    whole = np.concatenate([crowd, best, observed.facts.numbers])
    if record.copies:  # of what was found by its first copy
        rows = observed.facts.row if not len(crowd) else engine.facts(numbers=crowd).row
        whole = np.concatenate([whole, engine.facts(rows=np.union1d(rows, observed.facts.row)).numbers])
    kept = _kept(engine, record, asking, summed, waves.values, k, near)
    numbers = np.unique(whole if kept is None else np.concatenate([whole, kept]))
    scored = engine.scored(numbers, summed, waves.values)
    order = np.argsort(scored.facts.numbers)
    scored = _ordered(scored, order)
    scores = waves.scores(scored, record.n_vertices)[None, :]
    left = None if kept is None else np.flatnonzero(np.isin(scored.facts.numbers, kept))
    seventh = float(similar[min(SPREAD, len(similar)) - 1]) if len(similar) else 0.0
    view = View(record, query, observed, scored, seventh, summed)
    if asking.blend is None:
        places, found = best_with_ties(scores, lambda: view.similarities, k, left)
    else:
        places, found = best_of(asking.blend(scores, view, asking.filter), k, left)
    chosen, facts = places[0], scored.facts
    values = found[0].astype(np.float32)
    return Answer(facts.numbers[chosen], facts.ids[chosen], values, observed.trust, observed.y.nnz == 0)


def _near_count(blend: Blending | None, k: int) -> int:
    """Nearest rows that are candidates: what nothing reaches follows in their order."""
    return max(_each(blend) * k, 32 if blend is None else near_count(blend, k))


def _candidate_count(record: Record, blend: Blending | None, k: int) -> int:
    return min(max(_each(blend) * k, _LEAST), record.items)


def _each(blend: Blending | None) -> int:
    return _EACH if blend is None or hasattr(blend, "near") else _MORE


def _crowd(
    engine: Engine, record: Record, query: Queries, observed: Observed, summed: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows most similar to the whole query: numbers and similarities, best first."""
    if len(query.regions) == 1 and query.weights[0] > 0:  # its own list tells
        present = observed.lists.ids[0] >= 0
        return observed.lists.ids[0][present], observed.lists.similarities[0][present] * query.weights[0]
    if not summed.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    numbers, similar = engine.search(VECTOR, normalize(summed[None])[0], count, leaders=record.copies)
    return numbers, similar * np.linalg.norm(summed).astype(np.float32)


def _kept(
    engine: Engine, record: Record, asking: Asking, summed: Array, waves: NDArray[np.float32], k: int, near: int
) -> NDArray[np.int64] | None:
    """Candidates among the items that may be found; None where all may."""
    if asking.allowed is not None:
        return asking.allowed
    if asking.where is None:
        return None
    count = _candidate_count(record, asking.blend, k)
    first, _ = engine.search(VECTOR, normalize(summed[None])[0], min(near, record.items), where=asking.where)
    second, _ = engine.search(COORDINATES, waves, count, where=asking.where)
    return np.union1d(first, second)


def _ordered(scored: Scored, order: NDArray[np.int64]) -> Scored:
    facts = scored.facts
    moved: dict[str, Any] = {
        name: own[order] if isinstance(own, np.ndarray) else [own[place] for place in order]
        for name, own in vars(facts).items()
        if own is not None
    }
    return Scored(Facts(**moved), scored.similarities[order], scored.products[order])
