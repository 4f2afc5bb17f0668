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

import datetime
import difflib
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.metadata.arrow import is_list, need

Mask: TypeAlias = NDArray[np.bool_]

# Bounds on what strangers send. People write three levels and ten parts; lists of ids can be long.
_MOST_DEPTH, _MOST_PARTS, _MOST_VALUES, _MOST_TEXT = 32, 1000, 100_000, 1 << 22
_MOST_BITS = 1024  # of a whole number: as far as floats go
_LISTED = 12  # columns named in a message
_SIGNS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_ORDERS = tuple(_SIGNS.values())
_OPERATORS = ("$eq", "$ne", *_ORDERS, "$in", "$nin", "$exists", "$not")
_JOINTS = ("$and", "$or", "$not")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf")
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_SECOND_COMPARISON = re.compile(r"\s(and|or|AND|OR|&&|\|\|)\s+[^=!<>]*[=!<>]")
_TOO_FINE = re.compile(r"[.,][0-9]{7}")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Written:
    """A value of the command line: what it means is for its column to say. 007 is text in a column of text."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


Value: TypeAlias = str | bool | int | float | datetime.date | Written  # a datetime is a date


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
        return _evaluate(table, self.column, self.operator, (self.value,))

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def __str__(self) -> str:
        sign = next(sign for sign, operator in _SIGNS.items() if operator == self.operator)
        return f"{self.column} {sign} {self.value!r}"


@dataclass(frozen=True)
class OneOf(Condition):
    """A column is one of some values: `$eq` has one, `$in` any number."""

    column: str
    values: tuple[Value, ...]

    def mask(self, table: Any) -> Mask:
        return _evaluate(table, self.column, "$in", self.values)

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"{self.column} = {self.values[0]!r}"
        more = f" and {len(self.values) - _LISTED:,} more" if len(self.values) > _LISTED else ""
        return f"{self.column} is one of {', '.join(map(repr, self.values[:_LISTED]))}{more}"


@dataclass(frozen=True)
class Exists(Condition):
    """A column has a value."""

    column: str

    def mask(self, table: Any) -> Mask:
        found = _column(table, self.column)
        return _by_chunk(found, lambda chunk: chunk.is_valid())

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


def parse(where: Mapping[str, Any] | Condition) -> Condition:
    """A condition from an object of columns and operators, as described above; InputError says what is wrong with it.

    >>> parse({"year": {"$gte": 2020}})
    Compare(column='year', operator='$gte', value=2020)
    >>> parse({"city": ["Oxford", "Paris"]})
    OneOf(column='city', values=('Oxford', 'Paris'))
    """
    return where if isinstance(where, Condition) else _Parser().object(where, 1)


def parse_text(text: str) -> Condition:
    """A condition from one line of text, as people type it: a comparison, or an object in JSON.

    A comparison is NAME OP VALUE, where OP is one of `= != < <= > >=`; with `=` and `!=` a list of values is separated
    by commas. `NAME?` asks whether there is a value. Spaces around the parts do not matter. What a value means is for
    its column to say: a number, true or false, a date, or text. Quotes, single or double, keep commas, spaces and signs
    in a name or a value together; a quote inside is written twice. Everything else is for JSON.

    >>> parse_text("year>=2020")
    Compare(column='year', operator='$gte', value='2020')
    >>> parse_text("city = Oxford, 'Paris, Texas'")
    OneOf(column='city', values=('Oxford', 'Paris, Texas'))
    >>> parse_text("city!=Oxford")
    Not(part=OneOf(column='city', values=('Oxford',)))
    >>> parse_text("title?")
    Exists(column='title')
    >>> parse_text('{"year": {"$lt": 1990}}') == parse({"year": {"$lt": 1990}})
    True
    """
    if not isinstance(text, str):
        raise InputError(f"a condition in text must be a string, got {_shown(text)}; objects go through parse")
    if len(text) > _MOST_TEXT:
        raise InputError(f"a condition has at most {_MOST_TEXT:,} characters, got {len(text):,}; make it shorter")
    if text.lstrip().startswith("{"):
        return parse(_from_json(text))
    return _Line(text).condition()


def all_of(conditions: Iterable[Condition]) -> Condition:
    """All of some conditions, as `--where` may be given several times; of one, itself.

    >>> all_of([parse_text("year>=2020"), parse_text("title?")])
    AllOf(parts=(Compare(column='year', operator='$gte', value='2020'), Exists(column='title')))
    """
    parts = tuple(conditions)
    return parts[0] if len(parts) == 1 else AllOf(parts)


class _Parser:
    """Counts what it has seen, as a condition may have so many parts and values only."""

    def __init__(self) -> None:
        self.parts = self.values = 0

    def object(self, where: Any, depth: int) -> Condition:
        """{column or joint: …, …}"""
        if not isinstance(where, Mapping):
            raise InputError(
                f"a condition is an object of columns, such as {{'year': {{'$gte': 2020}}}}, got {_shown(where)}"
            )
        self.count(depth)
        return all_of([self.entry(key, inner, depth) for key, inner in where.items()])

    def entry(self, key: Any, inner: Any, depth: int) -> Condition:
        self.count(depth)
        if not isinstance(key, str):
            raise InputError(f"a key of a condition must be a string, the name of a column, got {_shown(key)}")
        if key == "$not":
            return Not(self.object(inner, depth + 1))
        if key in ("$and", "$or"):
            if not isinstance(inner, list | tuple) or not inner:
                raise InputError(f"{key} takes a list of one or more objects, got {_shown(inner)}")
            parts = tuple(self.object(part, depth + 1) for part in inner)
            return AllOf(parts) if key == "$and" else AnyOf(parts)
        if key.startswith("$"):
            if key in _OPERATORS:
                raise InputError(f"{key} belongs to a column, as in {{'year': {{'{key}': …}}}}")
            raise _unknown_operator(key, _JOINTS, "or name a column")
        if isinstance(inner, Mapping):
            return self.column(key, inner, depth + 1)
        if _is_many(inner):
            return OneOf(key, self.many(inner, key, "$in"))
        return OneOf(key, (self.value(inner, key, "$eq"),))

    def column(self, name: str, inner: Mapping[Any, Any], depth: int) -> Condition:
        """{operator: value, …} of one column."""
        self.count(depth)
        if not inner:
            raise InputError(f"the condition on {name!r} is empty; give an operator, one of {', '.join(_OPERATORS)}")
        return all_of([self.operator(name, sign, value, depth) for sign, value in inner.items()])

    def operator(self, name: str, sign: Any, value: Any, depth: int) -> Condition:
        self.count(depth)
        if sign not in _OPERATORS:
            if sign in ("$and", "$or"):
                raise InputError(
                    f"{sign} joins whole objects, as in {{'{sign}': [{{{name!r}: …}}, …]}}; it stands outside"
                )
            raise _unknown_operator(sign, _OPERATORS, f"for the column {name!r}")
        if sign == "$exists":
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"$exists takes true or false, got {_shown(value)} for {name!r}")
            return Exists(name) if value else Not(Exists(name))
        if sign == "$not":
            if not isinstance(value, Mapping):
                raise InputError(
                    f"$not takes an object of operators, such as {{'$gt': 5}}, got {_shown(value)} for {name!r}; "
                    "for a single value use $ne"
                )
            return Not(self.column(name, value, depth + 1))
        if sign in ("$in", "$nin"):
            if not _is_many(value):
                raise InputError(
                    f"{sign} takes a list, got {_shown(value)} for {name!r}; for a single value use $eq or $ne"
                )
            among = OneOf(name, self.many(value, name, sign))
            return among if sign == "$in" else Not(among)
        one = self.value(value, name, sign)
        if sign in ("$eq", "$ne"):
            return OneOf(name, (one,)) if sign == "$eq" else Not(OneOf(name, (one,)))
        return Compare(name, sign, one)

    def many(self, values: Any, name: str, sign: str) -> tuple[Value, ...]:
        if self.values + len(values) > _MOST_VALUES:
            raise InputError(f"a condition has at most {_MOST_VALUES:,} values, got more; give a mask or ids instead")
        return tuple(self.value(value, name, sign) for value in values)

    def value(self, value: Any, name: str, sign: str) -> Value:
        self.values += 1
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        elif isinstance(value, np.generic):
            value = value.item()
        where = f"for {name!r}"
        if value is None or (isinstance(value, float) and math.isnan(value)):
            remedy = "ask for missing values with {'$exists': false}"
            raise InputError(f"{sign} takes a value, got {_shown(value)} {where}; {remedy}")
        if _is_many(value):
            remedy = "use $nin" if sign == "$ne" else "use $in, which takes a flat list"
            raise InputError(f"{sign} takes single values, got {_shown(value)} {where}; {remedy}")
        if not isinstance(value, str | bool | int | float | datetime.date | Written):
            kinds = "text, a number, true or false, a date or a time"
            raise InputError(f"{sign} takes {kinds}, got {_shown(value)} {where}")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise InputError(
                f"{sign} takes numbers of up to {_MOST_BITS} bits, got one of {value.bit_length()} {where}"
            )
        if isinstance(value, str):
            _check_text(value, where)
        return value

    def count(self, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise InputError(f"a condition is nested at most {_MOST_DEPTH} deep, got more; make it flatter")
        self.parts += 1
        if self.parts > 2 * _MOST_PARTS:  # an object and each of its entries count
            raise InputError(
                f"a condition has at most {_MOST_PARTS:,} parts, got more; use $in for many values of a column"
            )


class _Line:
    """NAME OP VALUE, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def condition(self) -> Condition:
        _check_text(self.text, "for a condition")
        name = self.token("=!<>?", "a column")
        if not name or name.startswith("$"):
            raise self.error("a column's name must come first")
        sign = next(
            (sign for sign in ("!=", "<=", ">=", "=", "<", ">", "?") if self.text.startswith(sign, self.at)), ""
        )
        self.at += len(sign)
        if sign == "?":
            if self.text[self.at :].strip():
                raise self.error("nothing may follow the question mark")
            return Exists(name)
        if not sign:
            raise self.error("there is no sign")
        values = list(self.values(sign))
        if len(values) > _MOST_VALUES:
            raise InputError(f"a condition has at most {_MOST_VALUES:,} values, got {len(values):,}; give ids instead")
        if sign in ("=", "!="):
            among = OneOf(name, tuple(values))
            return among if sign == "=" else Not(among)
        if len(values) > 1:
            raise self.error(f"{sign} takes one value; quote it if the comma belongs to it")
        return Compare(name, _SIGNS[sign], values[0])

    def values(self, sign: str) -> Iterator[Written]:
        while True:
            start = self.at
            value = self.token(",", "a value")
            bare = self.text[start : self.at].strip()
            if not bare:
                raise self.error(f"a value is missing after {sign} (empty text is '')")
            if bare[0] in "=<>!":
                raise self.error(f"a value begins with {bare[0]}; quote it if that is meant")
            if bare[0] not in "'\"" and _SECOND_COMPARISON.search(bare):
                raise self.error("there are two comparisons, of which each is a condition of its own (quote text),")
            yield Written(value)
            if self.at == len(self.text):
                return
            self.at += 1  # the comma

    def token(self, stops: str, what: str) -> str:
        """A quoted piece, or what there is before one of the stops, without the spaces around it."""
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        quote = self.text[self.at : self.at + 1]
        if quote not in ("'", '"'):
            start = self.at
            while self.at < len(self.text) and self.text[self.at] not in stops:
                self.at += 1
            return self.text[start : self.at].strip()
        pieces = []
        while self.text.startswith(quote, self.at):  # a quote written twice begins another piece
            end = self.text.find(quote, self.at + 1)
            if end < 0:
                raise self.error("a quote is not closed")
            pieces.append(self.text[self.at + 1 : end])
            self.at = end + 1
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        if self.at < len(self.text) and self.text[self.at] not in stops:
            raise self.error(f"something follows the closing quote of {what}")
        return quote.join(pieces)

    def error(self, problem: str) -> InputError:
        return InputError(
            f"{problem} in the condition {_shown(self.text)}; write NAME OP VALUE with = != < <= > >=, such as "
            "year>=2020 or city=Oxford,Paris, or NAME?, or an object in JSON"
        )


