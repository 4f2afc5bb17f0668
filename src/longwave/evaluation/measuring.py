"""How good the searches of an index are, by known answers, with Euclidean search beside them.

Measures at a cut k ask for k hits, as a user does: what is measured is the search that the index would really carry
out, its approximate ones included. Mean average precision (mAP) needs the whole ranking, which no approximate search
gives; it is that of the exact ranking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.checks import check_counts
from longwave.errors import InputError, plural
from longwave.evaluation.average_precision import Judgement, average_precision, places_of
from longwave.evaluation.ranked import ndcg
from longwave.evaluation.report import MAP, Evaluation, Measured
from longwave.evaluation.truth import Truth, judgements_from
from longwave.index import Index
from longwave.rows.vectors import row_blocks
from longwave.search.euclidean import Euclidean
from longwave.types import Array, Progress

#: Cuts that are measured where nothing is said.
CUTS = (1, 5, 10)


def evaluate(
    index: Index,
    queries: ArrayLike,
    truth: Truth,
    *,
    k: int | Sequence[int] = CUTS,
    query_groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
    batch: int = 1,
    whole: bool = True,
    euclidean: bool = True,
    setup: str = "medium",
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Measure searches by known answers: P@k, recall@k, nDCG@k, mAP and time.

    - queries, query_groups, weights: as for `Index.search`.
    - truth: the known answers; `judgements_from` tells what may be given. Queries without a right item are left out.
    - k: the cuts. Each search asks for the largest of them, and for as many more as the query has junk.
    - batch: queries that are asked together. 1, the default, is one user at a time; give what your program sends.
    - whole: also ask for whole rankings, for mAP. They are exact and take time in proportion to the collection.
    - euclidean: measure Euclidean search too.
    - names: what the queries are called, in the report and where `truth` is a mapping or a qrels file.
    - setup: for `Graded` answers, easy, medium or hard.
    - options: of `Index.search`, such as filter, neighbors, solver.

    >>> import longwave as lw
    >>> vectors, query = lw.datasets.arcs()
    >>> index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    >>> found = evaluate(index, query, [range(6)], k=6, neighbors=1, filter=lw.LowPass(0.8))
    >>> found.mean("P@6"), found.mean("P@6", "Euclidean")
    (1.0, 0.5)
    """
    cuts = tuple(sorted({k} if isinstance(k, int) else set(k)))
    if not cuts:
        raise InputError("k must name at least one cut, such as 10 or (1, 5, 10)")
    for cut in cuts:
        check_counts(k=cut)
    check_counts(batch=batch)
    if options.pop("where", None) is not None:
        raise InputError("evaluate ranks all items; leave out where")
    asked = _Queries.make(queries, query_groups, weights)
    if names is not None and len(names) != asked.count:
        raise InputError(f"there must be a name for each query, {asked.count}, got {len(names)}")
    judgements = judgements_from(truth, index.ids, names=names, count=asked.count, setup=setup)
    if asked.count != len(judgements):
        raise InputError(
            f"{plural(asked.count, 'query')} but ground truth for {len(judgements):,}: the two numbers must be equal"
        )
    if not any(judged.positive for judged in judgements):
        raise InputError("no query has a positive item; there is nothing to evaluate")
    searches: dict[str, dict[str, Any]] = {"manifold": options}
    if isinstance(options.get("solver"), Euclidean):
        searches = {"Euclidean": {"solver": options["solver"]}}
    elif euclidean:
        searches["Euclidean"] = {"solver": Euclidean()}
    measured = []
    for search, chosen in searches.items():
        values, milliseconds = _at_cuts(index, asked, judgements, cuts, batch, chosen, _named(progress, search))
        if whole:
            values[MAP] = _whole_rankings(index, asked, judgements, chosen, _named(progress, f"{search}, mAP"))
        measured.append(Measured(search, values, milliseconds))
    called = tuple(range(asked.count) if names is None else names)
    return Evaluation(tuple(measured), called, cuts, batch)


