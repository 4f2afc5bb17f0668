"""Conditions on metadata: the small filter language of Mongo, Chroma and Pinecone, as frozen values.

    {"year": {"$gte": 2020}, "city": ["Oxford", "Paris"]}

A key is a column. A plain value means `$eq`, a list means `$in`; several keys, or several operators of one column, must
all hold.

| operator | true where |
|---|---|
| `$eq`, `$ne` | the value is, or is not, the one given |
| `$lt`, `$lte`, `$gt`, `$gte` | it is below, at most, above, at least the one given |
| `$in`, `$nin` | it is, or is not, one of a list |
| `$exists` | it is there (`true`), or missing (`false`) |
| `$not` | the condition inside is not true; of a column, `{"year": {"$not": {"$gt": 2020}}}`, or of a whole object |
| `$and`, `$or` | all, or any, of a list of objects hold |

**Missing values.** A comparison with a missing value is false. So `$ne` and `$nin`, which are the complements of `$eq`
and `$in`, are true there, and `$not` is the complement of whatever it holds. Only `$exists` asks for missing values;
None is not a value. NaN counts as missing. `{}` is true everywhere, `$in` of an empty list nowhere.

**Types.** A value must suit its column.

- A column of whole numbers is compared exactly, also with 2020.5 and with numbers beyond its range. In a column of
  floats the value given is rounded to the precision of the column: 0.1 finds 0.1 in a column of float32.
- True and False are not numbers. They have no order.
- Text is compared by code point, capitals first. An index of text (Arrow's dictionary) is text.
- A date is ISO text ("2024-05-17") or a `datetime.date`; a time is ISO text ("2024-05-17T12:30:00+02:00") or a
  `datetime.datetime`, and a date alone is its midnight. Where a column has a time zone, a time without one is in UTC.
- A column of lists takes `$eq` and `$in` (one of its elements is), `$ne` and `$nin` (none is), and `$exists`.

Conditions may come from strangers: their depth, their parts and their values are bounded, and nothing is evaluated
but comparisons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from longwave.metadata.comparing import Mask, compare, has_value
from longwave.metadata.messages import LISTED
from longwave.metadata.values import SIGNS, Value


class Condition(ABC):
    """What must hold for an item to be found; made by `parse` and `parse_text`. As text it is for people to read."""

    @abstractmethod
    def mask(self, table: Any) -> Mask:
        """Where it holds: a bool for each row of a pyarrow.Table, (n,). The table is one that `as_table` gave."""

    @abstractmethod
    def columns(self) -> frozenset[str]:
        """The names of the columns that it asks for."""


@dataclass(frozen=True)
class Compare(Condition):
    """A column against a value. operator: $lt, $lte, $gt or $gte."""

    column: str
    operator: str
    value: Value

    def mask(self, table: Any) -> Mask:
        return compare(table, self.column, self.operator, (self.value,))

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def __str__(self) -> str:
        sign = next(sign for sign, operator in SIGNS.items() if operator == self.operator)
        return f"{self.column} {sign} {self.value!r}"


@dataclass(frozen=True)
class OneOf(Condition):
    """A column is one of some values: `$eq` has one, `$in` any number."""

    column: str
    values: tuple[Value, ...]

    def mask(self, table: Any) -> Mask:
        return compare(table, self.column, "$in", self.values)

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.column} = {self.values[0]!r}"
        more = f" and {len(self.values) - LISTED:,} more" if len(self.values) > LISTED else ""
        return f"{self.column} is one of {', '.join(map(repr, self.values[:LISTED]))}{more}"


@dataclass(frozen=True)
class Exists(Condition):
    """A column has a value."""

    column: str

    def mask(self, table: Any) -> Mask:
        return has_value(table, self.column)

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def __str__(self) -> str:
        return f"{self.column} has a value"


@dataclass(frozen=True)
class Not(Condition):
    """The part does not hold."""

    part: Condition

    def mask(self, table: Any) -> Mask:
        return ~self.part.mask(table)

    def columns(self) -> frozenset[str]:
        return self.part.columns()

    def __str__(self) -> str:
        return f"not ({self.part})"


@dataclass(frozen=True)
class AllOf(Condition):
    """All parts hold; of no parts, always."""

    parts: tuple[Condition, ...]

    def mask(self, table: Any) -> Mask:
        masks = (part.mask(table) for part in self.parts)
        return reduce(np.logical_and, masks, np.ones(table.num_rows, dtype=bool))

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns() for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(f"({part})" for part in self.parts) or "anything"


@dataclass(frozen=True)
class AnyOf(Condition):
    """Some part holds; of no parts, never."""

    parts: tuple[Condition, ...]

    def mask(self, table: Any) -> Mask:
        masks = (part.mask(table) for part in self.parts)
        return reduce(np.logical_or, masks, np.zeros(table.num_rows, dtype=bool))

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns() for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(f"({part})" for part in self.parts) or "nothing"


def all_of(conditions: Iterable[Condition]) -> Condition:
    """All of some conditions, as `--where` may be given several times; of one, itself.

    >>> all_of([Compare("year", "$gte", 2020), Exists("title")])
    AllOf(parts=(Compare(column='year', operator='$gte', value=2020), Exists(column='title')))
    """
    parts = tuple(conditions)
    return parts[0] if len(parts) == 1 else AllOf(parts)
