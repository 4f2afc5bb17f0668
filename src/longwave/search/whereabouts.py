"""Paths among what is kept with an index: where they were moved together with it, they are found again.

A fact is a path if `about["paths"]` names it: "pictures.folder" is about["pictures"]["folder"]. The manifest has such a
path as it was, and as seen from the index folder.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def seen_from(home: str | Path, about: Mapping[str, Any]) -> dict[str, str]:
    """The way from an index folder to every path of `about`; none to what shares only the root with it."""
    here, ways = os.path.normpath(Path(home).absolute()), {}
    named = about.get("paths")
    for name in named if isinstance(named, list) else []:
        path = _holder(about, name).get(_last(name)) if isinstance(name, str) else None
        if isinstance(path, str) and Path(path).is_absolute():
            with suppress(ValueError):  # another drive
                shared = Path(os.path.commonpath([here, path]))
                if shared != shared.parent:
                    ways[name] = os.path.relpath(path, here)
    return ways


def found_again(home: str | Path, about: Mapping[str, Any], ways: Any) -> dict[str, Any]:
    """What was kept, with paths as they are seen from where the index folder is now, if there is something.

    ways: what `seen_from` gave when the folder was written. ValueError where they are something else.
    """
    if not isinstance(ways, Mapping) or not all(isinstance(way, str) for way in ways.values()):
        raise ValueError(f"beside must name paths, got {ways!r}")
    known = copy.deepcopy(dict(about))
    for name, way in ways.items():
        holder = _holder(known, name)
        for here in (Path(home).absolute(), Path(os.path.realpath(home))):
            path = Path(os.path.normpath(here / way))
            if _last(name) in holder and path.exists():
                holder[_last(name)] = str(path)
                break
    return known


def _holder(about: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object that has the fact of this name; an empty one where there is none."""
    found: Any = about
    for part in name.split(".")[:-1]:
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if isinstance(found, dict) else {}


def _last(name: str) -> str:
    return name.rpartition(".")[2]
