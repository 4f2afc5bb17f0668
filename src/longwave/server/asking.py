"""What a request asks, as the library takes it: query vectors, and options of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave import filters, registry
from longwave.errors import InputError
from longwave.hits import Hits
from longwave.index import Index
from longwave.metadata import parse_text
from longwave.search import blending
from longwave.search.blending import Blending
from longwave.search.defaults import default_filter, way
from longwave.search.queries import examples
from longwave.server import schemas
from longwave.server.problems import Problem
from longwave.server.shelf import State
from longwave.server.uploads import Uploads
from longwave.solvers.system import SublinearSolver
from longwave.types import Array, Filter

# Steps that a filter or a solver may be told to take: each is a product with the graph, or a term of a sum.
_MOST_STEPS = 10_000
_STEPS = ("steps", "max_steps", "max_degree")


@dataclass(frozen=True, eq=False)
class Asked:
    """One query. vectors: (m, d), with a weight each. own: ids that it consists of, to be left out of its hits.

    The first `wanted` of these are like what is wanted.
    """

    vectors: Array
    weights: NDArray[np.float32] | None = None
    own: tuple[Any, ...] = ()
    wanted: int = 0

    @property
    def liked(self) -> list[Any]:
        """Those of its items that are like what is wanted."""
        return list(self.own[: self.wanted])

    @property
    def rows(self) -> dict[str, Any]:
        """What `Index.search` is told of the rows."""
        return {"query_groups": np.zeros(len(self.vectors), dtype=np.int64), "weights": self.weights}


def asked_by(query: schemas.Query, state: State, uploads: Uploads) -> Asked:
    """One query from items, a picture, both together, or vectors. Encodes the picture where it was not yet."""
    given = [name for name in ("ids", "upload", "vectors") if getattr(query, name) is not None]
    if not given or (query.vectors is not None and len(given) > 1):
        raise Problem(422, f"a query has ids, an upload or both, or vectors, got {' and '.join(given) or 'none'}")
    if query.unlike and query.vectors is not None:
        raise Problem(422, "`not` names items beside `ids` or an upload; leave it out, or give ids")
    if query.box is not None and query.upload is None:
        raise Problem(422, "a box is a part of an upload; leave it out, or name the upload")
    if query.weights is not None and query.vectors is None:
        raise Problem(422, "weights are of vectors; leave them out, or give vectors")
    if query.vectors is not None:
        weights = None if query.weights is None else np.asarray(query.weights, dtype=np.float32)
        return Asked(np.asarray(rows_of(query.vectors), dtype=np.float64), weights)
    if query.upload is None:
        assert query.ids is not None
        return asked_by_ids(query.ids, query.unlike, state)
    if state.gallery is None:
        raise Problem(422, "this collection was not made from pictures; search it with ids or vectors")
    box = None if query.box is None else (query.box[0], query.box[1], query.box[2], query.box[3])
    seen = uploads.find(query.upload).query(state.gallery, state.version, box).vectors
    if query.ids is None and not query.unlike:
        return Asked(seen)
    items = asked_by_ids(query.ids or [], query.unlike, state)
    signs = np.ones(len(items.vectors), dtype=np.float32) if items.weights is None else items.weights
    weights = np.concatenate([np.ones(len(seen), dtype=np.float32), signs])
    return replace(items, vectors=np.concatenate([seen, items.vectors]), weights=weights)


def asked_by_ids(ids: Sequence[Any], unlike: Sequence[Any], state: State) -> Asked:
    """One query of items that are like what is wanted, and of others that are not."""
    both = {*ids} & {*unlike}
    if both:
        raise Problem(422, f"item {next(iter(both))!r} is wanted and not wanted; name it once")
    liked = list(dict.fromkeys(ids))
    every = [*liked, *dict.fromkeys(unlike)]
    vectors, of, _ = examples(state.index, every, None)
    weights = np.where(of < len(liked), 1, -1).astype(np.float32) if unlike else None
    return Asked(vectors, weights, tuple(every), len(liked))


def rows_of(vectors: list[list[float]]) -> list[list[float]]:
    """Rows of one length; Problem 422 where they are not."""
    if len({len(row) for row in vectors}) > 1:
        raise Problem(422, "the rows of `vectors` must have one length")
    return vectors


def options_of(given: schemas.Options) -> dict[str, Any]:
    """Options of `Index.search`."""
    return {
        "filter": filter_of(given.filter),
        "neighbors": given.neighbors,
        "blend": blend_of(given.blend),
        "where": where_of(given.where),
        "columns": given.columns,
        "cut": given.cut,
        "region_sum": given.region_sum,
        "tolerance": given.tolerance,
        "solver": None if given.solver is None else _bounded(registry.parse("solver", given.solver), given.solver),
        "plan": given.plan,
    }


def filter_of(text: str | None) -> Filter | None:
    """A filter from its text."""
    return None if text is None else _bounded(filters.parse(text), text)


def blend_of(given: schemas.Blend | str | float | None) -> Blending | float | None:
    """A blend from its text, its weight, or its fields; None for the index's own, 0 for none at all."""
    if given is None:
        return None
    if isinstance(given, schemas.Blend):
        return blending.Blend(given.weight, given.scale, given.everywhere)
    found = blending.parse(given)
    return 0.0 if found is None else found


def where_of(given: Any) -> Any:
    """Which items may be found, from JSON; a text is a condition as people type it."""
    return parse_text(given) if isinstance(given, str) else given


def _bounded(part: Any, text: str) -> Any:
    for name in _STEPS:
        steps = getattr(part, name, None)
        if steps is not None and steps > _MOST_STEPS:
            raise InputError(f"a server takes {_MOST_STEPS:,} steps at most, got {steps:g} in '{text}'")
    return part


def check_hits(k: int, queries: int) -> None:
    """Problem 422 where an answer would be too large."""
    if queries > schemas.MOST_ROWS:
        raise Problem(422, f"a request has at most {schemas.MOST_ROWS:,} rows, got {queries:,}")
    if k * queries > schemas.MOST_HITS:
        raise Problem(
            422, f"{queries:,} queries for {k:,} hits each are more than {schemas.MOST_HITS:,} hits; ask for fewer"
        )


def scores_all(index: Index, k: int, options: dict[str, Any]) -> bool:
    """Whether one query is answered by the scores of all items: several at a time are then quicker than one by one.

    Where candidates alone are scored it is the other way round: 0.2 to 0.7 of the time, one by one.
    """
    filter = options["filter"] or default_filter(index)
    plan, solver = way(index, options["plan"], options["tolerance"], options["solver"], filter)
    return not (plan.is_few(1, k) and isinstance(solver, SublinearSolver) and solver.serves(index.system))


def best_of(state: State, asked: Asked, k: int, *, include_self: bool = False, **options: Any) -> Hits:
    """The k best items for one query, but those that it consists of."""
    own = [] if include_self else list(asked.own)
    hits = state.index.search(asked.vectors, k + len(own), **asked.rows, **options)
    kept = np.flatnonzero(~np.isin(hits.ids[0], own))[:k] if own else np.arange(min(k, hits.ids.shape[1]))
    columns = None
    if hits.columns is not None:
        columns = {name: [[rows[0][place] for place in kept]] for name, rows in hits.columns.items()}
    return replace(hits, ids=hits.ids[:, kept], scores=hits.scores[:, kept], columns=columns)
