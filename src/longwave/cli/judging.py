"""Searches with known answers: evaluate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from longwave.cli import options as o
from longwave.cli import pictures, truth
from longwave.cli.application import app
from longwave.errors import InputError, plural
from longwave.evaluation import average_precision
from longwave.index import Index
from longwave.progress import bars
from longwave.rows.vectors import row_blocks


@app.command()
@o.with_search_options(without=("where",))
def evaluate(
    index: o.IndexPath,
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES",
            help=f"Query vectors, one per row ({o.FILES}); or the folder of pictures that --truth names.",
        ),
    ],
    truth_file: Annotated[
        Path | None,
        typer.Option(
            "--truth",
            metavar="F",
            help='JSON file with the ids of the right items: {"queries": [{"positive": [...], "junk": [...]}, ...]}.',
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the label of each item, instead of --truth ({o.LABELS})."),
    ] = None,
    query_labels: Annotated[
        str | None, typer.Option(metavar="F", help="File with the label of each query, with --labels.")
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the average precision of each query.")] = False,
    encoder: pictures.SameEncoder = None,
    *,
    chosen: dict[str, Any],
) -> None:
    """Measure how good a search is, by known answers (mAP).

    mAP is the mean average precision of the queries, 100 at best, by the protocol of the Oxford buildings. Junk counts
    neither way.

    \b
    longwave evaluate oxford.longwave queries.npy --truth truth.json
    longwave evaluate d.longwave q.npy --labels l.npy --query-labels ql.npy
    longwave evaluate holiday.longwave holiday/ --truth truth.json

    Queries by picture are entries with "image" and, if only a part is meant, "box": [x0, y0, x1, y1]. A picture of the
    index that asks is a hit like any other: name it under "junk" if it shall not count.
    """
    opened = Index.load(index)
    judgements = truth.judgements(truth_file, labels, query_labels, opened.ids)
    asked = pictures.judged_queries(queries, truth_file, opened, encoder)
    vectors = asked.vectors
    given, weights = chosen.pop("query_groups"), chosen.pop("weights")
    given = asked.query_of if given is None else given
    query_of = np.arange(len(vectors)) if given is None else given
    if len(query_of) != len(vectors):
        raise InputError(f"--query-groups must have a number for each query row, {len(vectors)}, got {len(query_of)}")
    if weights is not None and len(weights) != len(vectors):
        raise InputError(f"--weights must have a number for each query row, {len(vectors)}, got {len(weights)}")
    n_queries = int(query_of.max()) + 1
    if n_queries != len(judgements):
        raise InputError(f"{plural(n_queries, 'query')} but ground truth for {len(judgements):,}: they must be as many")
    opened.search(vectors[:1], len(opened), **chosen)  # load compiled code outside of the time
    judged: list[tuple[int, float]] = []
    start = time.perf_counter()
    with bars() as progress:
        for chunk in row_blocks(n_queries, len(opened)):  # a whole ranking each: not all of them at once
            rows = (query_of >= chunk.start) & (query_of < chunk.stop)
            own = {"query_groups": query_of[rows] - chunk.start, "weights": None if weights is None else weights[rows]}
            hits = opened.search(vectors[rows], len(opened), **own, **chosen)
            pairs = zip(range(chunk.start, chunk.stop), hits.ids, strict=True)
            judged += [(q, average_precision(ids, judgements[q])) for q, ids in pairs if judgements[q].positive]
            progress("queries", chunk.stop, n_queries)
    elapsed = time.perf_counter() - start
    if not judged:
        raise InputError("no query has a positive item; there is nothing to evaluate")
    if per_query:
        for q, value in judged:
            print(f"query {q if asked.names is None else asked.names[q]}: {100 * value:.2f}")
    left_out = n_queries - len(judged)
    print(
        f"mAP {100 * np.mean([value for _, value in judged]):.2f} over {plural(len(judged), 'query')}"
        + (f" ({left_out} without positives left out)" if left_out else "")
        + f", {1000 * elapsed / n_queries:.2f} ms per query for the whole ranking"
    )
