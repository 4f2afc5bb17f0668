"""End the list where relevance ends, fold near-duplicates, and ask for hits that differ."""

import numpy as np

import longwave as lw

data = lw.datasets.digits()
queries, rest = lw.datasets.held_out(len(data.vectors), n_queries=50)
again = data.vectors[rest[:300]] + np.random.default_rng(0).normal(scale=0.2, size=(300, 64))  # taken twice
index = lw.Index.build(np.vstack([data.vectors[rest], again]), progress=False)
labels = np.concatenate([data.labels[rest], data.labels[rest[:300]]])

hits = index.search(data.vectors[queries], k="auto")
for row in range(3):
    right = labels[hits.ids[row, : hits.counts[row]]] == data.labels[queries[row]]
    print(f"query {row}: {hits.counts[row]} hits are relevant by their scores, {right.mean():.0%} of them are")

folded = index.search(data.vectors[queries[:1]], k=5, fold=0.998)
print("folded:", {hit: under for hit, under in zip(folded.ids[0].tolist(), folded.folded[0], strict=True) if under})
print("groups of near-duplicates:", len(index.duplicates(0.998)))
print("diverse:", index.search(data.vectors[queries[:1]], k=5, diversity=0.3).ids[0])