def _at_cuts(
    index: Index,
    asked: _Queries,
    judgements: list[Judgement],
    cuts: tuple[int, ...],
    batch: int,
    options: dict[str, Any],
    progress: Progress,
) -> tuple[dict[str, NDArray[np.float64]], float]:
    """Measures at each cut by name, (queries,), and the median time of a query in milliseconds."""
    measures = ("P", "recall", "nDCG")
    values = {f"{name}@{cut}": np.full(asked.count, np.nan) for name in measures for cut in cuts}
    times = []
    for first in range(0, asked.count, batch):
        last = min(first + batch, asked.count)
        wanted = min(len(index), cuts[-1] + max(len(judged.junk) for judged in judgements[first:last]))
        rows = asked.some(first, last)
        if first == 0:
            index.search(k=wanted, **rows, **options)  # load compiled code outside of the time
        start = time.perf_counter()
        hits = index.search(k=wanted, **rows, **options)
        times.append((time.perf_counter() - start) / (last - first))
        for query, ids in zip(range(first, last), hits.ids, strict=True):
            for name, value in _measures(ids, judgements[query], cuts):
                values[name][query] = value
        progress("queries", last, asked.count)
    return values, 1000 * float(np.median(times))


def _measures(ranked: Array, judged: Judgement, cuts: tuple[int, ...]) -> Iterator[tuple[str, float]]:
    """Each measure of one query; none where nothing is right. ranked: (k,) ids, best first."""
    if not judged.positive:
        return
    places = places_of(ranked, judged)
    grades = dict.fromkeys(judged.positive, 1.0) if judged.grades is None else judged.grades
    for cut in cuts:
        found = int((places < cut).sum())
        yield f"P@{cut}", found / cut
        yield f"recall@{cut}", found / len(judged.positive)
        yield f"nDCG@{cut}", ndcg(ranked, grades, k=cut, junk=judged.junk)


def _whole_rankings(
    index: Index, asked: _Queries, judgements: list[Judgement], options: dict[str, Any], progress: Progress
) -> NDArray[np.float64]:
    """Average precision of every query, NaN where nothing is right: all items are ranked. (queries,)"""
    values = np.full(asked.count, np.nan)
    for block in row_blocks(asked.count, len(index)):  # a whole ranking each: not all of them at once
        hits = index.search(k=len(index), **asked.some(block.start, block.stop), **options)
        for query, ids in zip(range(block.start, block.stop), hits.ids, strict=True):
            if judgements[query].positive:
                values[query] = average_precision(ids, judgements[query])
        progress("queries", block.stop, asked.count)
    return values


@dataclass(frozen=True, eq=False)
class _Queries:
    """Rows of queries, those of one query next to each other; starts: (queries + 1,) where each begins."""

    rows: Array
    weights: Array | None
    starts: NDArray[np.int64]

    @classmethod
    def make(cls, queries: ArrayLike, groups: ArrayLike | None, weights: ArrayLike | None) -> _Queries:
        rows = np.atleast_2d(np.asarray(queries))
        query_of = np.arange(len(rows)) if groups is None else np.asarray(groups)
        given = None if weights is None else np.asarray(weights)
        for name, values in (("query_groups", query_of), ("weights", given)):
            if values is not None and values.shape != (len(rows),):
                raise InputError(f"{name} must have a number for each query row, {len(rows)}, got {values.size}")
        counts = np.bincount(query_of) if query_of.dtype.kind in "iu" and query_of.min(initial=0) >= 0 else np.zeros(1)
        if not len(rows) or not counts.all():
            raise InputError("query_groups must be the query of each row: whole numbers from 0 on, none left out")
        order = np.argsort(query_of, kind="stable")
        return cls(rows[order], None if given is None else given[order], np.concatenate([[0], np.cumsum(counts)]))

    @property
    def count(self) -> int:
        """How many queries there are."""
        return len(self.starts) - 1

    def some(self, first: int, last: int) -> dict[str, Any]:
        """Arguments of `Index.search` for some of the queries."""
        rows = slice(int(self.starts[first]), int(self.starts[last]))
        sizes = np.diff(self.starts[first : last + 1])
        chosen: dict[str, Any] = {"queries": self.rows[rows]}
        if (sizes > 1).any():
            chosen["query_groups"] = np.repeat(np.arange(last - first), sizes)
        if self.weights is not None:
            chosen["weights"] = self.weights[rows]
        return chosen


def _named(progress: Progress | None, name: str) -> Progress:
    """Progress under a name of its own."""
    if progress is None:
        return lambda stage, done, total: None
    return lambda stage, done, total: progress(name, done, total)
