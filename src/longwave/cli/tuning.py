"""The command `tune`: better settings, found by known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from longwave import storage
from longwave.cli import options as o
from longwave.cli.application import app
from longwave.cli.reading import labels_from, read_label_file, truth_from, vectors_from
from longwave.cli.screen import out
from longwave.errors import InputError, plural
from longwave.evaluation import judgements_from
from longwave.evaluation.tuning import Tuning, hold_out, judge_by
from longwave.evaluation.tuning import tune as find_settings
from longwave.index import Index
from longwave.progress import bars
from longwave.rows.vectors import unit_queries, unit_vectors
from longwave.types import Array


@app.command()
def tune(
    source: Annotated[
        str, typer.Argument(metavar="VECTORS|INDEX", help=f"Vectors, one per row ({o.FILES}), or an index folder.")
    ],
    queries: Annotated[
        str | None, typer.Option(metavar="F", help="File of query vectors with known answers, to choose by them.")
    ] = None,
    truth_file: o.TruthFile = None,
    query_ids: o.QueryIds = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the label of each vector, instead of --truth ({o.LABELS})."),
    ] = None,
    query_labels: o.QueryLabels = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers: the same seed gives the same answer.")] = 0,
) -> None:
    """Look for better settings, where answers are known.

    It tries one setting after the other and prints the options of `build` that are better than the defaults, if there
    are any. For this it needs queries whose right answers you know: --queries with --truth, or --queries with --labels
    and --query-labels. With --labels alone, some of the vectors themselves are the queries.

    Settings are compared by the mAP of exact solutions on 100 queries, eight settings in all: seconds for thousands of
    vectors, minutes for 60,000. The first hits may not gain what mAP gains: look at both with `evaluate`.

    \b
    longwave tune photos.npy --labels labels.npy
    longwave tune photos.npy --queries queries.npy --truth truth.json
    """
    if truth_file is None and labels is None:
        raise InputError(
            "tune compares settings by answers that you know; give --labels F, or --queries F with --truth F. Without "
            "answers there is nothing to tune: `longwave build` has the best setting known"
        )
    vectors, ids = _vectors(source)
    unit = unit_vectors(vectors)
    known = np.arange(len(unit)) if ids is None else ids
    if queries is None:
        if labels is None or query_labels is not None:
            raise InputError("answers need the queries that they belong to: give --queries F")
        held = hold_out(read_label_file(labels), known, seed=seed)
        judgements, asked = held.judgements, unit[held.queries]
        unit, known = unit[held.collection], known[held.collection]
    else:
        asked = unit_queries(vectors_from(queries), dimension=unit.shape[1])
        truth, called = truth_from(truth_file, labels, query_labels, known), labels_from(query_ids)
        names = None if called is None else called.tolist()
        if names is not None and len(names) != len(asked):
            raise InputError(f"there must be an id for each query, {len(asked)}, got {len(names)} in {query_ids}")
        judgements = judgements_from(truth, known, names=names, count=len(asked))
    if len(judgements) != len(asked):
        raise InputError(f"there are {plural(len(asked), 'query', 'queries')} but ground truth for {len(judgements)}")
    kept = np.flatnonzero([bool(len(judgement.positive)) for judgement in judgements])
    if not len(kept):
        raise InputError("no query has a positive item; there is nothing to tune by")
    judge = judge_by([judgements[query] for query in kept], known)
    with bars() as progress:
        found = find_settings(unit, asked[kept], judge, seed=seed, progress=progress)
    _print_tuning(found)


def _vectors(source: str) -> tuple[Array, Array | None]:
    """Those of a file, or of an index with their ids."""
    if not storage.is_index(Path(source)):
        return vectors_from(source), None
    opened = Index.load(source)
    if opened.items.item_of is not None or opened.added is not None or opened.items.live is not None:
        raise InputError("tune takes an index of one vector for each item, all in the graph; give the vectors instead")
    vectors = opened.vectors.rows(slice(None))
    return vectors if opened.items.row_of is None else vectors[opened.items.row_of], opened.ids


def _print_tuning(found: Tuning) -> None:
    table = Table()
    for title in (*found.chosen.choice.words(), "mAP"):
        table.add_column(title, justify="right")
    for trial in found.trials:
        style = "bold" if trial is found.chosen else None
        table.add_row(*trial.choice.words().values(), f"{100 * trial.score:.1f}", style=style)
    out.print(table, highlight=False)
    default, chosen = found.trials[0], found.chosen
    asked = plural(len(default.values), "query", "queries")
    plain, ours_score = 100 * found.euclidean, 100 * default.score
    told = f"On these {asked} Euclidean search has {plain:.1f} mAP, the defaults have {ours_score:.1f}."
    if chosen is default:
        out.print(f"{told} Nothing that was tried is clearly better: keep the defaults.", highlight=False)
        return
    ours, theirs = default.choice.words(), chosen.choice.words()
    options = " ".join(f"--{name} {text}" for name, text in theirs.items() if text != ours[name])
    out.print(
        f"{told} Better by more than chance, with {100 * chosen.score:.1f}:\nbuild {options}\n"
        "This is the mAP of exact solutions. The first hits of a large index may gain less, or lose: compare both with "
        "`longwave evaluate`.",
        highlight=False,
    )
