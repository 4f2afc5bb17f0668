"""How errors about metadata name values, types and columns."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from longwave.errors import InputError
from longwave.metadata.arrow import is_list, need

#: How many columns or values are named in a message.
LISTED = 12


def shown(value: Any) -> str:
    """A value in a message: short, on one line, whatever it is."""
    try:
        text = repr(value[:80] if isinstance(value, str | list | tuple) else value)
    except Exception:  # a number of too many digits, or an object that cannot show itself
        return f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}…"


def type_name(kind: Any) -> str:
    """As arrow says it, but for dictionaries and lists."""
    types = need("pyarrow.types")
    if types.is_dictionary(kind):
        return str(kind.value_type)
    return f"list of {kind.value_type}" if is_list(kind) else str(kind)


def unknown_column(name: str, columns: Sequence[str]) -> InputError:
    """There is no such column: the closest names, and all of them where they are few."""
    near = difflib.get_close_matches(name[:255], columns, n=3)
    meant = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    more = f" and {len(columns) - LISTED} more" if len(columns) > LISTED else ""
    listed = f"the columns are {', '.join(map(repr, columns[:LISTED]))}{more}" if columns else "there are no columns"
    return InputError(f"there is no column {shown(name)};{meant} {listed}")


def check_columns(columns: Sequence[str], known: Sequence[str]) -> None:
    """InputError unless all of these are columns that exist."""
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise InputError(f"columns must be a list of names, got {columns!r}")
    for name in columns:
        if name not in known:
            raise unknown_column(name, known)


def one_line(error: BaseException) -> str:
    """What another library says, short enough for a message."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:199]}…"
