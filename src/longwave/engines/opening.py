"""Opens the engine that an address such as postgresql://… or duckdb:PATH names."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from longwave.engines.engine import Engine
from longwave.errors import InputError, MissingExtraError

#: What a collection is called in an engine where nothing is said.
NAME = "longwave"
# Kind to module and class.
_KINDS = {
    "postgresql": ("postgres", "Postgres"),
    "postgres": ("postgres", "Postgres"),
    "qdrant": ("qdrant", "Qdrant"),
    "qdrant+https": ("qdrant", "Qdrant"),
    "qdrant-edge": ("qdrant", "Qdrant"),
    "lance": ("lance", "Lance"),
    "duckdb": ("duck", "Duck"),
    "faiss": ("faiss_files", "FaissFiles"),
}
FORMS = "postgresql://USER@HOST/DATABASE, qdrant://HOST:6333, qdrant-edge:PATH, lance:PATH, duckdb:PATH, faiss:PATH"


def is_address(text: str) -> bool:
    """Whether a text is the address of an engine rather than a path."""
    return text.partition(":")[0] in _KINDS and ":" in text


def open_engine(url: str, name: str = NAME, *, exact: bool = False, write: bool = False) -> Engine:
    """The engine at an address. exact: search without the engine's index of vectors. write: rows will be written."""
    kind, colon, rest = url.partition(":")
    if not colon or kind not in _KINDS or not rest.strip("/"):
        raise InputError(f"an engine's address must be one of {FORMS}, got '{shown_address(url)}'")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise InputError(
            f"a collection's name in an engine must be letters, digits and _, 41 at most, a letter first, got {name!r}"
        )
    module, maker = _KINDS[kind]
    engine: Engine = getattr(import_module(f"longwave.engines.{module}"), maker)(url, name, exact=exact, write=write)
    return engine


def shown_address(url: str) -> str:
    """An address without its password."""
    return re.sub(r"(://[^/@:]*):[^@/]*@", r"\1@", url)


def need(module: str, what: str, extra: str) -> Any:
    """A module of an extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error
