"""The demonstration: handwritten digits, Euclidean search against every variant of manifold search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longwave.datasets.sets import LabelledSet, digits, held_out
from longwave.errors import MissingExtraError, writing
from longwave.evaluation import Judgement, average_precision, label_judgements
from longwave.experiments.plots import Strip, draw_strips
from longwave.filters import Heat, LowPass
from longwave.index import PAPER, Index
from longwave.search.blending import Blend
from longwave.search.euclidean import Euclidean
from longwave.solvers import ChebyshevFilter, ConjugateGradient, Hybrid, RandomWalk, Spectral
from longwave.spectrum import Chebyshev, Exact, Lanczos, Simultaneous
from longwave.types import Array, Hits

K, NEIGHBORS, RANK, N_QUERIES = 20, 10, 20, 200
#: The row of what a user gets without any option; the rows before it are the paper's variants.
DEFAULT = "Longwave's default"


@dataclass(frozen=True, eq=False)
class Variant:
    """A kind of search, measured: one line of the table.

    precision: (queries,) AP of each. milliseconds: per query. bytes: what the search needs.
    """

    name: str
    how: str
    precision: Array
    milliseconds: float
    bytes: int
    hits: Hits

    @property
    def mean(self) -> float:
        """MAP in per cent."""
        return 100 * float(self.precision.mean())


def run(report: Callable[[Variant], None] = lambda row: None) -> tuple[list[Variant], LabelledSet, Array, Array]:
    """Search 200 held-out digits among 1,597. Returns rows, the set, and row numbers of queries and collection."""
    data = digits()
    queries, collection = held_out(len(data.vectors), n_queries=N_QUERIES)
    judgements = label_judgements(data.labels[queries], data.labels[collection], np.arange(len(collection)))
    rows = []
    for name, how, index, options, parts in _variants(data.vectors[collection]):
        row = _measure(name, how, index, data.vectors[queries], judgements, options, parts)
        report(row)
        rows.append(row)
    return rows, data, queries, collection


def keep(path: Path) -> bool:
    """Write all 1,797 digits as an index folder that a server shows; returns whether it knows their labels.

    What is there already gets a newer version. Labels need the extra `metadata`.
    """
    data = digits()
    assert data.images is not None
    height, width = data.images.shape[1:]
    index = Index.build(data.vectors, progress=False).attach(
        {"draw": {"kind": "digits", "width": width, "height": height}}
    )
    try:
        index.with_metadata({"label": data.labels.tolist()}).save(path, force=True)
    except MissingExtraError:
        index.save(path, force=True)
        return False
    return True


def _variants(vectors: Array) -> Iterator[tuple[str, str, Index, dict[str, Any], tuple[str, ...]]]:
    """Name, choice in code, index, search options, and the parts of the index it needs."""

    def build(**options: Any) -> Index:
        return Index.build(vectors, progress=False, **{**PAPER, "k": K, **options})

    exact, approx = build(spectrum=Exact()), build(spectrum=Chebyshev(RANK))
    on_basis, on_graph = ("vectors", "basis"), ("vectors", "graph")
    printed = Spectral(complement=False)
    yield "Euclidean", "Euclidean()", approx, {"solver": Euclidean()}, ("vectors",)
    yield "linear system", "ConjugateGradient()", approx, {"solver": ConjugateGradient()}, on_graph
    yield "random walk", "RandomWalk(20)", approx, {"solver": RandomWalk(20)}, on_graph
    yield "polynomial", "ChebyshevFilter()", approx, {"solver": ChebyshevFilter()}, on_graph
    yield "FSR.exact", "Exact()", exact, {"solver": printed}, on_basis
    yield f"FSR.rank-{RANK}", f"Lanczos({RANK})", build(spectrum=Lanczos(RANK)), {"solver": printed}, on_basis
    as_printed = build(spectrum=Simultaneous(RANK))
    yield "FSR.approx, printed", f"Simultaneous({RANK})", as_printed, {"solver": printed}, on_basis
    yield "FSR.approx", f"Chebyshev({RANK})", approx, {"solver": printed}, on_basis
    sparse = build(spectrum=Chebyshev(RANK), sparsity=0.7)
    yield "FSR.sparse, 70 %", "sparsity=0.7", sparse, {"solver": printed}, on_basis
    yield "FSRw", "blend=Blend(0.5)", approx, {"solver": printed, "blend": Blend(0.5)}, on_basis
    yield "hybrid", "Hybrid(1e-3)", approx, {"solver": Hybrid()}, (*on_basis, "graph")
    yield "another filter", "filter=Heat(10)", approx, {"filter": Heat(10)}, on_basis
    yield DEFAULT, "Index.build(vectors)", Index.build(vectors, progress=False), {}, on_basis


def _measure(
    name: str,
    how: str,
    index: Index,
    queries: Array,
    judgements: list[Judgement],
    options: dict[str, Any],
    parts: tuple[str, ...],
) -> Variant:
    search = {} if name == DEFAULT else {"neighbors": NEIGHBORS, "filter": LowPass(0.99), **options}
    index.search(queries[:1], len(index), **search)  # compile outside of the time
    start = time.perf_counter()
    hits = index.search(queries, len(index), **search)
    elapsed = time.perf_counter() - start
    precision = np.array([average_precision(r, j) for r, j in zip(hits.ids, judgements, strict=True)])
    memory = index.memory()
    return Variant(name, how, precision, 1000 * elapsed / len(queries), sum(memory[part] for part in parts), hits)


def draw(rows: list[Variant], data: LabelledSet, queries: Array, collection: Array, path: Path) -> None:
    """Write the picture: the query that gains most, two in between, and the one that gains least."""
    named = {row.name: row for row in rows}
    plain, manifold = named["Euclidean"], named[DEFAULT]
    by_gain = np.argsort(plain.precision - manifold.precision, kind="stable")
    ranks = [1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150]
    strips = []
    assert data.images is not None
    for word, place in (("most", 0), ("upper quarter", 50), ("median", 100), ("least", -1)):
        q = by_gain[place]
        for row, label in ((plain, "Euclidean"), (manifold, "manifold")):
            shown = collection[row.hits.ids[q][np.array(ranks) - 1]]
            right = data.labels[shown] == data.labels[queries[q]]
            text = f"gains {word}\n{label} {100 * row.precision[q]:.0f}"
            strips.append(Strip(text, data.images[queries[q]], data.images[shown], right))
    title = "Digits found at each rank: Euclidean above, manifold below (average precision in per cent)"
    with writing(path):
        draw_strips(strips, ranks, title).savefig(path)
