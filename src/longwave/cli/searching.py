"""The commands `search`, `similar`, `explain` and `pagerank`: questions to an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from longwave import filters
from longwave.cli import options as o
from longwave.cli import picture_options as p
from longwave.cli import results
from longwave.cli import text_options as t
from longwave.cli.application import app
from longwave.cli.asking import items_from, question_from
from longwave.cli.exporting import EngineName
from longwave.cli.reading import vectors_from
from longwave.cli.screen import err
from longwave.cli.sheets import check_sheet, write_sheet
from longwave.engines import Remote
from longwave.engines.opening import NAME, is_address
from longwave.errors import InputError
from longwave.index import Index
from longwave.pictures import Gallery


@app.command()
@o.with_search_options()
def search(
    index: Annotated[
        str,
        typer.Argument(
            metavar="INDEX", help="An index folder, as `longwave build` writes it; or the URL of an engine (`export`)."
        ),
    ],
    queries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERIES]", help=f"Query vectors, one per row ({o.FILES}); or pictures; or a folder of them."
        ),
    ] = None,
    text: t.Question = None,
    k: o.HitCount = "10",
    output: o.HitsFile = None,
    box: p.Boxes = None,
    together: p.Together = False,
    sheet: p.Sheet = None,
    encoder: p.SameEncoder = None,
    name: EngineName = NAME,
    *,
    chosen: dict[str, Any],
) -> None:
    """Search an index with vectors, pictures or text.

    Shows for each query the ids of the best items and their scores; higher is better. Options change how far the search
    reaches, how exact it is and which items count; without any, the index knows what to do.

    \b
    longwave search photos.longwave queries.npy -k 5
    longwave search photos.longwave queries.npy --filter heat:10 -o hits.csv
    longwave search photos.longwave queries.npy --solver hybrid --tolerance 1e-3
    longwave search photos.longwave q.npy --where 'year>=2020' --columns title
    longwave search holiday.longwave beach.jpg --box 40,60,300,280 --sheet s.png
    longwave search holiday.longwave tower-day.jpg tower-night.jpg --together
    longwave search notes.longwave --text "how deep is the sea?"
    longwave search postgresql://me@localhost/shop queries.npy -k 5
    """
    given = queries or []
    if is_address(index):
        _leave_out({"--text": text, "--box": box, "--together": together, "--sheet": sheet, "--encoder": encoder})
        if not given:
            raise InputError("give files of query vectors after the URL")
        results.check_output(output, Path(index.partition(":")[2]), given)
        with Remote(index, name) as remote, err.status("searching"):
            rows = np.concatenate([np.atleast_2d(vectors_from(file)) for file in given])
            hits = remote.search(rows, o.count_from(k), **chosen)
        results.deliver(hits, output, "query", None)
        return
    results.check_output(output, Path(index), given)
    opened = Index.load(index)
    check_sheet(sheet, opened, given)
    chosen = t.with_passages(chosen, opened.about)
    with err.status("searching"):
        asked = question_from(given, opened, texts=text, box=box, together=together, encoder=encoder)
        if asked.query_of is not None:
            if chosen["query_groups"] is not None:
                raise InputError("pictures are queries of their own; leave out --query-groups, or say --together")
            chosen["query_groups"] = asked.query_of
        hits = opened.search(asked.vectors, o.count_from(k), **chosen)
    if sheet is not None:
        write_sheet(sheet, asked.parts, hits, opened)
    results.deliver(hits, output, "query", asked.names)


def _leave_out(options: dict[str, Any]) -> None:
    """What only an index folder of pictures or texts can be asked with."""
    given = [name for name, value in options.items() if value]
    if given:
        raise InputError(
            f"{given[0]} is for an index folder; turn the query into vectors first, or search the index folder"
        )


@app.command()
@o.with_search_options(without=("query_groups", "weights"))
def similar(
    index: o.IndexPath,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Items of the index: ids, or paths of pictures.")],
    k: o.HitCount = "10",
    output: o.HitsFile = None,
    sheet: p.Sheet = None,
    *,
    chosen: dict[str, Any],
) -> None:
    """Find more like some items of an index.

    Each item that you name is a query; it is left out of its own hits.

    \b
    longwave similar photos.longwave 17 42
    longwave similar photos.longwave beach-3.jpg -k 20
    """
    del chosen["query_groups"], chosen["weights"]  # of rows; here the index has them
    results.check_output(output, index)
    opened = Index.load(index)
    check_sheet(sheet, opened)
    asked = items_from(ids, opened)
    hits = opened.search_by_id(asked, o.count_from(k), **t.with_passages(chosen, opened.about))
    if sheet is not None:
        gallery = Gallery(opened)
        write_sheet(sheet, [[(gallery.place(item), None)] for item in asked], hits, opened)
    results.deliver(hits, output, "item", [str(name) for name in asked])


@app.command()
def explain(
    index: o.IndexPath,
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES", help=f"Query vectors, one per row ({o.FILES}); or a picture; or a folder of them."
        ),
    ],
    item: Annotated[str, typer.Argument(metavar="ID", help="Item to explain: its id, or the path of a picture.")],
    row: Annotated[int, typer.Option(help="Which of the QUERIES, counted from 0.")] = 0,
    box: p.Boxes = None,
    encoder: p.SameEncoder = None,
    filter: o.IndexFilter = None,
    neighbors: o.NeighborsOption = None,
) -> None:
    """Explain why an item was found.

    A search begins at the nearest neighbours of the query and spreads along the graph. This shows which share of what
    reaches the item comes from each of these neighbours, and the strongest way through the graph from the query to it.

    \b
    longwave explain photos.longwave queries.npy 4711 --row 3
    longwave explain holiday.longwave beach.jpg sea.jpg
    """
    opened = Index.load(index)
    asked = question_from([queries], opened, box=box, encoder=encoder)
    query_of = np.arange(len(asked.vectors)) if asked.query_of is None else asked.query_of
    if not 0 <= row <= query_of.max():
        raise InputError(f"--row must be from 0 to {query_of.max()}, got {row}")
    (name,) = items_from([item], opened)
    h = None if filter is None else filters.parse(filter)
    print(opened.explain(asked.vectors[query_of == row], name, filter=h, neighbors=neighbors))


@app.command()
def duplicates(
    index: o.IndexPath,
    threshold: Annotated[float, typer.Option(help="The least cosine of two vectors that are nearly the same.")] = 0.98,
) -> None:
    """List items that are nearly the same, a group in each line.

    Each item of a group is as near as the threshold to the first one. There are no chains: that a is like b and b like
    c does not put a and c together.

    \b
    longwave duplicates photos.longwave
    longwave duplicates photos.longwave --threshold 0.95
    """
    for group in Index.load(index).duplicates(threshold):
        print(*group, sep="\t")


@app.command()
def pagerank(
    index: o.IndexPath,
    seeds: Annotated[
        list[str],
        typer.Argument(metavar="ID[=WEIGHT]", help="Items to begin at, all together; a weight is 1 if not said."),
    ],
    k: Annotated[int, typer.Option("-k", help="Number of hits to show.")] = 10,
    output: o.HitsFile = None,
    filter: Annotated[
        str, typer.Option("--filter", metavar="H", help="How far the walk goes: lowpass:ALPHA is PageRank's own.")
    ] = "lowpass:0.85",
    tolerance: o.Tolerance = None,
    manifold: Annotated[
        bool, typer.Option("--manifold", help="Normalise as searches with vectors do: popular items do not win.")
    ] = False,
) -> None:
    """Rank items by a walk on the graph that begins at some of them.

    Personalised PageRank: the score of an item is the share of time that the walk spends there. Needs no vectors: an
    index of a graph alone will do.

    \b
    longwave build --graph links.csv -o links.longwave
    longwave pagerank links.longwave home=2 about -k 20
    longwave pagerank links.longwave home --tolerance 1e-9
    """
    results.check_output(output, index)
    opened = Index.load(index)
    pairs = [text.rpartition("=") if "=" in text else (text, "", "1") for text in seeds]
    try:
        weights = [float(weight) for _, _, weight in pairs]
    except ValueError as error:
        raise InputError(f"a weight must be a number, as in 17=0.5: {error}") from error
    begun = dict(zip(items_from([name for name, *_ in pairs], opened), weights, strict=True))
    kind = "manifold" if manifold else "pagerank"
    hits = opened.search(seeds=begun, k=k, kind=kind, filter=filters.parse(filter), tolerance=tolerance)
    results.deliver(hits, output, "query", [" ".join(seeds)])
