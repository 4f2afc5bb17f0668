"""PyTerrier: an index as a part of `>>` pipelines, and its lists as a corpus graph (extra `pyterrier`). Needs no Java.

pipeline = LongwaveTransformer(index, encode=library.query, k=100) >> another_reranker
pipeline = bm25 >> LongwaveTransformer(index, encode=library.query)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longwave.checks import check_counts
from longwave.errors import IndexExistsError, InputError, MissingExtraError
from longwave.index import Index
from longwave.search.euclidean import Euclidean
from longwave.types import Array

try:
    import pandas as pd
    import pyterrier as pt
    from npids import Lookup
    from pyterrier_adaptive import NpTopKCorpusGraph
except ImportError as error:
    raise MissingExtraError("the PyTerrier adapter", "pyterrier") from error

# Items whose neighbours are looked up at a time.
_CHUNK = 1024


class LongwaveTransformer(pt.Transformer):
    """Queries to hits; or hits of another retriever, ranked by the manifold: where there is a column `docno`.

    Queries have `qid` and either `query_vec` or, with `encode` (texts -> vectors), `query`. The answer has `qid`,
    `docno`, `score` and `rank` from 0, and what else the queries had. k: hits for each. options: of `Index.search`.
    """

    def __init__(
        self, index: Index, *, encode: Callable[[list[str]], ArrayLike] | None = None, k: int = 1000, **options: Any
    ) -> None:
        check_counts(k=k)
        self.index, self.encode, self.k, self.options = index, encode, k, options
        self._names = dict(zip(map(str, index.ids.tolist()), index.ids.tolist(), strict=True))

    def transform(self, inp: Any) -> Any:
        """A DataFrame of queries or of hits to one of hits."""
        again = "docno" in inp.columns
        queries = inp.drop(columns=[c for c in ("docno", "score", "rank") if c in inp.columns])
        queries = queries.drop_duplicates("qid") if len(queries) else queries
        given = inp.groupby("qid")["docno"].agg(list) if again else {}
        found = [
            self._hits(row, vector, given[row["qid"]] if again else None)
            for (_, row), vector in zip(queries.iterrows(), self._vectors(queries), strict=True)
        ]
        columns = [*queries.columns, "docno", "score", "rank"]
        return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)

    def _vectors(self, queries: Any) -> Array:
        if "query_vec" in queries.columns:
            return np.array(queries["query_vec"].tolist())
        if self.encode is None or "query" not in queries.columns:
            raise InputError(
                "queries need a column query_vec, or a column query and encode=, such as Library(index).query"
            )
        return np.asarray(self.encode(queries["query"].tolist()) if len(queries) else [])

    def _hits(self, row: Any, vector: ArrayLike, docnos: list[str] | None) -> Any:
        """The hits of one query, with what is known of it."""
        options = dict(self.options)
        if docnos is not None:
            options["where"] = [self._names[name] for name in docnos if name in self._names]
            if not options["where"]:
                return pd.DataFrame()
        (hits,) = self.index.search(np.asarray(vector)[None], self.k, **options).records()
        told = {"docno": [str(hit["id"]) for hit in hits], "score": [hit["score"] for hit in hits]}
        known = {name: [value] * len(hits) for name, value in row.items()}  # a value may be a vector
        return pd.DataFrame({**known, **told, "rank": range(len(hits))})


def corpus_graph(index: Index, path: str | Path, k: int = 16) -> NpTopKCorpusGraph:
    """Write the k nearest items of every item as a `NpTopKCorpusGraph`, for adaptive re-ranking (GAR). Returns it."""
    check_counts(k=k)
    folder, ids = Path(path), index.ids
    if k >= len(ids):
        raise InputError(f"k must be below {len(ids):,}, the items that there are, got {k}")
    if folder.exists():
        raise IndexExistsError(f"{folder} exists; choose another folder for the corpus graph")
    folder.mkdir(parents=True)
    with Lookup.builder(folder / "docnos.npids") as names:
        for name in ids.tolist():
            names.add(str(name))
    order = np.argsort(ids, kind="stable")
    with (folder / "edges.u32.np").open("wb") as edges, (folder / "weights.f16.np").open("wb") as weights:
        for start in range(0, len(ids), _CHUNK):
            hits = index.search_by_id(ids[start : start + _CHUNK], k, solver=Euclidean())
            places = order[np.searchsorted(ids, hits.ids, sorter=order)]
            edges.write(places.astype(np.uint32).tobytes())
            weights.write(hits.scores.astype(np.float16).tobytes())
    about = {"type": "corpus_graph", "format": "np_topk", "package_hint": "pyterrier-adaptive"}
    (folder / "pt_meta.json").write_text(json.dumps({**about, "doc_count": len(ids), "k": k}))
    return NpTopKCorpusGraph(folder)
