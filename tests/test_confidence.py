"""When not to: confidence of a query, and the blend that leans on it."""

import numpy as np
import pytest
import scipy.sparse as sp

import longwave as lw
from longwave.confidence import connected_share, reciprocity
from longwave.errors import InputError
from longwave.ranking import Lean, lean_scores, lean_weights
from longwave.types import Graph, Neighbors


def test_reciprocity_is_the_share_of_neighbours_that_would_take_the_query():
    reach = np.array([0.9, 0.5, 0.7], dtype=np.float32)
    lists = Neighbors(np.array([[0, 1, 2], [2, 1, -1]]), np.array([[0.8, 0.6, 0.7], [0.6, 0.4, -np.inf]]))
    assert np.allclose(reciprocity(lists, reach), [2 / 3, 0])


def test_what_falls_on_small_components_is_not_trusted():
    graph = Graph(sp.csr_array((4, 4)), np.zeros(4), np.array([0, 0, 0, 1]), np.zeros(4, dtype=np.float32))
    y = sp.csr_array(np.array([[1.0, 0, 0, 3.0], [0, 2.0, 0, 0], [0, 0, 0, 0]]))
    assert np.allclose(connected_share(y, graph, more_than=2), [0.25, 1, 0])


@pytest.fixture(scope="module")
def index(digits_split):
    return lw.Index.build(digits_split[0], k=20, spectrum=lw.Chebyshev(60))


def test_queries_of_the_collection_are_trusted_more_than_noise(index, digits_split):
    noise = np.random.default_rng(0).uniform(0, 16, digits_split[2].shape)
    real, other = (index.search(q, 5).confidence for q in (digits_split[2], noise))
    assert ((real >= 0) & (real <= 1)).all()
    assert real.mean() > 0.7
    assert other.mean() < 0.2


def test_confidence_of_several_regions_is_their_weighted_mean(index, digits_split):
    noise = np.random.default_rng(0).uniform(0, 16, 64)
    rows = np.vstack([digits_split[2][0], noise])
    both = index.search(rows, 5, query_groups=[0, 0], weights=[3, 1]).confidence[0]
    one, two = index.search(rows, 5).confidence
    assert np.isclose(both, (3 * one + two) / 4, atol=0.02)


def test_trusted_queries_keep_the_order_of_the_manifold(index, digits_split):
    plain, leaning = (index.search(digits_split[2], 50, blend=b) for b in (0, "auto"))
    trusted = leaning.confidence >= 0.9
    assert trusted.any()
    assert not trusted.all()
    assert np.array_equal(plain.ids[trusted], leaning.ids[trusted])


def test_untrusted_queries_lean_to_euclidean(index):
    noise = np.random.default_rng(1).uniform(0, 16, (20, 64))
    near = index.search(noise, 50, solver=lw.Euclidean()).ids
    found = {b: index.search(noise, 50, blend=b).ids for b in (0, "auto")}
    overlap = {b: np.mean([len(np.intersect1d(a, e)) for a, e in zip(found[b], near, strict=True)]) for b in found}
    assert overlap["auto"] > overlap[0] + 5


def test_the_formula():
    x, s = np.array([[1.0, 1e-4, 0.0, -1e-8]]), np.array([[0.5, 1.0, 0.25, 0.0]])
    weights = lean_weights(Lean(), np.array([0.45]))
    assert np.allclose(weights, 0.5)
    assert np.allclose(lean_scores(x, s, weights), [[1.25, 0.6, 0.125, -0.01]], atol=1e-6)
    assert np.allclose(lean_weights(Lean(), np.array([0.9, 1.0, 0.0])), [0, 0, 1])
    assert np.allclose(lean_weights(Lean(1.5), np.array([0.9, 0.0])), [1.5, 2.5])


def test_candidates_lean_like_the_whole_scan(index, digits_split):
    quick = index.accelerate(first=None, second="HNSW16")
    noise = np.random.default_rng(2).uniform(0, 16, (3, 64))
    for query in np.vstack([digits_split[2][:5], noise]):
        a, b = (i.search(query, 10, blend="auto") for i in (quick, index))
        assert len(np.intersect1d(a.ids, b.ids)) >= 8
        assert a.confidence == b.confidence


def test_blend_is_a_weight_or_auto(index, digits_split):
    for wrong in ("sometimes", "auto:much", "auto:-1"):
        with pytest.raises(InputError, match="'auto"):
            index.search(digits_split[2][0], blend=wrong)


def test_all_negative_scores_keep_their_order():
    """A query of nothing but negative examples, and a query that is unlike everything."""
    assert np.argsort(-lean_scores(np.array([[-1.0, -3.0, -2.0]]), None, np.zeros(1)))[0].tolist() == [0, 2, 1]
    similar = np.array([[-0.3, -0.1, -0.2]])
    assert np.argsort(-lean_scores(np.zeros((1, 3)), similar, np.ones(1)))[0].tolist() == [1, 2, 0]


def test_a_tiny_collection_is_trusted_with_its_own_items():
    vectors, _ = lw.datasets.arcs()
    index = lw.Index.build(vectors[:8], k=3, spectrum=lw.Exact())
    assert (index.search(vectors[:8], 3, neighbors=3).confidence > 0).any()
