"""Several vectors for each item, and several for one query: one hit for each item."""

import numpy as np

import longwave as lw

rng = np.random.default_rng(0)
places = rng.normal(size=(40, 32))  # forty places, seen from many sides
photo_of = np.repeat(np.arange(200), 3)  # three regions per photograph
place_of = rng.integers(0, 40, size=600)
regions = places[place_of] + 0.6 * rng.normal(size=(600, 32))

index = lw.Index.build(regions, groups=photo_of, k=10)
hits = index.search(regions[:3], k=5, query_groups=[0, 0, 0], cut=20)  # photograph 0 as the query
print("nearest to photograph 0:", hits.ids[0])