def _from_json(text: str) -> Any:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"the key {_shown(key)} occurs twice in one object of the condition; join with $and")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=distinct)
    except InputError:
        raise
    except RecursionError as error:
        raise InputError(f"a condition is nested at most {_MOST_DEPTH} deep, got more; make it flatter") from error
    except ValueError as error:  # also a number of more digits than Python reads
        raise InputError(f"the condition {_shown(text)} begins like JSON but is not: {error}") from error


def _is_many(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _shown(value: Any) -> str:
    """A value in a message: short, on one line, whatever it is."""
    try:
        text = repr(value[:80] if isinstance(value, str | list | tuple) else value)
    except Exception:  # a number of too many digits, or an object that cannot show itself
        return f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}…"


def _check_text(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"text must be Unicode without lone surrogates, got {_shown(text)} {where}") from error


def _unknown_operator(sign: Any, known: tuple[str, ...], remedy: str) -> InputError:
    near = difflib.get_close_matches(sign[:40], known, n=1) if isinstance(sign, str) else []
    meant = f"; did you mean {near[0]}?" if near else ";"
    return InputError(f"unknown operator {_shown(sign)}{meant} use {', '.join(known)} {remedy}")


def unknown_column(name: str, columns: list[str]) -> InputError:
    """There is no such column: the closest names, and all of them where they are few."""
    near = difflib.get_close_matches(name[:255], columns, n=3)
    meant = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    listed = f"the columns are {', '.join(map(repr, columns[:_LISTED]))}{more}" if columns else "there are no columns"
    return InputError(f"there is no column {_shown(name)};{meant} {listed}")


