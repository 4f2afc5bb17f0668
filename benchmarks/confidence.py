"""Is `hits.confidence` true? Of the queries with confidence c, the share that gains or stays equal to Euclidean search.

    python -m benchmarks.confidence        writes results/confidence.json and docs/reliability.png

Features of every query of every collection, whether its AP is at least that of Euclidean search (to a tenth of a
point), a logistic curve through them, every collection counting alike; and, for every collection, a curve that the
others were fitted with, which is what the picture shows. The constants of `longwave.search.trust` are those of the
curve through all.
"""

import warnings

import numpy as np

from benchmarks import measure
from benchmarks.collections import KINDS, load
from longwave import Euclidean, Index
from longwave.evaluation import mean_over_queries
from longwave.search.first import lists_needed, nearest_vertices
from longwave.search.queries import Queries
from longwave.search.trust import features


def observed(name):
    """Features (q, f) and outcomes (q,) of a collection."""
    data = load(name)
    index = Index.build(data.vectors, progress=False)
    queries = Queries.make(data.queries, dimension=index.dimension)
    found = nearest_vertices(index, queries.regions, lists_needed(index, 5))
    y = index.observe(queries, neighbors=index.settings.search.neighbors)
    aps = [
        mean_over_queries(index.search(data.queries, len(index), **options).ids, data.judgements).per_query
        for options in ({}, {"solver": Euclidean()})
    ]
    known = features(found, queries.query_of, queries.weights, y, index.graph)
    return known, aps[0] >= aps[1] - 0.001


def fit(sets):
    """A logistic curve, every collection counting alike. -> (f,), intercept"""
    from sklearn.linear_model import LogisticRegression

    x, y = (np.concatenate([pair[i] for pair in sets]) for i in (0, 1))
    weights = np.concatenate([np.full(len(pair[1]), 1 / len(pair[1])) for pair in sets])
    model = LogisticRegression(C=1e3).fit(x, y, sample_weight=weights * len(x) / len(sets))
    return model.coef_[0], float(model.intercept_[0])


def predicted(x, curve):
    return 1 / (1 + np.exp(-(x @ curve[0] + curve[1])))


def draw(bins, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.plot([b["confidence"] for b in bins], [b["share"] for b in bins], "o-", color="#1f6f8b")
    for b in bins:
        axes.annotate(
            f"{b['queries']}", (b["confidence"], b["share"]), textcoords="offset points", xytext=(6, -10), size=7
        )
    axes.set(xlabel="confidence, by a curve that did not see the collection", ylabel="share that gains or stays equal")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", title="Queries of sixteen collections")
    figure.savefig(path, dpi=150)


def main():
    warnings.simplefilter("ignore")
    sets = {name: observed(name) for name in KINDS}
    curve = fit(list(sets.values()))
    told, happened, weights = [], [], []
    for name, (x, y) in sets.items():
        own = predicted(x, fit([pair for other, pair in sets.items() if other != name]))
        told.append(own)
        happened.append(y)
        weights.append(np.full(len(y), 1 / len(y)))
        print(f"{name:9} told {own.mean():.2f}  happened {y.mean():.2f}  {np.mean(x, axis=0).round(2)}", flush=True)
    told, happened, weights = (np.concatenate(parts) for parts in (told, happened, weights))
    order = np.argsort(told)
    bins = [
        {
            "confidence": float(np.average(told[part], weights=weights[part])),
            "share": float(np.average(happened[part], weights=weights[part])),
            "queries": len(part),
        }
        for part in np.array_split(order, 8)
    ]
    off = float(np.mean([abs(b["confidence"] - b["share"]) for b in bins]))
    print("coefficients", curve, "mean deviation of the bins", off)
    measure.save("confidence", {"coefficients": [*map(float, curve[0]), curve[1]], "bins": bins, "deviation": off})
    draw(bins, measure.RESULTS.parents[1] / "docs" / "reliability.png")


if __name__ == "__main__":
    main()
