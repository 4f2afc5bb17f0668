"""What an evaluation found, as a table, JSON, CSV or HTML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave import display
from longwave.errors import InputError, plural

#: The name of mean average precision.
MAP = "mAP"


@dataclass(frozen=True, eq=False)
class Measured:
    """One kind of search. values: by measure, (queries,) from 0 to 1, NaN where a query has no right item.

    milliseconds: median time of a query.
    """

    search: str
    values: Mapping[str, NDArray[np.float64]]
    milliseconds: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Measures of each kind of search, the index's own first. ``print(evaluation)`` is a table.

    names: of the queries. cuts: the k that were measured. batch: how many queries were asked together.
    """

    searches: tuple[Measured, ...]
    names: Sequence[Any]
    cuts: tuple[int, ...]
    batch: int

    def mean(self, measure: str, search: str | None = None) -> float:
        """The mean of a measure over the queries, from 0 to 1. search: the index's own by default."""
        return float(np.nanmean(self.per_query(measure, search)))

    def per_query(self, measure: str, search: str | None = None) -> NDArray[np.float64]:
        """A measure of every query, NaN where a query has no right item. (queries,)"""
        found = {one.search: one for one in self.searches}
        name = self.searches[0].search if search is None else search
        if name not in found:
            raise InputError(f"search must be one of {', '.join(found)}, got '{name}'")
        if measure not in self.measures:
            raise InputError(f"measure must be one of {', '.join(self.measures)}, got '{measure}'")
        return found[name].values[measure]

    @property
    def measures(self) -> list[str]:
        """Names of the measures, such as P@5."""
        return list(self.searches[0].values)

    @property
    def n_judged(self) -> int:
        """Queries that have a right item, over which the means are taken."""
        return len(self.names) - self.left_out

    @property
    def left_out(self) -> int:
        """Queries without a right item."""
        return int(np.isnan(self.searches[0].values[self.measures[0]]).sum())

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Titles and rows of text: a row for each measure, in per cent, and one for the time."""
        rows = [
            [
                f"{measure} (whole exact ranking)" if measure == MAP else measure,
                *(f"{100 * self.mean(measure, one.search):.1f}" for one in self.searches),
            ]
            for measure in self.measures
        ]
        together = "one at a time" if self.batch == 1 else f"{self.batch:,} at a time"
        rows.append(
            [f"ms per query, {together}, k {self.cuts[-1]}", *(f"{one.milliseconds:.2f}" for one in self.searches)]
        )
        return ["in per cent", *(one.search for one in self.searches)], rows

    def summary(self) -> str:
        """The most important numbers in one line."""
        measure = MAP if MAP in self.measures else f"P@{self.cuts[-1]}"
        first, *others = (f"{100 * self.mean(measure, one.search):.2f}" for one in self.searches)
        beside = f" (Euclidean {others[0]})" if others else ""
        left_out = f" ({self.left_out} without positives left out)" if self.left_out else ""
        return f"{measure} {first}{beside} over {plural(self.n_judged, 'query')}{left_out}"

    def __str__(self) -> str:
        titles, rows = self.table()
        lines = [titles, *rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
        text = [
            "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
            for line in lines
        ]
        return "\n".join([*text, self.summary()])

    def records(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """For each search its means, from 0 to 1, and its time; or for each search and query its values."""
        if not per_query:
            return [
                {
                    "search": one.search,
                    **{measure: self.mean(measure, one.search) for measure in self.measures},
                    "milliseconds": one.milliseconds,
                }
                for one in self.searches
            ]
        return [
            {
                "query": name,
                "search": one.search,
                **{measure: _number(one.values[measure][place]) for measure in self.measures},
            }
            for place, name in enumerate(self.names)
            for one in self.searches
        ]

    def to_json(self, *, per_query: bool = False) -> str:
        """A JSON object: what was asked, the means of each search, and with `per_query` the values of each query."""
        whole: dict[str, Any] = {
            "queries": self.n_judged,
            "left_out": self.left_out,
            "k": list(self.cuts),
            "batch": self.batch,
            "searches": self.records(),
        }
        if per_query:
            whole["per_query"] = self.records(per_query=True)
        return json.dumps(whole, default=str)

    def to_csv(self, *, per_query: bool = False) -> str:
        """A line for each search, or with `per_query` for each query and search; values from 0 to 1."""
        records = self.records(per_query=per_query)
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
        return file.getvalue()

    def _repr_html_(self) -> str:
        titles, rows = self.table()
        return display.table(titles, rows, caption=self.summary())


def _number(value: float) -> float | None:
    """None where there is none: JSON has no NaN."""
    return None if np.isnan(value) else float(value)
