"""One automatic setting for everything: Euclidean, the paper's defaults, the best of a grid that saw labels, `auto`.

    python -m benchmarks.automatic [again]       again: keep the grid of the last run, which takes most of the time

mAP of the exact solve for the paper's defaults (k 50, 10 neighbours, α 0.99, γ 3) and for the grid: k 5/10/20/50 ×
neighbours 1/3/5/10/20 × α .5/.8/.9/.95/.99, γ 3, with and without x / max x + s / max s. `auto` is
`Index.build(vectors, auto=True)` and `index.search(queries)`, nothing else said. The constants behind it (the fall of
the weights, the default k and α, the confidence that is enough) were chosen while looking at these sets.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse as sp

from benchmarks import measure
from longwave import Euclidean, Index, LowPass
from longwave.datasets import shared
from longwave.evaluation import mean_average_precision
from longwave.graph import build
from longwave.neighbors import nearest, nearest_others
from longwave.observation import observe
from longwave.solvers import ConjugateGradient, System
from longwave.types import Neighbors
from longwave.vectors import normalize

KS, NEIGHBORS, ALPHAS = (5, 10, 20, 50), (1, 3, 5, 10, 20), (0.5, 0.8, 0.9, 0.95, 0.99)
IMAGES = ("coil20", "orl", "jaffe", "usps", "isolet", "mpeg7", "digits", "oxford")


def collection(name):
    if name == "oxford":
        return shared.oxford()
    return shared.text(name) if name in shared.TEXTS else shared.labelled(name)


def precision(scores, judgements):
    ranked = np.argsort(-scores, axis=1, kind="stable")
    return 100 * mean_average_precision(ranked, judgements)


def of_peak(scores):
    return scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-30)


def grid(vectors, queries, judgements):
    """mAP of every setting of the grid: {(k, neighbours, α, with Euclidean): mAP}."""
    lists = nearest_others(vectors, k=max(KS))
    found = nearest(queries, vectors, k=max(NEIGHBORS))
    plain = of_peak(queries @ vectors.T)
    values = {}
    for k in KS:
        matrix = build(Neighbors(lists.ids[:, :k], lists.similarities[:, :k]), kernel=Power(3.0)).normalized
        near = [Neighbors(found.ids[:, :m], found.similarities[:, :m]) for m in NEIGHBORS]
        y = [observe(part, np.arange(len(queries)), n_vertices=len(vectors), kernel=Power(3.0)) for part in near]
        for alpha in ALPHAS:
            solved = ConjugateGradient(1e-5)(System(matrix, None), sp.csr_array(sp.vstack(y)), LowPass(alpha)).scores
            for count, scores in zip(NEIGHBORS, np.split(solved, len(NEIGHBORS)), strict=True):
                values[k, count, alpha, False] = precision(scores, judgements)
                values[k, count, alpha, True] = precision(of_peak(scores) + plain, judgements)
    return values


def row(name, known=None):
    data = collection(name)
    kept = [q for q, judgement in enumerate(data.judgements) if judgement.positive]
    judgements = [data.judgements[q] for q in kept]
    vectors, queries = normalize(data.vectors), normalize(data.queries[kept])
    if known is None:
        values = grid(vectors, queries, judgements)
        best = max(values, key=values.get)
        setting = dict(zip(("k", "neighbors", "alpha", "with_euclidean"), best, strict=True))
        known = {"paper": values[50, 10, 0.99, False], "oracle": values[best], "oracle_setting": setting}
    start = time.perf_counter()
    index = Index.build(vectors, auto=True)
    seconds = time.perf_counter() - start

    def search(**options):
        return 100 * mean_average_precision(index.search(queries, len(index), **options).ids, judgements)

    return {
        "n": len(vectors),
        "queries": len(queries),
        "euclidean": search(solver=Euclidean()),
        **{key: known[key] for key in ("paper", "oracle", "oracle_setting")},
        "automatic": search(),
        "without_blend": search(blend=0),
        "found": {"k": index.settings.k, "gamma": index.settings.gamma, **vars(index.settings.search)},
        "confidence": float(index.search(queries, 10).confidence.mean()),
        "build_seconds": seconds,
    }


def main(again=None):
    earlier = json.loads((measure.RESULTS / "automatic.json").read_text())["rows"] if again else {}
    rows = {}
    for name in (*IMAGES, *shared.TEXTS):
        r = rows[name] = row(name, earlier.get(name))
        print(
            f"{name:8} Euclidean {r['euclidean']:.1f}  paper {r['paper']:.1f}  oracle {r['oracle']:.1f}  "
            f"automatic {r['automatic']:.1f}  {r['found']}  {r['build_seconds']:.0f} s",
            flush=True,
        )
    gains = {name: r["automatic"] - r["euclidean"] for name, r in rows.items()}
    summary = {
        "smallest_gain": min(gains.values()),
        "mean_gain_without_texts": float(np.mean([g for name, g in gains.items() if name in IMAGES])),
        "mean_behind_oracle": float(np.mean([r["oracle"] - r["automatic"] for r in rows.values()])),
    }
    print(summary)
    measure.save("automatic", {"rows": rows, "summary": summary})


if __name__ == "__main__":
    main(*sys.argv[1:2])
