"""A value of a condition, as the type of the column that it is compared with."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from longwave.errors import InputError
from longwave.metadata.arrow import need

#: Operators that need an order, by their signs.
SIGNS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
ORDERS = tuple(SIGNS.values())
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf")
_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_TOO_FINE = re.compile(r"[.,][0-9]{7}")


@dataclass(frozen=True)
class Written:
    """A value of the command line: what it means is for its column to say. 007 is text in a column of text."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)


Value: TypeAlias = str | bool | int | float | datetime.date | Written  # a datetime is a date
#: Makes the error for a value that does not suit its column, from the value and what is wanted.
Wrong: TypeAlias = Callable[[Value, str], InputError]


def as_bool(value: Value, wrong: Wrong) -> bool:
    """True or False."""
    if isinstance(value, Written) and value.text.lower() in ("true", "false"):
        return value.text.lower() == "true"
    if not isinstance(value, bool):
        raise wrong(value, "true or false")
    return value


def as_text(value: Value, wrong: Wrong) -> str:
    """The text itself, also where it looks like a number."""
    if isinstance(value, Written):
        return value.text
    if not isinstance(value, str):
        raise wrong(value, "text")
    return value


def as_number(value: Value, wrong: Wrong) -> int | float:
    """A whole number or a float; True is neither."""
    if isinstance(value, Written):
        if _WHOLE.fullmatch(value.text):
            return int(value.text)
        if _NUMBER.fullmatch(value.text):
            return float(value.text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(value, "a number")
    return value


def rounded(value: int | float, kind: Any) -> float:
    """To the precision of a column of floats."""
    try:
        double = float(value)
    except OverflowError:
        double = math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return double if kind.bit_width == 64 else float(np.float32(double))


def as_days(value: Value, wrong: Wrong) -> int:
    """A date as days since 1970."""
    text = value.text if isinstance(value, Written) else value
    if isinstance(text, str):
        try:
            text = datetime.date.fromisoformat(text)
        except ValueError:
            raise wrong(value, "a date such as 2024-05-17") from None
    if isinstance(text, datetime.datetime) or not isinstance(text, datetime.date):
        raise wrong(value, "a date such as 2024-05-17")
    return text.toordinal() - EPOCH.toordinal()


def as_microseconds(value: Value, zone: str | None, wrong: Wrong) -> int:
    """A date or time as microseconds since 1970. zone: that of the column, where it has one."""
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
    since = given.replace(tzinfo=datetime.UTC) - EPOCH
    return (since - (offset or datetime.timedelta(0))) // datetime.timedelta(microseconds=1)


def whole_range(kind: Any) -> tuple[int, int]:
    """The least and the most that whole numbers of a type can be."""
    bits = kind.bit_width
    signed = need("pyarrow.types").is_signed_integer(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def whole_bound(sign: str, value: int | float, within: tuple[int, int]) -> int | bool:
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
