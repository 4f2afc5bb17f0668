"""Manifold search on sentence embeddings with relevance judgements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from longwave.baselines import QueryExpansion, Ranker
from longwave.datasets import shared
from longwave.evaluation import Judgement, mean_over_queries, precision_at
from longwave.experiments.experiment import Check, Data, Experiment, Session, Table
from longwave.experiments.measure import EUCLIDEAN, EXACT, build, mean_ap
from longwave.filters import LowPass
from longwave.index import Index
from longwave.search.blending import Blend
from longwave.types import Array


def run(session: Session) -> dict[str, Any]:
    """Four collections, five ways; mAP, and precision among the first ten."""
    mild = replace(EXACT, filter=LowPass(0.9), neighbors=3)
    found: dict[str, Any] = {}
    for name in ("cran", "med") if session.quick else shared.CLASSIC_TEXTS:
        data = shared.text(name, session.data)
        wide, narrow = build(data, k=50, spectrum=None), build(data, k=10, spectrum=None)
        cases: dict[str, tuple[Ranker, Index]] = {
            "Euclidean": (EUCLIDEAN, narrow),
            "AQE, 3": (QueryExpansion(3), narrow),
            "k 50, 10, α 0.99": (EXACT, wide),
            "k 50, 10, α 0.9": (replace(EXACT, filter=LowPass(0.9)), wide),
            "k 10, 3, α 0.9": (mild, narrow),
            "k 10, 3, α 0.9 + Euclidean": (replace(mild, blend=Blend(1.0, everywhere=True)), narrow),
        }
        found[name] = {"items": data.n_items, "queries": len(data.judgements), "mAP": {}, "P@10": {}}
        for case, (ranker, index) in cases.items():
            found[name]["mAP"][case] = mean_ap(ranker, index, data)
            hits = ranker(index, data.queries, len(index))
            mean = mean_over_queries(hits.ids, data.judgements, _first_ten)
            found[name]["P@10"][case] = round(100 * mean.value, 2)
    return found


def _first_ten(ranked: Array, judgement: Judgement) -> float:
    return precision_at(ranked, judgement, 10)


def tables(results: Data, times: Data) -> list[Table]:
    """A row per collection and measure."""
    cases = list(next(iter(results.values()))["mAP"])
    rows = [
        [f"{name} ({found['items']:,})", measure, *(f"{found[measure][case]:.1f}" for case in cases)]
        for name, found in results.items()
        for measure in ("mAP", "P@10")
    ]
    note = (
        "Sentence embeddings (all-MiniLM-L6-v2). Relevance of texts is not transitive as that of photographs of one "
        "building is: wide filters drift. A narrow one with Euclidean similarity added gains on cran "
        "and med, next to nothing on cisi, and loses half a point on npl."
    )
    return [Table("Euclidean against manifold on texts", ("collection", "measure", *cases), rows, note)]


def checks(results: Data, times: Data) -> list[Check]:
    """Not a claim of the paper: what a user may rely on."""
    safe, plain = "k 10, 3, α 0.9 + Euclidean", "Euclidean"
    differences = {name: f["mAP"][safe] - f["mAP"][plain] for name, f in results.items()}
    drift = {name: f["mAP"]["k 50, 10, α 0.99"] - f["mAP"][plain] for name, f in results.items()}
    return [
        Check(
            "Texts: narrow diffusion with Euclidean similarity added is at least as good as Euclidean search (ours)",
            "; ".join(
                f"{name} {d:+.1f} (the paper's parameters {drift[name]:+.1f})" for name, d in differences.items()
            ),
            all(d >= -0.05 for d in differences.values()),
        )
    ]


EXPERIMENT = Experiment(
    "texts",
    "Text: sentence embeddings with relevance judgements",
    "beyond the paper",
    "Four classic collections. Manifold search with the parameters of photographs loses; with cautious ones it gains "
    "on some and costs little on the others.",
    run,
    checks=checks,
    tables=tables,
    needs=tuple(f"text_{name}" for name in shared.CLASSIC_TEXTS),
    quick_needs=("text_cran", "text_med"),
)
