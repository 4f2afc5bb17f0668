"""From the scores of regions to those of items."""

import numpy as np
import pytest

from longwave.errors import InputError
from longwave.items.pooling import gmp_weights, pooling_matrix
from longwave.rows.vectors import normalize


@pytest.fixture
def regions():
    rng = np.random.default_rng(0)
    item_of = rng.permutation(np.repeat(np.arange(9), [1, 1, 2, 3, 3, 5, 8, 8, 9]))
    return normalize(rng.normal(size=(len(item_of), 6))), item_of


def test_generalised_max_pooling_is_the_formula(regions):
    v, item_of = regions
    sigma = pooling_matrix(v, item_of, pooling="gmp").toarray()
    for item in range(9):
        own = np.flatnonzero(item_of == item)
        V = v[own].astype(np.float64)
        np.testing.assert_allclose(
            sigma[item, own], np.linalg.solve(V @ V.T + np.eye(len(own)), np.ones(len(own))), rtol=1e-5
        )
        assert not np.delete(sigma[item], own).any()


def test_sum_pooling_is_ones(regions):
    v, item_of = regions
    expected = (item_of[None, :] == np.arange(9)[:, None]).astype(np.float32)
    np.testing.assert_array_equal(pooling_matrix(v, item_of, pooling="sum").toarray(), expected)


def test_duplicated_regions_share_their_weight():
    v = np.array([[[1.0, 0], [1, 0], [0, 1]]], dtype=np.float32)
    np.testing.assert_allclose(gmp_weights(v)[0], [1 / 3, 1 / 3, 1 / 2])


def test_unknown_pooling(regions):
    with pytest.raises(InputError, match="one of gmp, sum, got 'max'"):
        pooling_matrix(*regions, pooling="max")
