"""What a new user gets: `Index.build(vectors)` and `index.search(queries)`, nothing else said, on every collection.

    python -m benchmarks.automatic [again]       again: keep the grid of the last run, which takes most of the time

Beside it Euclidean search, the paper's own setting (`Index.build(vectors, **PAPER)`), and the best of a grid that saw
the labels, on twelve of them: k 5/10/20/50 × neighbours 1/3/5/10/20 × α .5/.8/.9/.95/.99, γ 3, with and without
x / max x + s / max s, exact solutions. mAP, and precision of the first 1 and 20 hits.
"""

import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks import measure
from benchmarks.collections import KINDS, load
from longwave import PAPER, ConjugateGradient, Euclidean, Index, LowPass, Power
from longwave.evaluation import mean_average_precision
from longwave.graph.lists import nearest, nearest_others
from longwave.graph.mutual import build
from longwave.search.observation import observe
from longwave.solvers import System
from longwave.types import Neighbors

#: Collections whose grid is computed.
GRIDS = ("coil20", "orl", "jaffe", "usps", "digits", "mpeg7", "oxford", "isolet", "cran", "med", "cisi", "npl")
KS, NEIGHBORS, ALPHAS = (5, 10, 20, 50), (1, 3, 5, 10, 20), (0.5, 0.8, 0.9, 0.95, 0.99)


def of_peak(scores):
    return scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-30)


def grid(data):
    """mAP of every setting of the grid: {(k, neighbours, α, with Euclidean): mAP}."""
    lists = nearest_others(data.vectors, k=max(KS))
    found = nearest(data.queries, data.vectors, k=max(NEIGHBORS))
    plain = of_peak(data.queries @ data.vectors.T)
    own, n = np.arange(len(data.queries)), len(data.vectors)

    def precision(scores):
        return 100 * mean_average_precision(np.argsort(-scores, axis=1, kind="stable"), data.judgements)

    values = {}
    for k in KS:
        matrix = build(Neighbors(lists.ids[:, :k], lists.similarities[:, :k]), kernel=Power(3.0)).normalized
        y = [observe(found, own, count=count, n_vertices=n, kernel=Power(3.0)) for count in NEIGHBORS]
        for alpha in ALPHAS:
            solved = ConjugateGradient(1e-5)(System(matrix, None), sp.csr_array(sp.vstack(y)), LowPass(alpha)).scores
            for count, scores in zip(NEIGHBORS, np.split(solved, len(NEIGHBORS)), strict=True):
                values[k, count, alpha, False] = precision(scores)
                values[k, count, alpha, True] = precision(of_peak(scores) + plain)
    return values


def oracle(data):
    values = grid(data)
    best = max(values, key=values.get)
    return {
        "oracle": values[best],
        "oracle_setting": dict(zip(("k", "neighbors", "alpha", "with_euclidean"), best, strict=True)),
    }


def judged(index, data, **options):
    """mAP, and precision of the first 1 and 20 hits, in per cent."""
    ids = index.search(data.queries, len(index), **options).ids
    right = [np.isin(row[:20], list(j.positive)) for row, j in zip(ids, data.judgements, strict=True)]
    firsts = {f"P@{m}": 100 * float(np.mean([hits[:m].mean() for hits in right])) for m in (1, 20)}
    return {"mAP": 100 * mean_average_precision(ids, data.judgements), **firsts}


def row(name, known):
    data = load(name)
    start = time.perf_counter()
    index = Index.build(data.vectors, progress=False)
    seconds = time.perf_counter() - start
    paper = Index.build(data.vectors, spectrum=None, progress=False, **PAPER)
    return {
        "n": len(data.vectors),
        "queries": len(data.queries),
        "euclidean": judged(index, data, solver=Euclidean()),
        "paper": judged(paper, data, solver=ConjugateGradient(1e-5)),
        "default": judged(index, data),
        "default_exact": judged(index, data, solver=ConjugateGradient(1e-5)),
        **(known if known else oracle(data) if name in GRIDS else {"oracle": None, "oracle_setting": None}),
        "rank": index.settings.rank,
        "fidelity": index.settings.fidelity,
        "confidence": float(index.search(data.queries, 10).confidence.mean()),
        "build_seconds": seconds,
    }


def main(again=None):
    warnings.simplefilter("ignore")
    earlier = json.loads((measure.RESULTS / "automatic.json").read_text())["rows"] if again else {}
    rows = {}
    for name in KINDS:
        known = earlier.get(name) if name in GRIDS else None
        kept = {key: known[key] for key in ("oracle", "oracle_setting")} if known else None
        r = rows[name] = row(name, kept)
        print(
            f"{name:9} Euclidean {r['euclidean']['mAP']:.1f}  paper {r['paper']['mAP']:.1f}  default "
            f"{r['default']['mAP']:.1f} (exact {r['default_exact']['mAP']:.1f})  oracle {r['oracle'] or np.nan:.1f}  "
            f"P@1 {r['euclidean']['P@1']:.1f} {r['default']['P@1']:.1f}  P@20 {r['euclidean']['P@20']:.1f} "
            f"{r['default']['P@20']:.1f}  rank {r['rank']}  {r['build_seconds']:.1f} s",
            flush=True,
        )
    gains = {name: r["default"]["mAP"] - r["euclidean"]["mAP"] for name, r in rows.items()}
    summary = {
        "smallest_gain": min(gains.values()),
        "mean_gain_not_texts": float(np.mean([g for name, g in gains.items() if KINDS[name] != "texts"])),
        "mean_gain_texts": float(np.mean([g for name, g in gains.items() if KINDS[name] == "texts"])),
        "mean_behind_oracle": float(np.mean([rows[name]["oracle"] - rows[name]["default"]["mAP"] for name in GRIDS])),
        "largest_loss_by_the_basis": max(r["default_exact"]["mAP"] - r["default"]["mAP"] for r in rows.values()),
    }
    print(summary)
    measure.save("automatic", {"rows": rows, "summary": summary})


if __name__ == "__main__":
    main(*sys.argv[1:2])
