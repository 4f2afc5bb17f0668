"""Rows in fewer bytes: what is decoded, what is multiplied, and how far both are from the numbers given."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.errors import InputError
from longwave.rows.encoded import compact, compress, products, relative_error
from longwave.spectrum.basis import Basis, Part


@pytest.fixture(scope="module")
def rows(digits_split):
    vectors = digits_split[0].astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# float16 has 11 bits: half a unit of the last is 2^-12 of the number. int8: half of 1/127 of the row's largest entry.
@pytest.mark.parametrize(("kind", "error", "per_number"), [("float16", 3e-4, 2), ("int8", 1e-2, 1)])
def test_numbers_in_fewer_bytes(rows, kind, error, per_number):
    stored = compact(rows, kind)
    assert 0 < relative_error(rows, stored) < error
    assert stored.nbytes <= rows.size * per_number + 4 * len(rows)
    assert np.allclose(stored[5:9], rows[5:9], atol=error)
    assert stored[np.array([3, 3, 1])].shape == (3, 64)
    for queries in (rows[:1], rows[:7]):  # one in compiled code, several by blocks
        assert np.allclose(products(queries, stored), queries @ stored[:].T, atol=1e-5)


def test_half_floats_of_every_size_are_multiplied_right():
    sizes = np.float32(10.0) ** np.arange(-8, 5)  # from below the smallest normal float16 to near the largest
    stored = compact(np.concatenate([sizes, -sizes, [0]])[:, None].astype(np.float32), "float16")
    for size in (1.0, 1e-20, 1e6):  # of the query
        query = np.full((1, 1), size, dtype=np.float32)
        assert np.allclose(products(query, stored)[0], stored[:][:, 0] * query[0], rtol=1e-6, atol=0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 5), st.integers(1, 40), st.integers(0, 2**31))
def test_scans_agree_with_the_decoded_rows(n, d, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)).astype(np.float32)
    rows[::2] = 0
    query = rng.standard_normal((1, d)).astype(np.float32)
    for kind in ("float16", "int8"):
        stored = compact(rows, kind)
        assert np.allclose(products(query, stored), query @ stored[:].T, atol=1e-4)


def test_product_quantisation_decodes(rows):
    stored = compress(rows, "PQ16x4")
    assert stored.nbytes == 8 * len(rows)
    assert 0.05 < relative_error(rows, stored) < 0.5
    assert np.allclose(products(rows[:3], stored), rows[:3] @ stored[:].T, atol=1e-5)


@pytest.mark.parametrize("kind", ["PQ7", "float15", "HNSW"])
def test_kinds_that_cannot_be_stored(rows, kind):
    with pytest.raises(InputError, match="use float16, int8, or PQ"):
        compress(rows, kind)


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_a_compressed_basis_transforms_like_the_whole_one(kind):
    rng = np.random.default_rng(1)
    dense = Part(np.arange(0, 50, 2), rng.standard_normal((25, 6)).astype(np.float32) / 5)
    whole = Basis(50, (dense,), sp.random_array((50, 4), density=0.2, rng=rng, format="csr"))
    small = whole.compress(kind)
    waves = rng.standard_normal((3, 10)).astype(np.float32)
    signals = sp.random_array((3, 50), density=0.2, rng=rng, format="csr").astype(np.float32)
    for q in (slice(0, 1), slice(0, 3)):
        assert np.allclose(small.synthesize(waves[q]), whole.synthesize(waves[q]), atol=0.05)
    assert np.allclose(small.project(signals), whole.project(signals), atol=0.05)
    assert np.allclose(small.project(signals.toarray()), small.project(signals), atol=1e-5)


def test_one_query_reads_only_the_lists_that_it_touches():
    rng = np.random.default_rng(2)
    lists = sp.csc_array(sp.random_array((40, 8), density=0.3, rng=rng)).astype(np.float32)
    basis = Basis.from_sparse(lists)
    waves = np.zeros((1, 8), dtype=np.float32)
    waves[0, [2, 5]] = 1, -2
    expected = (lists @ waves[0]).astype(np.float32)
    lists.data[lists.indptr[3] : lists.indptr[4]] = np.nan  # a list that must not be read
    object.__setattr__(basis, "by_column", lists)
    assert np.allclose(basis.synthesize(waves)[0], expected, atol=1e-6)