def settled(condition: Condition, schema: Any, names: Mapping[str, str]) -> Condition:
    """The same for an engine: values of the type of their column, bounds of whole numbers whole, columns renamed.

    schema: of Arrow. names: what a column is called there. What does not suit its column is the error of `mask`.
    """
    if isinstance(condition, Not):
        return Not(settled(condition.part, schema, names))
    if isinstance(condition, AllOf | AnyOf):
        return type(condition)(tuple(settled(part, schema, names) for part in condition.parts))
    assert isinstance(condition, Compare | OneOf | Exists)
    if condition.column not in schema.names:
        raise unknown_column(condition.column, schema.names)
    name = names[condition.column]
    if isinstance(condition, Exists):
        return Exists(name)
    kind = schema.field(condition.column).type
    condition.mask(schema.empty_table())  # says what is wrong
    inner = kind.value_type if is_list(kind) or need("pyarrow.types").is_dictionary(kind) else kind
    if isinstance(condition, OneOf):
        fitting = (_settled_value(value, inner) for value in condition.values)
        return OneOf(name, tuple(value for value in fitting if value is not None))
    return _settled_bound(name, condition, inner)


def _settled_value(value: Value, kind: Any) -> Value | None:
    """A value as its column has it; None where the column cannot have it."""
    types = need("pyarrow.types")
    wrong: _Wrong = lambda value, wanted: InputError(f"got {_shown(value)}; give {wanted}")  # noqa: E731
    if types.is_null(kind):
        return None
    if types.is_boolean(kind):
        return _as_bool(value, wrong)
    if types.is_string(kind):
        return _as_text(value, wrong)
    if types.is_floating(kind):
        return _rounded(_as_number(value, wrong), kind)
    if types.is_date32(kind):
        return datetime.date.fromordinal(_as_days(value, wrong) + _EPOCH.toordinal())
    if types.is_timestamp(kind):
        since = _EPOCH + datetime.timedelta(microseconds=_as_microseconds(value, kind.tz, wrong))
        return since if kind.tz is not None else since.replace(tzinfo=None)
    number = _as_number(value, wrong)
    low, high = _range(kind)
    return int(number) if low <= number <= high and number == int(number) else None


