"""Conditions read from a line of text, as people type them on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from longwave.errors import InputError
from longwave.metadata.conditions import Compare, Condition, Exists, Not, OneOf
from longwave.metadata.messages import shown
from longwave.metadata.objects import MOST_VALUES, check_text, parse_json
from longwave.metadata.values import SIGNS, Written

_MOST_TEXT = 1 << 22
_SECOND_COMPARISON = re.compile(r"\s(and|or|AND|OR|&&|\|\|)\s+[^=!<>]*[=!<>]")


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
    >>> parse_text('{"year": {"$lt": 1990}}')
    Compare(column='year', operator='$lt', value=1990)
    """
    if not isinstance(text, str):
        raise InputError(f"a condition in text must be a string, got {shown(text)}; objects go through parse")
    if len(text) > _MOST_TEXT:
        raise InputError(f"a condition has at most {_MOST_TEXT:,} characters, got {len(text):,}; make it shorter")
    if text.lstrip().startswith("{"):
        return parse_json(text)
    return _Line(text).condition()


class _Line:
    """NAME OP VALUE, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def condition(self) -> Condition:
        check_text(self.text, "for a condition")
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
        if len(values) > MOST_VALUES:
            raise InputError(f"a condition has at most {MOST_VALUES:,} values, got {len(values):,}; give ids instead")
        if sign in ("=", "!="):
            among = OneOf(name, tuple(values))
            return among if sign == "=" else Not(among)
        if len(values) > 1:
            raise self.error(f"{sign} takes one value; quote it if the comma belongs to it")
        return Compare(name, SIGNS[sign], values[0])

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
            f"{problem} in the condition {shown(self.text)}; write NAME OP VALUE with = != < <= > >=, such as "
            "year>=2020 or city=Oxford,Paris, or NAME?, or an object in JSON"
        )
