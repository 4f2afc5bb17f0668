"""Routes of the page: compare, wave, explain."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import Response

from longwave.errors import InputError
from longwave.evaluation import Judgement, average_precision
from longwave.hits import Hits
from longwave.layout import neighborhood
from longwave.search.defaults import defaults
from longwave.search.euclidean import Euclidean
from longwave.search.wave import wave as wave_of
from longwave.search.where import allowed
from longwave.server import schemas
from longwave.server.answers import hits_of, times_of
from longwave.server.asking import Asked, asked_by, best_of
from longwave.server.choosing import blend_of, check_hits, filter_of, where_of
from longwave.server.endpoints import Call, endpoint
from longwave.server.shelf import State
from longwave.types import Array

# Ranks that average precision looks at; what is right and lies behind counts as not found.
_DEPTH = 10_000


@endpoint("POST", "/v1/collections/{name}/compare", body=schemas.CompareBody, answer=schemas.CompareAnswer)
async def compare(call: Call) -> schemas.CompareAnswer:
    """Euclidean and manifold search side by side."""
    began, state, given = time.perf_counter(), call.state, call.body
    check_hits(given.k, 1)
    plain: dict[str, Any] = {"solver": Euclidean()}
    along = {"filter": filter_of(given.filter), "neighbors": given.neighbors, "blend": blend_of(given.blend)}

    def do(_: Sequence[Any]) -> list[tuple[Hits, Hits, schemas.Truth | None]]:
        asked = asked_by(given.query, state, call.context.uploads)
        where = _both(state, where_of(given.where), given.within)
        shown = {"where": where, "columns": given.columns}
        manifold = best_of(state, asked, given.k, **along, **shown)
        if asked.vectors is None:  # a graph alone: there is no other search to compare with
            return [(Hits(manifold.ids[:, :0], manifold.scores[:, :0]), manifold, None)]
        nearest = best_of(state, asked, given.k, **plain, **shown)

        def ranked(way: dict[str, Any]) -> Array:
            ids: Array = best_of(state, asked, _DEPTH, where=where, **way).ids[0]
            return ids

        truth = _truth(state, asked, where, (nearest.ids[0], manifold.ids[0]), [plain, along], ranked)
        return [(nearest, manifold, truth)]

    done = await call.context.searches.join(do, None, timeout=call.context.options.timeout)
    nearest, manifold, truth = done.value
    (near,), (far,) = hits_of(nearest), hits_of(manifold)
    return schemas.CompareAnswer(
        nearest=schemas.Nearest(ids=near.ids, scores=near.scores, columns=near.columns),
        manifold=schemas.Manifold(
            ids=far.ids, scores=far.scores, columns=far.columns, confidence=far.confidence, route=manifold.route
        ),
        truth=truth,
        milliseconds=times_of(manifold, done.waited, began),
        version=state.version,
    )


@endpoint("POST", "/v1/collections/{name}/wave", body=schemas.CompareBody, answer="application/octet-stream")
async def wave(call: Call) -> Response:
    """The answer to one query over all items, from 0 to 1: (items,) little-endian float32, in the order of `ids`."""
    state, given = call.state, call.body
    filter, neighbors = defaults(state.index, filter_of(given.filter), given.neighbors)

    def do() -> bytes:
        asked = asked_by(given.query, state, call.context.uploads)
        return wave_of(state.index, asked.observe(state.index, neighbors), filter).astype("<f4").tobytes()

    data = await call.run(do)
    headers = {"X-Longwave-Items": str(len(data) // 4), "X-Longwave-Version": str(state.version)}
    return Response(data, media_type="application/octet-stream", headers=headers)


@endpoint("POST", "/v1/collections/{name}/explain", body=schemas.ExplainBody, answer=schemas.ExplainAnswer)
async def explain(call: Call) -> schemas.ExplainAnswer:
    """Why an item was found: what each neighbour of the query contributes, and the graph between them."""
    state, given = call.state, call.body
    filter, neighbors = defaults(state.index, filter_of(given.filter), given.neighbors)

    def do() -> schemas.ExplainAnswer:
        asked = asked_by(given.query, state, call.context.uploads)
        index = state.index
        index.require_vectors("explain")
        assert asked.vectors is not None
        found = index.explain(asked.vectors, given.id, filter=filter, neighbors=neighbors, weights=asked.weights)
        around = neighborhood(index, asked.observe(index, neighbors), found.path, filter)
        rows = zip(found.neighbors.tolist(), found.similarities.tolist(), found.contributions.tolist(), strict=True)
        nodes = zip(around.ids, around.places.tolist(), around.observed.tolist(), around.scores.tolist(), strict=True)
        return schemas.ExplainAnswer(
            score=found.score,
            manifold=found.manifold,
            similarity=found.similarity,
            neighbors=[schemas.Contribution(id=own, weight=w, contribution=c) for own, w, c in rows],
            path=found.path,  # type: ignore[arg-type]
            graph=schemas.LocalGraph(
                nodes=[schemas.Node(id=own, x=at[0], y=at[1], observed=y, score=x) for own, at, y, x in nodes],
                edges=around.edges,
            ),
        )

    return await call.run(do)


def _both(state: State, where: Any, within: Sequence[Any] | None) -> Any:
    """What a condition and a selection leave together, as ids; the one that is given where the other is not."""
    if where is None or within is None:
        return within if where is None else where
    left = allowed(state.index, where) & allowed(state.index, within)
    if not left.any():
        raise InputError("no item of the selection meets the condition; widen one of them")
    return state.index.items.ids[left]


def _truth(
    state: State,
    asked: Asked,
    where: Any,
    shown: tuple[Array, Array],
    ways: list[dict[str, Any]],
    ranked: Callable[[dict[str, Any]], Array],
) -> schemas.Truth | None:
    """What is right for a query of items that have one label; None for others. shown: ids of both searches."""
    labels, index = state.labels_by_id, state.index
    wanted = {labels.get(own) for own in asked.liked} if labels else {None}
    if len(wanted) != 1 or None in wanted:
        return None
    label = wanted.pop()
    every = index.ids if where is None else index.items.ids[allowed(index, where)]
    own = set(asked.own)
    right = Judgement(positive=[one for one in every.tolist() if labels.get(one) == label and one not in own])
    near, far = (
        schemas.Judged(
            relevant=[labels.get(one) == label for one in ids.tolist()],
            ap=average_precision(ranked(way), right) if right.positive else None,
        )
        for ids, way in zip(shown, ways, strict=True)
    )
    return schemas.Truth(label=label, nearest=near, manifold=far)
