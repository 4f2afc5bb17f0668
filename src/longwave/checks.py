"""Checks of parameters at the public edge."""

from __future__ import annotations

from numbers import Integral

from longwave.errors import InputError


def check_counts(**counts: int) -> None:
    """Whole numbers of at least 1, by name."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")


def check_value(value: object, name: str, expected: str) -> None:
    """A filter, solver or method is a value that can be called, not its name and not its class."""
    if isinstance(value, type) or not callable(value):
        raise InputError(f"{name} must be {expected}, got {value!r}")


def number_text(value: float) -> str:
    """A number as short as it can be read back: 3, 0.97.

    >>> number_text(3.0), number_text(0.97)
    ('3', '0.97')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))
