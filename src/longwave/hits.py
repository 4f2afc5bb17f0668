"""`Hits`: what a search returns, and its forms for other programs."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError, LongwaveError

# Queries, and hits of each, that are printed.
_SHOWN = 10
# Titles of a table of hits.
_OWN = ("query", "rank", "id", "score")


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
    - columns: metadata that was asked for, by name: a list of values for each query. Records and files have it too.
    - counts: (queries,) how many of the hits are relevant, where k was "auto"; those behind are the next best.
    - folded: for each query and hit the ids that are nearly the same and were left out, where `fold` was given.
    - seconds: that the first and the second search took, of all queries together; None for Euclidean search.

    >>> hits = Hits(np.array([[7, 3]]), np.array([[0.5, 0.25]]))
    >>> scores, ids = hits
    >>> print(hits)
       1  0.5000  7
       2  0.2500  3
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
    counts: NDArray[np.int64] | None = None
    folded: list[list[list[Any]]] | None = None
    seconds: tuple[float, float] | None = None

    def __repr__(self) -> str:
        known = ((field.name, getattr(self, field.name)) for field in fields(self) if field.name != "seconds")
        return f"Hits({', '.join(f'{name}={value!r}' for name, value in known if value is not None)})"

    def __str__(self) -> str:
        """The first hits of the first queries, for people."""
        lines = []
        for label, hits in list(zip(self._labels(None), self.records(), strict=True))[:_SHOWN]:
            if self.n_queries > 1:
                lines.append(f"query {label}")
            for hit in hits[:_SHOWN]:
                known = "  ".join(str(value) for value in hit.get("columns", {}).values())
                lines.append(f"{hit['rank']:4}  {hit['score']:.4f}  {hit['id']}  {known}".rstrip())
            if len(hits) > _SHOWN:
                lines.append(f"      … {len(hits) - _SHOWN} more")
        if self.n_queries > _SHOWN:
            lines.append(f"… {self.n_queries - _SHOWN} more queries")
        return "\n".join(lines)

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
        if self.folded is not None:
            cut["folded"] = self.folded[query]
        return replace(self, **cut)

    def records(self) -> list[list[dict[str, Any]]]:
        """For each query a list of its hits, best first: {"rank": 1, "id": …, "score": …} of plain Python values.

        Where there are columns, each hit has them too: {…, "columns": {"title": …}}.
        """
        rows: list[list[dict[str, Any]]] = [
            [{"rank": r, "id": i, "score": s} for r, (i, s) in enumerate(zip(ids, scores, strict=True), 1)]
            for ids, scores in self._relevant()
        ]
        for query, hits in enumerate(rows if self.columns is not None else ()):
            for place, hit in enumerate(hits):
                hit["columns"] = {name: own[query][place] for name, own in (self.columns or {}).items()}
        return rows

    def to_json(self, names: Sequence[str] | None = None) -> str:
        """A JSON list, for each query an object of "ids", "scores", and "confidence", "columns", "query" where known.

        names: what the queries are called, one for each. Dates and times become ISO text.
        """
        rows: list[dict[str, Any]] = [{"ids": ids, "scores": scores} for ids, scores in self._relevant()]
        if self.confidence is not None:
            rows = [{**row, "confidence": float(c)} for row, c in zip(rows, self.confidence, strict=True)]
        if self.columns is not None:
            known = self.columns
            cut = [{name: own[i][: len(row["ids"])] for name, own in known.items()} for i, row in enumerate(rows)]
            rows = [{**row, "columns": own} for row, own in zip(rows, cut, strict=True)]
        if names is not None or self.queries is not None:
            rows = [{"query": name, **row} for name, row in zip(self._labels(names), rows, strict=True)]
        return json.dumps(rows, default=_date_text)

    def to_csv(self, names: Sequence[str] | None = None) -> str:
        """A line for each hit: query, rank, id, score, columns. names: as for `to_json`; numbers by default."""
        file = io.StringIO(newline="")
        writer = csv.writer(file)
        flat = self._flat(names)
        writer.writerow(flat)
        writer.writerows(zip(*flat.values(), strict=True))
        return file.getvalue()

    def to_dataframe(self, names: Sequence[str] | None = None) -> Any:
        """A pandas DataFrame with a row for each hit: query, rank, id, score, columns."""
        try:
            frames = import_module("pandas")
        except ImportError as error:
            raise LongwaveError("to_dataframe needs pandas. Install it with: pip install pandas") from error
        flat: dict[str, Any] = self._flat(names)
        kinds = {"id": self.ids.dtype, "score": self.scores.dtype}
        return frames.DataFrame({n: np.asarray(v, dtype=kinds.get(n)) if n in _OWN else v for n, v in flat.items()})

    def _flat(self, names: Sequence[str] | None) -> dict[str, list[Any]]:
        """One value for each relevant hit, by title. Metadata whose name is taken here is called metadata.NAME."""
        titles = {name: f"metadata.{name}" if name in _OWN else name for name in self.columns or {}}
        flat: dict[str, list[Any]] = {title: [] for title in (*_OWN, *titles.values())}
        for label, hits in zip(self._labels(names), self.records(), strict=True):
            for hit in hits:
                known = {titles[name]: value for name, value in hit.pop("columns", {}).items()}
                for title, value in {"query": label, **hit, **known}.items():
                    flat[title].append(value)
        return flat

    def _relevant(self) -> Iterator[tuple[list[Any], list[float]]]:
        """Ids and scores of every query, as far as they are relevant."""
        counts = [self.ids.shape[1]] * self.n_queries if self.counts is None else self.counts.tolist()
        for ids, scores, count in zip(self.ids.tolist(), self.scores.tolist(), counts, strict=True):
            yield ids[:count], scores[:count]

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


def _date_text(value: Any) -> str:
    """A date or time of the metadata, for JSON."""
    if isinstance(value, datetime.date):  # a datetime is one
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a value of metadata")
