"""`RemoteCollection`: a collection on a server."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from longwave.client.wire import options_told, rows_told
from longwave.errors import RemoteError
from longwave.search.explanation import Explanation
from longwave.search.options import SearchOptions, check_names
from longwave.types import Array, Filter, Hits

if TYPE_CHECKING:
    from longwave.client.client import Client


class RemoteCollection:
    """A collection on a server, with the methods of `Collection` and the same `Hits`.

    Dates among `hits.columns` are text. Filters, blends and solvers are those that have a name.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name
        self._at = f"/v1/collections/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"<RemoteCollection {self.name} of {self._client!r}>"

    def __len__(self) -> int:
        return int(self.about()["items"])

    @property
    def version(self) -> int:
        """The version that the server has now."""
        return int(self.about()["version"])

    def about(self) -> dict[str, Any]:
        """All that the server says of the collection: items, dimension, columns, settings, and more."""
        found: dict[str, Any] = self._client.ask("GET", self._at)
        return found

    def search(self, queries: ArrayLike | None = None, k: int | str = 10, **options: Unpack[SearchOptions]) -> Hits:
        """Rank the items along the manifold. As `Index.search`; filter and solver also as text, where as a line."""
        check_names(options, "RemoteCollection.search")
        asked = {} if queries is None else rows_told(queries)
        return self._hits("search", {**asked, "k": k, **options_told(options)})

    def similar(
        self, ids: ArrayLike, k: int | str = 10, *, include_self: bool = False, **options: Unpack[SearchOptions]
    ) -> Hits:
        """More like these items. As `Index.search_by_id`."""
        check_names(options, "RemoteCollection.similar")
        given = np.atleast_1d(np.asarray(ids)).tolist()
        return self._hits("similar", {"ids": given, "k": k, "include_self": include_self, **options_told(options)})

    def explain(
        self,
        query: ArrayLike,
        item: Any,
        *,
        filter: Filter | str | None = None,
        neighbors: int | None = None,
        weights: ArrayLike | None = None,
    ) -> Explanation:
        """Why this item was found. As `Index.explain`."""
        rows = np.atleast_2d(np.asarray(query, dtype=np.float64)).tolist()
        told = {"vectors": rows, "weights": None if weights is None else np.asarray(weights).tolist()}
        known = options_told({"filter": filter, "neighbors": neighbors})
        found = self._client.ask(
            "POST",
            f"{self._at}/explain",
            {"query": told, "id": item.item() if isinstance(item, np.generic) else item, **known},
        )
        parts = found["neighbors"]
        return Explanation(
            found["score"],
            found["manifold"],
            found["similarity"],
            np.array([part["id"] for part in parts]),
            np.array([part["weight"] for part in parts], dtype=np.float32),
            np.array([part["contribution"] for part in parts], dtype=np.float32),
            found["path"],
        )

    def add(
        self,
        vectors: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Array:
        """Add items; they are found when this returns. Returns their ids. metadata: a dict for each item."""
        return np.array(self._change("POST", vectors, ids, groups, metadata)["ids"])

    def replace(
        self,
        vectors: ArrayLike,
        *,
        ids: ArrayLike,
        groups: ArrayLike | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Exchange the vectors of items that are there, and their metadata where some is given."""
        self._change("PUT", vectors, ids, groups, metadata)

    def remove(self, ids: ArrayLike) -> None:
        """Take items out, by id."""
        self._client.ask("DELETE", f"{self._at}/items", {"ids": np.atleast_1d(np.asarray(ids)).tolist()})

    def refresh(self, *, wait: bool = True) -> None:
        """A new graph and basis of all that is there. wait: until it is made; it takes as long as a build."""
        state = self._client.ask("POST", f"{self._at}/refresh")
        while wait and state["state"] == "running":
            time.sleep(0.2)
            state = self._client.ask("GET", f"{self._at}/refresh")
        if state["state"] == "failed":
            raise RemoteError(f"the refresh failed: {state['detail']}")

    def _change(self, method: str, vectors: ArrayLike, ids: Any, groups: Any, metadata: Any) -> Any:
        listed = {name: np.asarray(own).tolist() for name, own in (("ids", ids), ("groups", groups)) if own is not None}
        rows = np.atleast_2d(np.asarray(vectors, dtype=np.float64)).tolist()
        told = {} if metadata is None else {"metadata": list(metadata)}
        return self._client.ask(method, f"{self._at}/items", {"vectors": rows, **listed, **told})

    def _hits(self, what: str, body: dict[str, Any]) -> Hits:
        found = self._client.ask("POST", f"{self._at}/{what}", body)
        rows, times = found["hits"], found["milliseconds"]

        def column(name: str, kind: type) -> Any:
            return None if rows[0][name] is None else np.array([row[name] for row in rows], dtype=kind)

        known = rows[0]["columns"]
        return Hits(
            np.array([row["ids"] for row in rows]),
            np.array([row["scores"] for row in rows], dtype=np.float32),
            errors=column("error", np.float64),
            steps=column("steps", np.int64),
            queries=None if found["queries"] is None else np.array(found["queries"]),
            confidence=column("confidence", np.float32),
            route=found["route"],
            columns=None if known is None else {name: [row["columns"][name] for row in rows] for name in known},
            counts=column("count", np.int64),
            folded=None if rows[0]["folded"] is None else [row["folded"] for row in rows],
            seconds=(times["first"] / 1000, times["second"] / 1000) if times["second"] else None,
        )
