"""Files as people name them: by the whole path, without its suffix, or without its folders."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from longwave.errors import InputError


class Names:
    """Known paths, found also without their suffix or their folders where only one of them can be meant.

    >>> Names(["sea/beach.jpg", "sea/cliff.jpg"]).find("beach")
    'sea/beach.jpg'
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = set(paths)

    @cached_property
    def forms(self) -> dict[str, set[str]]:
        """The paths that each shorter name may mean."""
        forms: dict[str, set[str]] = {}
        for path in self.paths:
            plain = Path(path)
            for form in (str(plain.with_suffix("")), plain.name, plain.stem) if plain.name else ():
                forms.setdefault(form, set()).add(path)
        return forms

    def find(self, name: str) -> str | None:
        """The path that is meant; None where there is none, an error where there are several."""
        if name in self.paths:
            return name
        found = self.forms.get(name, set())
        if len(found) > 1:
            first, second, *_ = sorted(found)
            raise InputError(f"'{name}' may be {first!r} or {second!r}; write more of its path")
        return next(iter(found), None)
