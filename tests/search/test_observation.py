"""The observation y of a query, against the paper's formulas."""

import numpy as np
import pytest

import oracle
from longwave.errors import InputError
from longwave.graph.lists import nearest
from longwave.graph.weights import Power
from longwave.rows.vectors import normalize
from longwave.search.observation import keep_largest, observe


@pytest.fixture
def setting():
    rng = np.random.default_rng(0)
    v, q = normalize(rng.normal(size=(40, 5))), normalize(rng.normal(size=(7, 5)))
    return v, q, np.array([0, 0, 1, 2, 2, 2, 1])


def test_equals_the_oracle(setting):
    v, q, query_of = setting
    y = observe(nearest(q, v, k=6), query_of, count=30, n_vertices=40, kernel=Power(3.0)).toarray()
    np.testing.assert_allclose(y, oracle.observation(v.astype(float), q.astype(float), query_of, 6, 3.0), atol=1e-6)


def test_sum_of_products_is_raised_afterwards(setting):
    v, q, query_of = setting
    y = observe(
        nearest(q, v, k=30), query_of, count=30, n_vertices=40, kernel=Power(3.0), region_sum="products"
    ).toarray()
    dots = q.astype(float) @ v.astype(float).T
    near = oracle.nearest(dots, 30)
    raw = np.zeros((3, 40))
    for row, ids in enumerate(near):
        raw[query_of[row], ids] += dots[row, ids]
    np.testing.assert_allclose(y, np.maximum(raw, 0) ** 3, atol=1e-5)
    assert (raw < 0).any()  # negative products count too
    with pytest.raises(InputError, match="similarities, products"):
        observe(nearest(q, v, k=6), query_of, count=30, n_vertices=40, kernel=Power(3.0), region_sum="raw")


def test_cut_keeps_the_largest_of_each_query(setting):
    v, q, query_of = setting
    whole = observe(nearest(q, v, k=10), query_of, count=30, n_vertices=40, kernel=Power(3.0))
    cut = observe(nearest(q, v, k=10), query_of, count=30, n_vertices=40, kernel=Power(3.0), cut=4)
    for row, kept in zip(whole.toarray(), cut.toarray(), strict=True):
        assert np.count_nonzero(kept) == 4
        np.testing.assert_array_equal(np.sort(kept[kept > 0]), np.sort(row)[-4:])
    np.testing.assert_array_equal(keep_largest(whole, 1000).toarray(), whole.toarray())


def test_a_query_without_positive_similarity_is_an_empty_row():
    v = np.eye(3, dtype=np.float32)
    y = observe(nearest(-v[:1], v, k=3), np.array([0]), count=30, n_vertices=3, kernel=Power(3.0))
    assert y.nnz == 0
    assert y.shape == (1, 3)


def test_gamma_is_applied_once():
    v = np.eye(2, dtype=np.float32)
    q = normalize(np.array([[0.8, 0.6]]))
    y = observe(nearest(q, v, k=2), np.array([0]), count=30, n_vertices=2, kernel=Power(3.0)).toarray()
    np.testing.assert_allclose(y, [[0.8**3, 0.6**3]], rtol=1e-5)
