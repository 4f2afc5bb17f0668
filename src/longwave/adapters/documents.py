"""`Documents`: texts with any metadata on a living collection that may begin empty. What the adapters stand on."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longwave.adapters.document import Found, from_row, to_row
from longwave.collection import Collection, create
from longwave.collection import open as open_collection
from longwave.errors import DataWarning
from longwave.metadata import parse, select
from longwave.search.euclidean import Euclidean
from longwave.storage import is_index

# Fewer vectors make no graph worth following: a search ranks them by similarity alone.
_FEW = 100
# Up to so many, a graph that has become stale is made anew without asking.
_QUICK = 10_000


class Documents:
    """path: a folder, made with the first documents, or that of any collection. None: a temporary folder.

    The text of a document is the column `text`, other columns are its metadata. Below 100 documents searches are
    Euclidean. Up to 10,000 the graph is made anew when too many documents are outside of it; beyond, a warning says
    when `collection.refresh()` is worth its time. options: of `Index.build`.
    """

    def __init__(self, path: str | Path | None = None, **options: Any) -> None:
        if path is None:
            path = tempfile.mkdtemp(prefix="longwave-") + "/documents"
            weakref.finalize(self, shutil.rmtree, Path(path).parent, ignore_errors=True)
        self.path = Path(path)
        self._options = {"progress": False, **options}
        #: None as long as there are no documents.
        self.collection: Collection | None = open_collection(self.path) if is_index(self.path) else None

    def __len__(self) -> int:
        return 0 if self.collection is None else len(self.collection)

    def put(self, ids: Sequence[str], texts: Sequence[str], vectors: ArrayLike, metadata: Sequence[Any]) -> None:
        """Add documents, or put them in the place of those with the same id; all of them or none."""
        if not len(ids):
            return
        rows = [to_row(text, about) for text, about in zip(texts, metadata, strict=True)]
        given = np.asarray(vectors, dtype=np.float32)
        if self.collection is None:
            self.collection = create(self.path, given, ids=list(ids), metadata=rows, **self._options)
            return
        with warnings.catch_warnings():
            if len(self) <= _QUICK:
                warnings.simplefilter("ignore", DataWarning)  # that it is stale: mended below
            self.collection.change(given, ids=self._kind(ids), metadata=rows, remove=self._known(ids) or None)
        if len(self) <= _QUICK and self.collection.staleness().stale:
            self.collection.refresh(progress=False)

    def remove(self, ids: Iterable[str]) -> None:
        """Take documents out; unknown ids are passed over. With the last document the folder goes, too."""
        known = self._known(ids)
        if self.collection is not None and len(known) == len(self):
            self.collection.close()
            self.collection = None
            shutil.rmtree(self.path)
        elif self.collection is not None and known:
            self.collection.remove(known)

    def get(self, ids: Iterable[str]) -> list[Found]:
        """The documents of these ids, in their order; unknown ids are passed over."""
        known = self._known(ids)
        return self._described(known, [None] * len(known))

    def matching(self, where: Mapping[str, Any] | None = None) -> list[str]:
        """The ids of the documents that meet a condition on their metadata, as `Index.search` takes it."""
        return [] if self.collection is None else [str(item) for item in self._allowed(where)]

    def search(
        self,
        vector: ArrayLike,
        k: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        **options: Any,
    ) -> list[Found]:
        """The best documents for one query vector, best first: of all, or of some. options: of `Index.search`."""
        if self.collection is None:
            return []
        if where is not None or ids is not None:
            allowed = self._known(ids) if ids is not None else self._allowed(where)
            if not allowed:
                return []
            options["where"] = allowed
        index = self.collection.index
        if index.graph.n_vertices < _FEW:
            options = {name: value for name, value in options.items() if name == "where"} | {"solver": Euclidean()}
        (hits,) = index.search(np.asarray(vector, dtype=np.float32)[None], k, **options).records()
        return self._described([hit["id"] for hit in hits], [hit["score"] for hit in hits])

    def _kind(self, ids: Iterable[str]) -> list[Any]:
        """Ids of the kind that the collection has: another program may have given it numbers."""
        assert self.collection is not None
        if self.collection.index.ids.dtype.kind == "U":
            return list(ids)
        return [int(item) if item.removeprefix("-").isdecimal() else item for item in ids]

    def _known(self, ids: Iterable[str]) -> list[Any]:
        """Those of the ids that are there, each once."""
        if self.collection is None:
            return []
        return [item for item in dict.fromkeys(self._kind(ids)) if item in self.collection]

    def _allowed(self, where: Mapping[str, Any] | None) -> list[Any]:
        """The ids that a condition leaves; all without one."""
        assert self.collection is not None
        index = self.collection.index
        if where is None:
            return list(index.ids.tolist())
        if index.metadata is None:
            return []
        mask = parse(where).mask(index.metadata.table)
        kept = mask if index.items.live is None else mask & index.items.live
        return list(index.items.ids[kept].tolist())

    def _described(self, ids: Sequence[Any], scores: Sequence[float | None]) -> list[Found]:
        """The documents of these ids."""
        if self.collection is None or not ids:
            return []
        index = self.collection.index
        rows: list[dict[str, Any]] = [{} for _ in ids]
        if index.metadata is not None:
            table = index.metadata.table
            columns = select(table, index.items.places(ids), table.column_names)
            rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return [from_row(str(i), row, score) for i, row, score in zip(ids, rows, scores, strict=True)]