def _settled_bound(name: str, condition: Compare, kind: Any) -> Condition:
    types = need("pyarrow.types")
    if types.is_null(kind):
        return AnyOf(())
    if not types.is_integer(kind):
        value = _settled_value(condition.value, kind)
        assert value is not None
        return Compare(name, condition.operator, value)
    bound = _whole_bound(condition.operator, _as_number(condition.value, lambda v, w: InputError(w)), _range(kind))
    if isinstance(bound, bool):
        return Exists(name) if bound else AnyOf(())
    return Compare(name, "$lte" if condition.operator in ("$lt", "$lte") else "$gte", bound)


# Evaluation: every comparison becomes "is in a set" or one comparison with a scalar, and is then made chunk by chunk.

_Test: TypeAlias = Callable[[Any], Any]


def _column(table: Any, name: str) -> Any:
    if name not in table.column_names:
        raise unknown_column(name, table.column_names)
    return table.column(name)


def _by_chunk(column: Any, test: _Test) -> Mask:
    """A test of arrow arrays, over all chunks; missing is false."""
    parts = [_to_mask(test(chunk)) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, dtype=bool), *parts])


def _to_mask(found: Any) -> Mask:
    filled = found.fill_null(False) if found.null_count else found
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=bool)


def _evaluate(table: Any, name: str, sign: str, values: tuple[Value, ...]) -> Mask:
    column, types = _column(table, name), need("pyarrow.types")
    kind = column.type
    if is_list(kind):
        if sign in _ORDERS:
            raise InputError(
                f"{name} is {_type_name(kind)}, and lists have no order, got {sign}; use $eq, $ne, $in, $nin or $exists"
            )
        test = _test(name, kind, kind.value_type, sign, values)
        return np.concatenate([np.zeros(0, dtype=bool), *(_any_element(chunk, test) for chunk in column.chunks)])
    if types.is_dictionary(kind):
        test = _test(name, kind, kind.value_type, sign, values)
        return np.concatenate([np.zeros(0, dtype=bool), *(_by_code(chunk, test) for chunk in column.chunks)])
    return _by_chunk(column, _test(name, kind, kind, sign, values))


