"""A settled condition as SQL with bound values: for PostgreSQL and DuckDB, which differ in a few words only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from longwave.metadata.conditions import AllOf, AnyOf, Compare, Condition, Exists, Not, OneOf

_SIGNS = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}


def quoted(name: str) -> str:
    """An identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Dialect:
    """mark: where a value is bound. among, element: a column, or an element of a column of lists, is one of the values.

    collation: after a text that is compared by code point. kinds: SQL types of columns, by name.
    """

    mark: str
    among: str
    element: str
    collation: str
    kinds: dict[str, str]

    def where(self, condition: Condition) -> tuple[str, list[Any]]:
        """Text with marks, and the values for them. Missing values make a comparison neither true nor false."""
        if isinstance(condition, Not):
            text, values = self.where(condition.part)
            return f"NOT COALESCE({text}, FALSE)", values
        if isinstance(condition, AllOf | AnyOf):
            parts = [self.where(part) for part in condition.parts]
            joint, empty = (" AND ", "TRUE") if isinstance(condition, AllOf) else (" OR ", "FALSE")
            return f"({joint.join(text for text, _ in parts) or empty})", [v for _, own in parts for v in own]
        assert isinstance(condition, Compare | OneOf | Exists)
        name = quoted(condition.column)
        if isinstance(condition, Exists):
            return f"{name} IS NOT NULL", []
        kind = self.kinds[condition.column]
        if isinstance(condition, OneOf):
            form = self.element if kind.endswith("[]") else self.among
            return form.format(name=name, mark=self.mark, kind=kind.removesuffix("[]")), [list(condition.values)]
        collation = self.collation if kind.lower() in ("text", "varchar") else ""
        return f"{name}{collation} {_SIGNS[condition.operator]} {self.mark}::{kind}", [condition.value]


def sql_type(kind: Any, names: dict[str, str]) -> str:
    """The SQL type for a type of Arrow, as metadata have them. names: what a dialect calls plain types."""
    from longwave.metadata.arrow import is_list, need

    types = need("pyarrow.types")
    if is_list(kind):
        return f"{sql_type(kind.value_type, names)}[]"
    if types.is_dictionary(kind):
        return sql_type(kind.value_type, names)
    if types.is_timestamp(kind):
        return names["zoned" if kind.tz is not None else "time"]
    if types.is_integer(kind):
        return names["whole"]
    return next(
        names[word]
        for word, test in (
            ("boolean", types.is_boolean),
            ("float32", types.is_float32),
            ("float64", types.is_float64),
            ("date", types.is_date32),
            ("text", lambda _: True),  # also a column of missing values only
        )
        if test(kind)
    )
