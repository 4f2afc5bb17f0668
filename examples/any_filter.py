"""Choose the filter when you search: one index, from near neighbours to the whole group."""

import numpy as np

import longwave as lw

vectors, query = lw.datasets.arcs()
index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
for h in (lw.LowPass(0.1), lw.LowPass(0.99), lw.Heat(2.0), lambda eigenvalues: np.exp(5 * eigenvalues)):
    hits = index.search(query, k=6, neighbors=1, filter=h)
    print(hits.ids[0], hits.scores[0].round(4))
