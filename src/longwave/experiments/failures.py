"""Figure 3: the queries with the lowest AP and what is ranked before their positives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from longwave.datasets import shared
from longwave.errors import MissingExtraError
from longwave.experiments.experiment import Data, Experiment, Session, Table
from longwave.experiments.measure import PRINTED, precisions
from longwave.experiments.plots import new_figure
from longwave.experiments.sets import oxford, oxford_index

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_QUERIES, _NEGATIVES = 4, 8


def run(session: Session) -> dict[str, Any]:
    """Names and ranks; junk is taken out of the ranking first, as the protocol does."""
    data, index = oxford(session), oxford_index(session)
    assert data.classes is not None
    names = shared.oxford_names(session.data)
    values = precisions(PRINTED, index, data)
    ranked = PRINTED(index, data.queries, len(index)).ids
    found = []
    for query in np.argsort(values, kind="stable")[:_QUERIES].tolist():
        judged = data.judgements[query]
        kept = ranked[query][~np.isin(ranked[query], list(judged.junk))]
        wrong = np.flatnonzero(~np.isin(kept, list(judged.positive)))[:_NEGATIVES]
        found.append(
            {
                "query": f"{data.classes[query]}_{query % 5 + 1}",
                "AP": round(float(values[query]), 1),
                "positives": len(judged.positive),
                "negatives": [{"image": names[kept[place]], "rank": int(place) + 1} for place in wrong],
            }
        )
    return {"lowest": found}


def tables(results: Data, times: Data) -> list[Table]:
    """A row per query."""
    rows = [
        [
            entry["query"].replace("_", " "),
            f"{entry['AP']:.1f}",
            entry["positives"],
            ", ".join(f"#{n['rank']} {n['image']}" for n in entry["negatives"]),
        ]
        for entry in results["lowest"]
    ]
    note = "Names of the photographs say which building the search for pictures was for, not always what they show."
    return [Table("The lowest AP", ("query", "AP", "positives", "top-ranked negatives"), rows, note)]


def contact_sheet(results: Data, pictures: Path) -> Figure:
    """The same with the photographs, where they are at hand: a query's negatives with their ranks."""
    try:
        from matplotlib.image import imread
    except ImportError:
        raise MissingExtraError("drawing", "plots") from None
    figure = new_figure(1.15 * (_NEGATIVES + 1), 1.25 * len(results["lowest"]) + 0.3)
    grid = figure.subplots(len(results["lowest"]), _NEGATIVES + 1, squeeze=False)
    for row, entry in zip(grid, results["lowest"], strict=True):
        row[0].text(
            0.5, 0.5, f"{entry['query'].replace('_', ' ')}\nAP {entry['AP']}", ha="center", va="center", fontsize=8
        )
        for axes in row:
            axes.axis("off")
        for axes, negative in zip(row[1:], entry["negatives"], strict=False):
            file = pictures / f"{negative['image']}.jpg"
            if file.is_file():
                axes.imshow(imread(file))
            else:
                axes.text(0.5, 0.5, negative["image"].replace("_", "\n"), ha="center", va="center", fontsize=6)
            axes.set_title(f"#{negative['rank']}", fontsize=8, color="#c2302e", pad=2)
    return figure


EXPERIMENT = Experiment(
    "failures",
    "The lowest-AP queries and their top-ranked negatives",
    "Figure 3",
    "In the paper most of these are labelled wrongly, on Paris6k at an AP of 92; with our weaker descriptors they "
    "are true confusions: ever further buildings of the same kind (“topic drift”).",
    run,
    tables=tables,
    needs=("oxford",),
)