def _any_element(chunk: Any, test: _Test) -> Mask:
    found = np.zeros(len(chunk), dtype=bool)
    parents = need("pyarrow.compute").list_parent_indices(chunk).to_numpy(zero_copy_only=False)
    found[parents[_to_mask(test(chunk.flatten()))]] = True
    return found


def _by_code(chunk: Any, test: _Test) -> Mask:
    """Each distinct text is compared once. The last place stands for missing values."""
    hit = np.append(_to_mask(test(chunk.dictionary)), False)
    codes = chunk.indices.fill_null(len(hit) - 1) if chunk.indices.null_count else chunk.indices
    mask: Mask = hit[codes.to_numpy(zero_copy_only=False)]
    return mask


def _test(name: str, shown: Any, kind: Any, sign: str, values: tuple[Value, ...]) -> _Test:
    """The comparison with arrays of one type. shown: the type of the column, for messages."""
    types = need("pyarrow.types")

    def wrong(value: Value, wanted: str) -> InputError:
        return InputError(f"{name} is {_type_name(shown)}, got {_shown(value)}; give {wanted}")

    if types.is_null(kind):  # a column of missing values only
        return lambda array: need().array(np.zeros(len(array), dtype=bool))
    if types.is_boolean(kind):
        truths = [_as_bool(value, wrong) for value in values]
        if sign in _ORDERS:
            raise InputError(f"{name} is {_type_name(shown)}, which has no order, got {sign}; use $eq or $ne")
        return _among(truths, kind)
    if types.is_string(kind):
        texts = [_as_text(value, wrong) for value in values]
        return _among(texts, kind) if sign == "$in" else _against(sign, texts[0], kind)
    if types.is_floating(kind):
        floats = [_rounded(_as_number(value, wrong), kind) for value in values]
        if sign == "$in":
            zeros = [0.0, -0.0] if 0.0 in floats else []  # a set tells them apart
            return _among(floats + zeros, kind)
        return _against(sign, floats[0], kind)
    if types.is_integer(kind):
        return _whole_test(sign, [_as_number(value, wrong) for value in values], kind)
    if not (types.is_date32(kind) or types.is_timestamp(kind)):
        raise InputError(f"{name} is {_type_name(shown)}, which cannot be compared; give the table to as_table first")
    arrow = need()
    stored = arrow.int32() if types.is_date(kind) else arrow.int64()
    if types.is_date(kind):
        counts = [_as_days(value, wrong) for value in values]
    else:
        counts = [_as_microseconds(value, kind.tz, wrong) for value in values]
    test = _whole_test(sign, counts, stored)
    return lambda array: test(array.view(stored))


def _among(values: list[Any], kind: Any) -> _Test:
    compute, wanted = need("pyarrow.compute"), need().array(values, type=kind)
    return lambda array: compute.is_in(array, value_set=wanted, skip_nulls=True)


def _against(sign: str, value: Any, kind: Any) -> _Test:
    compute, bound = need("pyarrow.compute"), need().scalar(value, type=kind)
    names = {"$lt": "less", "$lte": "less_equal", "$gt": "greater", "$gte": "greater_equal"}
    function = getattr(compute, names[sign])
    return lambda array: function(array, bound)


