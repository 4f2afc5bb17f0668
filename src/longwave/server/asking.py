"""What a request asks with, as the library takes it: items, pictures, questions, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.hits import Hits
from longwave.index import Index
from longwave.search import seeds
from longwave.search.queries import Queries, examples
from longwave.server import schemas
from longwave.server.problems import Problem
from longwave.server.questions import Questions
from longwave.server.shelf import State
from longwave.server.uploads import Uploads
from longwave.types import Array, Sparse

#: What is said where a question in words cannot be.
NO_TEXTS = "this collection was not made from texts; search it with ids or vectors"


@dataclass(frozen=True, eq=False)
class Asked:
    """One query. vectors: (m, d), with a weight each. own: ids that it consists of, to be left out of its hits.

    The first `wanted` of these are like what is wanted. In a graph without vectors the items themselves are the query.
    """

    vectors: Array | None
    weights: NDArray[np.float32] | None = None
    own: tuple[Any, ...] = ()
    wanted: int = 0

    @property
    def liked(self) -> list[Any]:
        """Those of its items that are like what is wanted."""
        return list(self.own[: self.wanted])

    @property
    def query(self) -> dict[str, Any]:
        """What `Index.search` is told of it."""
        if self.vectors is None:
            return {"seeds": self._seeds}
        return {
            "queries": self.vectors,
            "query_groups": np.zeros(len(self.vectors), dtype=np.int64),
            "weights": self.weights,
        }

    def observe(self, index: Index, neighbors: int) -> Sparse:
        """Where it begins: y, CSR (1, n)."""
        if self.vectors is None:
            return seeds.observe(index, self._seeds)
        asked = Queries.make(self.vectors, dimension=index.dimension, weights=self.weights)
        return index.observe(asked.as_one(), neighbors=neighbors)

    @property
    def _seeds(self) -> dict[Any, float]:
        return {own: 1.0 if place < self.wanted else -1.0 for place, own in enumerate(self.own)}


def asked_by(query: schemas.Query, state: State, uploads: Uploads) -> Asked:
    """One query from items, a picture or a question, items beside one of these, or vectors.

    Encodes the picture or the question where it was not yet.
    """
    given = [name for name in ("ids", "upload", "text", "vectors") if getattr(query, name) is not None]
    alone = [name for name in given if name != "ids"]
    if not given or len(alone) > 1 or (query.vectors is not None and len(given) > 1):
        got = " and ".join(given) or "none"
        raise Problem(422, f"a query has ids, an upload or a text, alone or beside ids, or vectors, got {got}")
    if query.unlike and query.vectors is not None:
        raise Problem(422, "`not` names items beside `ids`, an upload or a text; leave it out, or give ids")
    if query.box is not None and query.upload is None:
        raise Problem(422, "a box is a part of an upload; leave it out, or name the upload")
    if query.weights is not None and query.vectors is None:
        raise Problem(422, "weights are of vectors; leave them out, or give vectors")
    if query.vectors is not None:
        weights = None if query.weights is None else np.asarray(query.weights, dtype=np.float32)
        return Asked(np.asarray(rows_of(query.vectors), dtype=np.float64), weights)
    if query.text is not None:
        seen = questions_of(state).vectors([query.text])
    elif query.upload is not None:
        seen = _picture(query, query.upload, state, uploads)
    else:
        assert query.ids is not None
        return asked_by_ids(query.ids, query.unlike, state)
    if query.ids is None and not query.unlike:
        return Asked(seen)
    items = asked_by_ids(query.ids or [], query.unlike, state)
    assert items.vectors is not None  # where there are pictures or texts, there are vectors
    signs = np.ones(len(items.vectors), dtype=np.float32) if items.weights is None else items.weights
    weights = np.concatenate([np.ones(len(seen), dtype=np.float32), signs])
    return replace(items, vectors=np.concatenate([seen, items.vectors]), weights=weights)


def questions_of(state: State) -> Questions:
    """What encodes questions; Problem 422 where the collection has no texts."""
    if state.questions is None:
        raise Problem(422, NO_TEXTS)
    return state.questions


def _picture(query: schemas.Query, upload: str, state: State, uploads: Uploads) -> Array:
    if state.gallery is None:
        raise Problem(422, "this collection was not made from pictures; search it with ids or vectors")
    box = None if query.box is None else (query.box[0], query.box[1], query.box[2], query.box[3])
    return uploads.find(upload).query(state.gallery, state.version, box).vectors


def asked_by_ids(ids: Sequence[Any], unlike: Sequence[Any], state: State) -> Asked:
    """One query of items that are like what is wanted, and of others that are not."""
    both = {*ids} & {*unlike}
    if both:
        raise Problem(422, f"item {next(iter(both))!r} is wanted and not wanted; name it once")
    liked = list(dict.fromkeys(ids))
    every = [*liked, *dict.fromkeys(unlike)]
    if not state.index.has_vectors:
        return Asked(None, None, tuple(every), len(liked))
    vectors, of, _ = examples(state.index, every, None)
    weights = np.where(of < len(liked), 1, -1).astype(np.float32) if unlike else None
    return Asked(vectors, weights, tuple(every), len(liked))


def rows_of(vectors: list[list[float]]) -> list[list[float]]:
    """Rows of one length; Problem 422 where they are not."""
    if len({len(row) for row in vectors}) > 1:
        raise Problem(422, "the rows of `vectors` must have one length")
    return vectors


def best_of(state: State, asked: Asked, k: int | str, *, include_self: bool = False, **options: Any) -> Hits:
    """The k best items for one query, but those that it consists of."""
    own = [] if include_self else list(asked.own)
    hits = state.index.search(k=k if isinstance(k, str) else k + len(own), **asked.query, **options)
    kept = np.flatnonzero(~np.isin(hits.ids[0], own)) if own else np.arange(hits.ids.shape[1])
    kept = kept if isinstance(k, str) else kept[:k]
    cut: dict[str, Any] = {"ids": hits.ids[:, kept], "scores": hits.scores[:, kept]}
    if hits.columns is not None:
        cut["columns"] = {name: [[rows[0][place] for place in kept]] for name, rows in hits.columns.items()}
    if hits.counts is not None:
        cut["counts"] = np.array([np.count_nonzero(kept < hits.counts[0])])
    if hits.folded is not None:
        cut["folded"] = [[hits.folded[0][place] for place in kept]]
    return replace(hits, **cut)
