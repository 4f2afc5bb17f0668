"""Errors of the engines' own libraries, as errors of Longwave's that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longwave.errors import LongwaveError, RemoteError

#: The remedy where what is in an engine is not what was written.
AGAIN = "export again, with anew=True (--anew)"


class Harmed(RemoteError):
    """What is there is not what an export has written, or cannot be read; an export writes it anew."""


@contextmanager
def foreign_errors(place: str, known: Callable[[str, str], str | None] = lambda kind, text: None) -> Iterator[None]:
    """Turn whatever a library raises into a RemoteError: each of them has errors of many kinds.

    known: from the kind of an error and its text to the whole message, or None where it is none of the usual ones.
    Only calls of the library belong inside: an error of ours is not the engine's.
    """
    try:
        yield
    except LongwaveError:
        raise
    except Exception as error:
        text = line_of(error)
        told = known(type(error).__name__, text)
        if told is not None:
            raise RemoteError(told) from error
        raise Harmed(f"{place} refuses: {text}; if somebody has changed it or it is damaged, {AGAIN}") from error


def line_of(error: Exception) -> str:
    """What went wrong, in one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
