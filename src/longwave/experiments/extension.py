"""The graph built on a part of the data, the rest expressed by its neighbours in it (§8.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from longwave.experiments.experiment import Check, Data, Experiment, Session, Table
from longwave.experiments.measure import EUCLIDEAN, PRINTED, build, mean_ap
from longwave.experiments.sets import oxford
from longwave.experiments.style import finish, line, panels
from longwave.index import PAPER, Index
from longwave.spectrum import Chebyshev

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (100, 90, 70, 50, 30, 10)
_PAPER = (80.5, 80.1, 78.3, 75.8, 70.2, 40.6)
_PAPER_EUCLIDEAN = 62.6  # INSTRE, 2,048 dimensions, Table 1


def run(session: Session) -> dict[str, Any]:
    """For every share: a random part is the graph, the others are added with `extend`; mAP over all of them."""
    data = oxford(session)
    n, top = len(data.vectors), 150 if session.quick else 500
    shares = (100, 50, 10) if session.quick else SHARES
    found: dict[str, list[float]] = {"normalized": [], "printed": []}
    for share in shares:
        order = np.random.default_rng(session.seed).permutation(n)
        inside, outside = np.sort(order[: n * share // 100]), np.sort(order[n * share // 100 :])
        rank = min(top, len(inside) // 2)
        index = Index.build(
            data.vectors[inside], ids=inside, spectrum=Chebyshev(rank), seed=session.seed, progress=False, **PAPER
        )
        for name, values in found.items():
            whole = index
            if len(outside):
                whole = index.extend(data.vectors[outside], ids=outside, normalized=name == "normalized")
            values.append(mean_ap(PRINTED, whole, data))
    euclidean = mean_ap(EUCLIDEAN, build(data, k=5, spectrum=None), data)
    return {"shares": list(shares), "rank": top, "euclidean": euclidean, **found}


def draw(results: Data, times: Data) -> Figure:
    """Ours in two normalisations, the paper's on INSTRE."""
    figure, (axes,) = panels()
    line(axes, results["shares"], results["normalized"], 0, "Oxford, ψ divided by its sum (default)")
    line(axes, results["shares"], results["printed"], 1, "Oxford, ψ as printed")
    line(axes, SHARES, _PAPER, 7, "INSTRE, the paper", linestyle="--")
    axes.axhline(results["euclidean"], color="#555555", linestyle=":", linewidth=1, label="Oxford, Euclidean")
    finish(axes, x="% of the data that the graph is built on", y="mAP", ticks=SHARES)
    axes.invert_xaxis()
    return figure


def tables(results: Data, times: Data) -> list[Table]:
    """Share by share."""
    paper = dict(zip(SHARES, _PAPER, strict=True))
    rows = [
        [f"{share} %", f"{a:.1f}", f"{b:.1f}", f"{paper[share]:.1f}"]
        for share, a, b in zip(results["shares"], results["normalized"], results["printed"], strict=True)
    ]
    return [Table("mAP on the whole collection", ("graph on", "default", "ψ as printed", "paper, INSTRE"), rows)]


def checks(results: Data, times: Data) -> list[Check]:
    """Graceful as the paper's: as much of the gain over Euclidean search is kept at 30 %, and the fall comes after."""
    at = dict(zip(results["shares"], results["normalized"], strict=True))
    share = 30 if 30 in at else 50
    kept = (at[share] - results["euclidean"]) / (at[100] - results["euclidean"])
    theirs = (_PAPER[SHARES.index(share)] - _PAPER_EUCLIDEAN) / (_PAPER[0] - _PAPER_EUCLIDEAN)
    return [
        Check(
            f"Extension degrades gracefully until about 30 % (measured at {share} %)",
            f"{at[100]:.1f} at 100 %, {at[share]:.1f} at {share} %, {at[10]:.1f} at 10 %: at {share} % {kept:.0%} "
            f"of the gain over Euclidean search ({results['euclidean']:.1f}) is kept, in the paper {theirs:.0%}",
            kept >= theirs and at[share] - at[10] > at[100] - at[share],
        )
    ]


EXPERIMENT = Experiment(
    "extension",
    "New images without a rebuild",
    "“When new images are added” of §8.2",
    "Images outside of the graph are expressed by their neighbours in it. The paper's drop is graceful until 30 %.",
    run,
    draw,
    checks,
    tables,
    needs=("oxford",),
)
