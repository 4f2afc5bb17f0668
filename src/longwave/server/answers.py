"""Hits in the form of a server's answers."""

from __future__ import annotations

import time

from longwave.hits import Hits
from longwave.server import schemas
from longwave.server.shelf import State


def answer_of(hits: Hits, rows: list[schemas.Hit], state: State, waited: float, began: float) -> schemas.SearchAnswer:
    """The answer to a search. rows: `hits_of` it. waited: seconds for a thread. began: when the request came."""
    return schemas.SearchAnswer(
        hits=rows,
        route=hits.route,
        version=state.version,
        milliseconds=times_of(hits, waited, began),
        queries=None if hits.queries is None else hits.queries.tolist(),
    )


def hits_of(hits: Hits) -> list[schemas.Hit]:
    """The hits of each query."""
    return [
        schemas.Hit(
            ids=ids,
            scores=scores,
            confidence=None if hits.confidence is None else float(hits.confidence[place]),
            columns=None if hits.columns is None else {name: own[place] for name, own in hits.columns.items()},
            error=None if hits.errors is None else float(hits.errors[place]),
            steps=None if hits.steps is None else int(hits.steps[place]),
            count=None if hits.counts is None else int(hits.counts[place]),
            folded=None if hits.folded is None else hits.folded[place],
        )
        for place, (ids, scores) in enumerate(zip(hits.ids.tolist(), hits.scores.tolist(), strict=True))
    ]


def times_of(hits: Hits, waited: float, began: float) -> schemas.Times:
    """Where the time went."""
    first, second = hits.seconds or (0.0, 0.0)
    spent = waited, first, second, time.perf_counter() - began
    queue, one, two, total = (round(1000 * seconds, 3) for seconds in spent)
    return schemas.Times(queue=queue, first=one, second=two, total=total)