def _range(kind: Any) -> tuple[int, int]:
    """The least and the most that whole numbers of a type can be."""
    bits = kind.bit_width
    signed = need("pyarrow.types").is_signed_integer(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def _whole_bound(sign: str, value: int | float, within: tuple[int, int]) -> int | bool:
    """The bound of whole numbers, included, that changes nothing; whether all meet it, where it is out of range."""
    low, high = within
    if isinstance(value, float) and math.isinf(value):
        bound = high + 1 if value > 0 else low - 1
    else:  # x < 2020.5 is x <= 2020, x > 2020.5 is x >= 2021
        bound = {
            "$lt": lambda: math.ceil(value) - 1,
            "$lte": lambda: math.floor(value),
            "$gt": lambda: math.floor(value) + 1,
            "$gte": lambda: math.ceil(value),
        }[sign]()
    if low <= bound <= high:
        return bound
    return (bound > high) == (sign in ("$lt", "$lte"))


def _whole_test(sign: str, values: Sequence[int | float], kind: Any) -> _Test:
    """Whole numbers against any numbers, exactly: the bound is rounded to the side that changes nothing."""
    low, high = _range(kind)
    if sign == "$in":
        return _among([int(v) for v in values if low <= v <= high and v == int(v)], kind)
    bound = _whole_bound(sign, values[0], (low, high))
    if not isinstance(bound, bool):
        return _against("$lte" if sign in ("$lt", "$lte") else "$gte", bound, kind)
    if bound:
        return lambda array: array.is_valid()
    return lambda array: need().array(np.zeros(len(array), dtype=bool))


_Wrong: TypeAlias = Callable[[Value, str], InputError]


def _as_bool(value: Value, wrong: _Wrong) -> bool:
    if isinstance(value, Written) and value.text.lower() in ("true", "false"):
        return value.text.lower() == "true"
    if not isinstance(value, bool):
        raise wrong(value, "true or false")
    return value


def _as_text(value: Value, wrong: _Wrong) -> str:
    if isinstance(value, Written):
        return value.text
    if not isinstance(value, str):
        raise wrong(value, "text")
    return value


def _as_number(value: Value, wrong: _Wrong) -> int | float:
    if isinstance(value, Written):
        if _WHOLE.fullmatch(value.text):
            return int(value.text)
        if _NUMBER.fullmatch(value.text):
            return float(value.text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(value, "a number")
    return value


def _rounded(value: int | float, kind: Any) -> float:
    """To the precision of a column of floats."""
    try:
        double = float(value)
    except OverflowError:
        double = math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return double if kind.bit_width == 64 else float(np.float32(double))


def _as_days(value: Value, wrong: _Wrong) -> int:
    text = value.text if isinstance(value, Written) else value
    if isinstance(text, str):
        try:
            text = datetime.date.fromisoformat(text)
        except ValueError:
            raise wrong(value, "a date such as 2024-05-17") from None
    if isinstance(text, datetime.datetime) or not isinstance(text, datetime.date):
        raise wrong(value, "a date such as 2024-05-17")
    return text.toordinal() - _EPOCH.toordinal()


def _as_microseconds(value: Value, zone: str | None, wrong: _Wrong) -> int:
    given = value.text if isinstance(value, Written) else value
    if isinstance(given, str):
        try:
            if _TOO_FINE.search(given):  # Python would drop the rest
                raise wrong(value, "at most six digits after the second")
            given = datetime.datetime.fromisoformat(given)
        except InputError:
            raise
        except ValueError:
            raise wrong(value, "a date or time such as 2024-05-17 or 2024-05-17T12:30:00") from None
    if isinstance(given, datetime.date) and not isinstance(given, datetime.datetime):
        given = datetime.datetime(given.year, given.month, given.day)
    if not isinstance(given, datetime.datetime):
        raise wrong(value, "a date or time such as 2024-05-17 or 2024-05-17T12:30:00")
    offset = given.utcoffset()
    if offset is not None and zone is None:
        raise wrong(value, "a time without a zone, as the column has none")
    since = given.replace(tzinfo=datetime.UTC) - _EPOCH
    return (since - (offset or datetime.timedelta(0))) // datetime.timedelta(microseconds=1)


def _type_name(kind: Any) -> str:
    """As arrow says it, but for dictionaries and lists."""
    types = need("pyarrow.types")
    if types.is_dictionary(kind):
        return str(kind.value_type)
    return f"list of {kind.value_type}" if is_list(kind) else str(kind)
