"""`Hits`: what a search returns, and its forms for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError, LongwaveError


@dataclass(frozen=True, eq=False)
class Hits:
    """Ranked answers: ids and scores, (queries, k), best first.

    ``scores, ids = hits`` gives both arrays, as faiss does. ``hits[3]`` is the answer to one query and ``hits[:5]``
    that to some, again as `Hits`. ``hits.n_queries`` is how many there are. `records`, `to_json`, `to_csv` and
    `to_dataframe` are for other programs.

    - errors: (queries,) bound on the relative error of the scores, where the solver has one; else None.
    - steps: (queries,) iterations that the solver took, where it iterates; else None.
    - queries: (queries,) numbers of the queries that were answered, where some were skipped; else None.
    - confidence: (queries,) from 0 to 1, the chance that these hits are at least as good as those of Euclidean search;
      None for Euclidean search itself.
    - route: which way the answer came, "sublinear", "basis" or "exact" (`longwave.plan`); None for Euclidean search.
    - columns: metadata that was asked for, by name: a list of values for each query.
    - seconds: that the first and the second search took, of all queries together; None for Euclidean search.

    >>> hits = Hits(np.array([[7, 3]]), np.array([[0.5, 0.25]]))
    >>> scores, ids = hits
    >>> hits.records()
    [[{'rank': 1, 'id': 7, 'score': 0.5}, {'rank': 2, 'id': 3, 'score': 0.25}]]
    """

    ids: NDArray[Any]
    scores: NDArray[Any]
    errors: NDArray[np.float64] | None = None
    steps: NDArray[np.int64] | None = None
    queries: NDArray[np.int64] | None = None
    confidence: NDArray[np.float32] | None = None
    route: str | None = None
    columns: Mapping[str, list[list[Any]]] | None = None
    seconds: tuple[float, float] | None = None

    @property
    def n_queries(self) -> int:
        """How many queries were answered."""
        return len(self.ids)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield self.scores
        yield self.ids

    def __getitem__(self, query: int | slice) -> Hits:
        """The answer to one query, or to some of them; arrays keep their two dimensions."""
        if not isinstance(query, slice):
            if not -self.n_queries <= query < self.n_queries:
                raise IndexError(f"there is no query {query}; queries are 0 … {self.n_queries - 1}")
            place = int(query) % self.n_queries
            query = slice(place, place + 1)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        cut: dict[str, Any] = {name: value[query] for name, value in values.items() if isinstance(value, np.ndarray)}
        if self.columns is not None:
            cut["columns"] = {name: values[query] for name, values in self.columns.items()}
        return replace(self, **cut)

    def records(self) -> list[list[dict[str, Any]]]:
        """For each query a list of its hits, best first: {"rank": 1, "id": …, "score": …} of plain Python values."""
        return [
            [{"rank": r, "id": i, "score": s} for r, (i, s) in enumerate(zip(ids, scores, strict=True), 1)]
            for ids, scores in zip(self.ids.tolist(), self.scores.tolist(), strict=True)
        ]

    def to_json(self, names: Sequence[str] | None = None) -> str:
        """A JSON list, for each query an object of "ids" and "scores", and "confidence" and "query" where known.

        names: what the queries are called, one for each.
        """
        rows: list[dict[str, Any]] = [
            {"ids": ids, "scores": scores} for ids, scores in zip(self.ids.tolist(), self.scores.tolist(), strict=True)
        ]
        if self.confidence is not None:
            rows = [{**row, "confidence": float(c)} for row, c in zip(rows, self.confidence, strict=True)]
        if names is not None or self.queries is not None:
            rows = [{"query": name, **row} for name, row in zip(self._labels(names), rows, strict=True)]
        return json.dumps(rows)

    def to_csv(self, names: Sequence[str] | None = None) -> str:
        """A line for each hit: query, rank, id, score. names: as for `to_json`; numbers of the queries by default."""
        file = io.StringIO(newline="")
        writer = csv.writer(file)
        writer.writerow(["query", "rank", "id", "score"])
        for query, hits in zip(self._labels(names), self.records(), strict=True):
            writer.writerows([query, *hit.values()] for hit in hits)
        return file.getvalue()

    def to_dataframe(self, names: Sequence[str] | None = None) -> Any:
        """A pandas DataFrame with a row for each hit: query, rank, id, score."""
        try:
            frames = import_module("pandas")
        except ImportError as error:
            raise LongwaveError("to_dataframe needs pandas. Install it with: pip install pandas") from error
        labels, (n, k) = self._labels(names), self.ids.shape
        columns = {
            "query": np.repeat(np.asarray(labels), k),
            "rank": np.tile(np.arange(1, k + 1), n),
            "id": self.ids.ravel(),
            "score": self.scores.ravel(),
        }
        return frames.DataFrame(columns)

    def _labels(self, names: Sequence[str] | None) -> list[Any]:
        """What the queries are called: their names, or their numbers."""
        if names is None:
            return list(range(self.n_queries)) if self.queries is None else self.queries.tolist()
        if len(names) != self.n_queries:
            raise InputError(f"there must be a name for each query, {self.n_queries}, got {len(names)}")
        return list(names)

    def _repr_html_(self) -> str:
        from longwave.display import hits_html

        return hits_html(self)
