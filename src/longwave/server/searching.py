"""Routes that search: search, similar."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from longwave.hits import Hits
from longwave.server import bodies, schemas
from longwave.server.answers import answer_of
from longwave.server.asking import asked_by_ids, best_of, check_hits, options_of, rows_of
from longwave.server.endpoints import Call, endpoint
from longwave.server.problems import Problem
from longwave.types import Array


@endpoint(
    "POST",
    "/v1/collections/{name}/search",
    body=schemas.SearchBody,
    params=schemas.SearchBody,
    takes=("application/json", bodies.NPY),
    answer=schemas.SearchAnswer,
)
async def search(call: Call) -> schemas.SearchAnswer:
    """Search with vectors."""
    began, state = time.perf_counter(), call.state
    given, vectors = (call.params, bodies.from_npy(call.body)) if call.media == bodies.NPY else _vectors(call.body)
    check_hits(given.k, len(vectors) if vectors.ndim == 2 else 1)
    options = options_of(given)
    rows: dict[str, Any] = {"query_groups": given.query_groups, "weights": given.weights, "on_error": given.on_error}

    def do(some: Sequence[Array]) -> list[Hits]:
        if len(some) == 1:
            return [state.index.search(some[0], given.k, **options, **rows)]
        found = state.index.search(np.concatenate([np.atleast_2d(one) for one in some]), given.k, **options)
        return [found[place] for place in range(len(some))]

    key = None
    if vectors.size == state.index.dimension and all(value in (None, "raise") for value in rows.values()):
        alike = msgspec.structs.replace(given, vectors=None, npy=None, dimension=None)
        key = call.served.name, state.version, msgspec.json.encode(alike)
    done = await call.context.searches.join(do, vectors, key=key, timeout=call.context.options.timeout)
    return answer_of(done.value, state, done.waited, began)


@endpoint("POST", "/v1/collections/{name}/similar", body=schemas.SimilarBody, answer=schemas.SearchAnswer)
async def similar(call: Call) -> schemas.SearchAnswer:
    """More like some items."""
    began, state, given = time.perf_counter(), call.state, call.body
    if given.unlike and not given.together:
        raise Problem(422, '`not` belongs to one query of several items; say "together": true')
    check_hits(given.k, 1 if given.together else len(given.ids))
    options = options_of(given)

    def do(_: Sequence[Any]) -> list[Hits]:
        if not given.together:
            return [state.index.search_by_id(given.ids, given.k, include_self=given.include_self, **options)]
        asked = asked_by_ids(given.ids, given.unlike, state)
        return [best_of(state, asked, given.k, include_self=given.include_self, **options)]

    done = await call.context.searches.join(do, None, timeout=call.context.options.timeout)
    return answer_of(done.value, state, done.waited, began)


def _vectors(body: schemas.SearchBody) -> tuple[schemas.SearchBody, Array]:
    if (body.vectors is None) == (body.npy is None):
        raise Problem(422, "give the query as `vectors`, or as `npy` with `dimension`")
    if body.vectors is not None:
        return body, np.asarray(rows_of(body.vectors), dtype=np.float64)
    assert body.npy is not None
    return body, bodies.from_bytes(body.npy, body.dimension)
