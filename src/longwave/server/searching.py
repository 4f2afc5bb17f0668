"""Routes that search: search, similar."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from longwave.hits import Hits
from longwave.server import bodies, schemas
from longwave.server.answers import answer_of, hits_of
from longwave.server.asking import asked_by_ids, best_of, questions_of, rows_of
from longwave.server.choosing import check_hits, options_of, scores_all
from longwave.server.endpoints import Call, endpoint
from longwave.server.problems import Problem


@endpoint(
    "POST",
    "/v1/collections/{name}/search",
    body=schemas.SearchBody,
    params=schemas.SearchBody,
    takes=("application/json", bodies.NPY),
    answer=schemas.SearchAnswer,
)
async def search(call: Call) -> schemas.SearchAnswer:
    """Search with vectors, with questions, or from items to begin at."""
    began, state = time.perf_counter(), call.state
    given, rows = (call.params, bodies.from_npy(call.body)) if call.media == bodies.NPY else await _rows(call)
    check_hits(given.k, len(rows))
    options = options_of(given) | {"kind": given.kind}
    if given.seeds is not None:
        options["seeds"] = [{state.parse_id(own): weight for own, weight in one.items()} for one in rows]
    of_rows: dict[str, Any] = {"query_groups": given.query_groups, "weights": given.weights, "on_error": given.on_error}

    def do(some: Sequence[Any]) -> list[tuple[Hits, list[schemas.Hit]]]:
        if len(some) == 1:
            vectors = None if given.seeds is not None else np.asarray(some[0])
            hits = state.index.search(vectors, given.k, **options, **of_rows)
            return [(hits, hits_of(hits))]
        hits = state.index.search(np.concatenate(some), given.k, **options)
        return [(hits[place], hits_of(hits[place])) for place in range(len(some))]

    key = None
    usual = given.seeds is None and not any(map(_is_told, of_rows.values()))
    if usual and len(rows) == 1 and len(rows[0]) == state.index.dimension and scores_all(state.index, given.k, options):
        alike = msgspec.structs.replace(given, vectors=None, npy=None, dimension=None, texts=None)
        key = call.served.name, state.version, msgspec.json.encode(alike)
    done = await call.context.searches.join(do, rows, key=key, timeout=call.context.options.timeout)
    hits, found = done.value
    return answer_of(hits, found, state, done.waited, began)


@endpoint("POST", "/v1/collections/{name}/similar", body=schemas.SimilarBody, answer=schemas.SearchAnswer)
async def similar(call: Call) -> schemas.SearchAnswer:
    """More like some items."""
    began, state, given = time.perf_counter(), call.state, call.body
    if given.unlike and not given.together:
        raise Problem(422, '`not` belongs to one query of several items; say "together": true')
    check_hits(given.k, 1 if given.together else len(given.ids))
    options = options_of(given)

    def do(_: Sequence[Any]) -> list[tuple[Hits, list[schemas.Hit]]]:
        if given.together:
            asked = asked_by_ids(given.ids, given.unlike, state)
            hits = best_of(state, asked, given.k, include_self=given.include_self, **options)
        else:
            hits = state.index.search_by_id(given.ids, given.k, include_self=given.include_self, **options)
        return [(hits, hits_of(hits))]

    done = await call.context.searches.join(do, None, timeout=call.context.options.timeout)
    hits, found = done.value
    return answer_of(hits, found, state, done.waited, began)


async def _rows(call: Call) -> tuple[schemas.SearchBody, Any]:
    """What is asked with, query by query: lists, which a thread makes an array of, an array, or seeds."""
    body: schemas.SearchBody = call.body
    if sum(given is not None for given in (body.vectors, body.npy, body.seeds, body.texts)) != 1:
        raise Problem(422, "give the query as `vectors`, as `npy` with `dimension`, as `seeds`, or as `texts`")
    if body.texts is not None:
        asked, texts = questions_of(call.state), body.texts
        return body, await call.run(lambda: asked.vectors(texts))
    if body.seeds is not None:
        return body, [body.seeds] if isinstance(body.seeds, dict) else body.seeds
    if body.vectors is not None:
        return body, rows_of(body.vectors)
    assert body.npy is not None
    return body, bodies.from_bytes(body.npy, body.dimension)


def _is_told(option: Any) -> bool:
    return option not in (None, "raise")
