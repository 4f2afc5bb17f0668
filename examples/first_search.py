"""Digits: what manifold search finds that nearest neighbours miss."""

import longwave as lw
from longwave.evaluation import label_judgements, mean_average_precision

data = lw.datasets.digits()
queries, collection = lw.datasets.held_out(len(data.vectors), n_queries=200)
index = lw.Index.build(data.vectors[collection])
judgements = label_judgements(data.labels[queries], data.labels[collection], index.ids)

for name, solver in (("Euclidean", lw.Euclidean()), ("manifold", None)):
    hits = index.search(data.vectors[queries], k=len(index), solver=solver)
    print(f"{name}: {100 * mean_average_precision(hits.ids, judgements):.1f} mAP")
