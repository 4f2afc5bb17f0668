"""When not to: the confidence of a query."""

import numpy as np
import pytest
import scipy.sparse as sp

import longwave as lw
from longwave.graph.mutual import Graph
from longwave.search.trust import connected_share, prominence, reciprocity
from longwave.types import Neighbors


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
    assert real.mean() > other.mean() + 0.1


def test_confidence_of_several_regions_is_between_theirs(index, digits_split):
    noise = np.random.default_rng(0).uniform(0, 16, 64)
    rows = np.vstack([digits_split[2][0], noise])
    both = index.search(rows, 5, query_groups=[0, 0], weights=[3, 1]).confidence[0]
    one, two = index.search(rows, 5).confidence
    assert min(one, two) < both < max(one, two)


def test_the_nearest_stands_out():
    lists = Neighbors(np.array([[0, 1, 2], [2, 1, -1]]), np.array([[0.9, 0.5, 0.0], [0.5, 0.5, -np.inf]]))
    assert np.allclose(prominence(lists), [0.9, 0])


def test_confidence_is_the_same_on_the_fast_plan(index, digits_split):
    quick = index.accelerate(first=None, second="HNSW16")
    for query in digits_split[2][:5]:
        assert quick.search(query, 10).confidence == index.search(query, 10).confidence


def test_a_query_that_reaches_nothing_has_no_confidence(index):
    blind = lw.Index.build(np.abs(np.random.default_rng(0).normal(size=(40, 6))), gamma=3, progress=False)
    with pytest.warns(lw.LongwaveWarning, match="no positive similarity"):
        found = blind.search(-np.ones(6), 3)
    assert found.confidence == 0


def test_a_tiny_collection_is_trusted_with_its_own_items():
    vectors, _ = lw.datasets.arcs()
    index = lw.Index.build(vectors[:8], k=3, spectrum=lw.Exact())
    assert (index.search(vectors[:8], 3, neighbors=3).confidence > 0).any()
