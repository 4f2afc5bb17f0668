"""R-match against its definition."""

import numpy as np
import pytest

from longwave.baselines import rmatch
from longwave.baselines.rmatch import rmatch_scores


@pytest.mark.parametrize("block", [1, 50, 1 << 24])
def test_equals_the_definition(block, monkeypatch):
    monkeypatch.setattr(rmatch, "_BLOCK", block)
    rng = np.random.default_rng(0)
    vectors, regions = rng.normal(size=(40, 6)).astype(np.float32), rng.normal(size=(7, 6)).astype(np.float32)
    item_of = rng.permutation(np.r_[np.arange(9), rng.integers(0, 9, 31)])
    query_of = np.array([0, 0, 2, 1, 1, 1, 2])
    expected = [
        [sum((q @ vectors[item_of == i].T).max() for q in regions[query_of == j]) for i in range(9)] for j in range(3)
    ]
    np.testing.assert_allclose(rmatch_scores(regions, query_of, vectors, item_of), expected, rtol=1e-5)


def test_on_the_oxford_buildings(shared_data):
    import json

    from longwave.evaluation import Judgement, mean_average_precision
    from longwave.rows.vectors import normalize, top_k

    folder = shared_data / "oxford5k"
    names = ("regions", "region_image", "region_queries", "region_query")
    vectors, item_of, regions, query_of = (np.load(folder / f"{name}.npy") for name in names)
    scores = rmatch_scores(normalize(regions), query_of.astype(np.int64), normalize(vectors), item_of.astype(np.int64))
    entries = json.loads((folder / "truth.json").read_text())["queries"]
    judgements = [Judgement(e["positive"], e["junk"]) for e in entries]
    ids, _ = top_k(scores, scores.shape[1])
    assert 100 * mean_average_precision(ids, judgements) == pytest.approx(68.1, abs=0.1)
