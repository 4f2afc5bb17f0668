"""MCP: a collection as tools of an assistant, over stdio (extra `mcp`). `longwave mcp COLLECTION` runs it.

Tools: search, similar, explain, info, and add where the collection may be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from longwave import filters
from longwave.collection import Collection
from longwave.collection import open as open_collection
from longwave.errors import InputError, LongwaveError, MissingExtraError
from longwave.index import Index
from longwave.inspection import describe, describe_collection
from longwave.texts import Library, is_of_texts, passages_of
from longwave.types import Array

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError as error:
    raise MissingExtraError("longwave mcp", "mcp") from error

# What the tools take and return, as the assistant is told.
Text: TypeAlias = str | None
Vector: TypeAlias = list[float] | None
Facts: TypeAlias = dict[str, Any] | None
Hits: TypeAlias = list[dict[str, Any]]
_ABOUT = (
    "A collection that is searched along the manifold of its neighbours: hits are what is connected to the query "
    "through a chain of similar items, best first. Scores have no fixed scale; compare them within one answer. "
    "where is a condition on the metadata such as {'year': {'$gte': 2020}}; info lists the columns."
)


class Tools:
    """What an assistant can ask of a collection. Each public method is a tool; its docstring is what is told of it."""

    def __init__(self, collection: Collection, encoder: str | None = None) -> None:
        self._collection = collection
        self._library = Library(collection, encoder=encoder) if is_of_texts(collection.index.about) else None

    def search(self, text: Text = None, vector: Vector = None, k: int = 10, where: Facts = None) -> Hits:
        """Find items. Give text where the collection is of texts, else a vector. Returns rank, id, score, columns."""
        return self._index.search(self._query(text, vector), k, where=where, columns=self._columns()).records()[0]

    def similar(self, id: str, k: int = 10, where: Facts = None) -> Hits:
        """Find more like an item, by its id."""
        return self._index.search_by_id([self._item(id)], k, where=where, columns=self._columns()).records()[0]

    def explain(self, id: str, text: Text = None, vector: Vector = None) -> str:
        """Say why an item was found by a query: from which neighbours of the query, and by which way."""
        return str(self._index.explain(self._query(text, vector)[0], self._item(id)))

    def info(self) -> dict[str, str]:
        """Say what the collection holds: items, metadata columns, graph, how it was built."""
        index = self._index
        return {**describe_collection(self._collection), **describe(index, filters.parse(index.settings.search.filter))}

    def add(self, id: str, text: Text = None, vector: Vector = None, metadata: Facts = None) -> str:
        """Add an item: a text, where the collection is of texts, else a vector. A text of a known id is replaced."""
        if self._library is not None and text is not None:
            self._library.add(passages_of(id, text, metadata or {}, words=self._library.recipe.words))
        else:
            rows = None if metadata is None else [metadata]
            self._collection.add(self._query(text, vector), ids=[self._item(id)], metadata=rows)
        return f"{id} is there; the collection has {len(self._collection):,} items"

    @property
    def _index(self) -> Index:
        """The newest state, also where another process has written it."""
        self._collection.reload()
        return self._collection.index

    def _query(self, text: Text, vector: Vector) -> Array:
        """(1, d)"""
        if (text is None) == (vector is None):
            raise InputError("give either a text or a vector")
        if vector is not None:
            return np.array([vector], dtype=np.float32)
        if self._library is None:
            raise InputError("this collection was not built from texts: give a vector, or ask for items like one")
        return self._library.query(str(text))

    def _item(self, id: str) -> Any:
        """An id of the kind that the collection has."""
        numbers = self._collection.index.ids.dtype.kind != "U"
        return int(id) if numbers and id.removeprefix("-").isdecimal() else id

    def _columns(self) -> list[str] | None:
        known = self._collection.index.metadata
        return None if known is None else list(known.schema.names)


def server(path: str | Path, *, writable: bool = False, encoder: str | None = None) -> MCPServer:
    """The server of a collection; `.run("stdio")` serves until its input ends. encoder: where that is now."""
    tools = Tools(open_collection(path), encoder)
    made = MCPServer("longwave", instructions=_ABOUT, log_level="WARNING")
    for tool in (tools.search, tools.similar, tools.explain, tools.info, *((tools.add,) if writable else ())):
        made.add_tool(_heard(tool))
    return made


def _heard(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool that tells the assistant of errors that Longwave raises on purpose, and hides all others."""

    @wraps(tool)
    def run(**given: Any) -> Any:
        try:
            return tool(**given)
        except LongwaveError as error:
            raise ToolError(str(error)) from error

    return run
