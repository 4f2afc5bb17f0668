"""Conditions read from objects: a dict, or JSON, of columns and operators (`conditions` has the language)."""

from __future__ import annotations

import datetime
import difflib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.metadata.conditions import AllOf, AnyOf, Compare, Condition, Exists, Not, OneOf, all_of
from longwave.metadata.messages import shown
from longwave.metadata.values import ORDERS, Value, Written

# Bounds on what strangers send. People write three levels and ten parts; lists of ids can be long.
MOST_VALUES = 100_000
_MOST_DEPTH, _MOST_PARTS = 32, 1000
_MOST_BITS = 1024  # of a whole number: as far as floats go
_OPERATORS = ("$eq", "$ne", *ORDERS, "$in", "$nin", "$exists", "$not")
_JOINTS = ("$and", "$or", "$not")


def parse(where: Mapping[str, Any] | Condition) -> Condition:
    """A condition from an object of columns and operators (see `conditions`); InputError says what is wrong with it.

    >>> parse({"year": {"$gte": 2020}})
    Compare(column='year', operator='$gte', value=2020)
    >>> parse({"city": ["Oxford", "Paris"]})
    OneOf(column='city', values=('Oxford', 'Paris'))
    """
    return where if isinstance(where, Condition) else _Parser().object(where, 1)


def parse_json(text: str) -> Condition:
    """A condition from an object in JSON; a key that occurs twice is an error."""

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"the key {shown(key)} occurs twice in one object of the condition; join with $and")
            found[key] = value
        return found

    try:
        found = json.loads(text, object_pairs_hook=distinct)
    except InputError:
        raise
    except RecursionError as error:
        raise InputError(f"a condition is nested at most {_MOST_DEPTH} deep, got more; make it flatter") from error
    except ValueError as error:  # also a number of more digits than Python reads
        raise InputError(f"the condition {shown(text)} begins like JSON but is not: {error}") from error
    return parse(found)


class _Parser:
    """Reads an object, and counts its parts and values, as a condition may only have so many."""

    def __init__(self) -> None:
        self.parts = self.values = 0

    def object(self, where: Any, depth: int) -> Condition:
        """{column or joint: …, …}"""
        if not isinstance(where, Mapping):
            raise InputError(
                f"a condition is an object of columns, such as {{'year': {{'$gte': 2020}}}}, got {shown(where)}"
            )
        self.count(depth)
        return all_of([self.entry(key, inner, depth) for key, inner in where.items()])

    def entry(self, key: Any, inner: Any, depth: int) -> Condition:
        self.count(depth)
        if not isinstance(key, str):
            raise InputError(f"a key of a condition must be a string, the name of a column, got {shown(key)}")
        if key == "$not":
            return Not(self.object(inner, depth + 1))
        if key in ("$and", "$or"):
            if not isinstance(inner, list | tuple) or not inner:
                raise InputError(f"{key} takes a list of one or more objects, got {shown(inner)}")
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
                raise InputError(f"$exists takes true or false, got {shown(value)} for {name!r}")
            return Exists(name) if value else Not(Exists(name))
        if sign == "$not":
            if not isinstance(value, Mapping):
                raise InputError(
                    f"$not takes an object of operators, such as {{'$gt': 5}}, got {shown(value)} for {name!r}; "
                    "for a single value use $ne"
                )
            return Not(self.column(name, value, depth + 1))
        if sign in ("$in", "$nin"):
            if not _is_many(value):
                raise InputError(
                    f"{sign} takes a list, got {shown(value)} for {name!r}; for a single value use $eq or $ne"
                )
            among = OneOf(name, self.many(value, name, sign))
            return among if sign == "$in" else Not(among)
        one = self.value(value, name, sign)
        if sign in ("$eq", "$ne"):
            return OneOf(name, (one,)) if sign == "$eq" else Not(OneOf(name, (one,)))
        return Compare(name, sign, one)

    def many(self, values: Any, name: str, sign: str) -> tuple[Value, ...]:
        if self.values + len(values) > MOST_VALUES:
            raise InputError(f"a condition has at most {MOST_VALUES:,} values, got more; give a mask or ids instead")
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
            raise InputError(f"{sign} takes a value, got {shown(value)} {where}; {remedy}")
        if _is_many(value):
            remedy = "use $nin" if sign == "$ne" else "use $in, which takes a flat list"
            raise InputError(f"{sign} takes single values, got {shown(value)} {where}; {remedy}")
        if not isinstance(value, str | bool | int | float | datetime.date | Written):
            kinds = "text, a number, true or false, a date or a time"
            raise InputError(f"{sign} takes {kinds}, got {shown(value)} {where}")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise InputError(
                f"{sign} takes numbers of up to {_MOST_BITS} bits, got one of {value.bit_length()} {where}"
            )
        if isinstance(value, str):
            check_text(value, where)
        return value

    def count(self, depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise InputError(f"a condition is nested at most {_MOST_DEPTH} deep, got more; make it flatter")
        self.parts += 1
        if self.parts > 2 * _MOST_PARTS:  # an object and each of its entries count
            raise InputError(
                f"a condition has at most {_MOST_PARTS:,} parts, got more; use $in for many values of a column"
            )


def _is_many(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim > 0)


def check_text(text: str, where: str) -> None:
    """InputError for text that UTF-8 cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"text must be Unicode without lone surrogates, got {shown(text)} {where}") from error


def _unknown_operator(sign: Any, known: tuple[str, ...], remedy: str) -> InputError:
    near = difflib.get_close_matches(sign[:40], known, n=1) if isinstance(sign, str) else []
    meant = f"; did you mean {near[0]}?" if near else ";"
    return InputError(f"unknown operator {shown(sign)}{meant} use {', '.join(known)} {remedy}")
