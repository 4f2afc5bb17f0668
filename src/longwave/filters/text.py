"""A filter as text, ``lowpass:0.99``, and back: what the command line reads and an index keeps."""

from __future__ import annotations

from longwave import registry
from longwave.errors import InputError
from longwave.types import Filter


def parse(text: str) -> Filter:
    """Read a filter from text.

    >>> parse("lowpass:0.9")
    LowPass(alpha=0.9)
    """
    found: Filter = registry.parse("filter", text)
    return found


def text_of(filter: Filter) -> str:
    """A filter as text that `parse` reads; an error for a function that has no name.

    >>> text_of(parse("walk:0.9,5"))
    'walk:0.9,5'
    """
    text = registry.text_of("filter", filter)
    if text is None:
        *first, last = (registry.find("filter", name).__name__ for name in registry.names("filter"))
        raise InputError(
            f"an index keeps {', '.join(first)} or {last} as its own filter, not {filter!r}; give that to search, or "
            "register it"
        )
    return text
