"""The command `evaluate`: how good searches are, by known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from longwave.cli import options as o
from longwave.cli import picture_options, results
from longwave.cli.application import app
from longwave.cli.asking import judged_question
from longwave.cli.reading import labels_from, truth_from
from longwave.cli.screen import out
from longwave.errors import InputError, writing
from longwave.evaluation import Evaluation, evaluate
from longwave.index import Index
from longwave.progress import bars


@app.command("evaluate")
@o.with_search_options(without=("where", "columns", "fold", "diversity"))
def evaluate_command(
    index: o.IndexPath,
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES",
            help=f"Query vectors, one per row ({o.FILES}); or the folder of pictures that --truth names.",
        ),
    ],
    truth_file: o.TruthFile = None,
    query_ids: o.QueryIds = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="F", help=f"File with the label of each item, instead of --truth ({o.LABELS})."),
    ] = None,
    query_labels: o.QueryLabels = None,
    setup: Annotated[
        str, typer.Option(help="With a gnd_*.pkl of the revisited sets, the answers that count: easy, medium or hard.")
    ] = "medium",
    k: Annotated[
        str, typer.Option("-k", metavar="K,K,...", help="How many of the first hits to look at; one number or several.")
    ] = "1,5,10",
    batch: Annotated[int, typer.Option(help="Queries to ask together; 1 is one user at a time.")] = 1,
    whole: Annotated[
        bool, typer.Option("--map/--no-map", help="Rank all items of the index too, which mAP needs; on.")
    ] = True,
    euclidean: Annotated[
        bool, typer.Option("--euclidean/--no-euclidean", help="Measure plain nearest neighbours beside it; on.")
    ] = True,
    per_query: Annotated[bool, typer.Option("--per-query", help="Show the values of each query too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV in place of a table.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="F", help="File to write the values to: .json or .csv.")
    ] = None,
    encoder: picture_options.SameEncoder = None,
    *,
    chosen: dict[str, Any],
) -> None:
    """Measure how good a search is, by known answers.

    Shows for each K how many of the first K hits are right (P), how many of the right items are among them (recall) and
    how early they come (nDCG), and for the whole ranking the mean average precision (mAP, by the protocol of the Oxford
    buildings): 100 is best. Plain nearest neighbours stand beside it. Junk counts neither as right nor as wrong.

    \b
    longwave evaluate d.longwave q.npy --labels l.npy --query-labels ql.npy
    longwave evaluate oxford.longwave queries.npy --truth truth.json -k 1,5,20
    longwave evaluate news.longwave q.npy --truth qrels.txt --query-ids ids.txt
    longwave evaluate paris.longwave queries.npy --truth gnd_paris6k.mat
    longwave evaluate holiday.longwave holiday/ --truth truth.json --json

    Queries by picture are entries with "image" and, if only a part is meant, "box": [x0, y0, x1, y1]. A query
    picture that is itself in the index is a hit like any other: name it under "junk" if it should not count.
    """
    if as_json and as_csv:
        raise InputError("give --json or --csv, not both")
    results.check_output(output, index, [queries], suffixes=(".json", ".csv"))
    cuts = _cuts(k)
    opened = Index.load(index)
    truth = truth_from(truth_file, labels, query_labels, opened.ids)
    asked = judged_question(queries, truth_file, opened, encoder)
    given, called = chosen.pop("query_groups"), labels_from(query_ids)
    with bars() as progress:
        found = evaluate(
            opened,
            asked.vectors,
            truth,
            k=cuts,
            query_groups=asked.query_of if given is None else given,
            names=asked.names if called is None else called.tolist(),
            batch=batch,
            whole=whole,
            euclidean=euclidean,
            setup=setup,
            progress=progress,
            **chosen,
        )
    if output is not None:
        with writing(output):
            text = found.to_json(per_query=per_query) if output.suffix == ".json" else found.to_csv(per_query=per_query)
            output.write_text(text, "utf-8", "surrogateescape", newline="")
        print(f"{output}: {found.summary()}")
    elif as_json or as_csv:
        print(found.to_json(per_query=per_query) if as_json else found.to_csv(per_query=per_query).rstrip())
    else:
        _show(found, per_query)


def _show(found: Evaluation, per_query: bool) -> None:
    """On a terminal a table; in a pipe lines, tab-separated. The last line is a summary."""
    if per_query:
        measure = found.measures[-1]
        name_of_one = measure.removeprefix("m")  # of one query there is no mean
        for name, own, *plain in zip(found.names, *(one.values[measure] for one in found.searches), strict=True):
            if own == own:  # not NaN
                beside = f" (Euclidean {100 * plain[0]:.2f})" if plain else ""
                print(f"query {name}: {name_of_one} {100 * own:.2f}{beside}")
    titles, rows = found.table()
    if out.is_terminal:
        table = Table()
        for number, title in enumerate(titles):
            table.add_column(title, justify="right" if number else "left")
        for row in rows:
            table.add_row(*row)
        out.print(table, highlight=False)
    else:
        for row in (titles, *rows):
            print(*row, sep="\t")
    print(found.summary())


def _cuts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"-k must be whole numbers with commas, such as 1,5,20, got '{text}'") from None
