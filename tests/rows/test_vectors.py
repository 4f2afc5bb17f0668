"""Vectors: what is accepted, made unit length, and ranked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from longwave.errors import DataWarning, InputError
from longwave.rows.vectors import check_vectors, normalize, row_blocks, top_k, unit_queries, unit_vectors


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_and_layout_becomes_unit_float32(dtype, order):
    v = np.array([[3, 4], [1, 0], [0, 7]], dtype=dtype, order=order)
    out = normalize(check_vectors(v))
    assert out.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, rtol=1e-6)


def test_huge_and_tiny_values_neither_overflow_nor_vanish():
    out = normalize(np.array([[3e300, 4e300], [3e-310, 4e-310]]))
    np.testing.assert_allclose(out, [[0.6, 0.8], [0.6, 0.8]], rtol=1e-5)


def test_memory_map_and_strides(tmp_path):
    np.save(tmp_path / "v.npy", np.arange(1, 25, dtype=np.float32).reshape(6, 4))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    np.testing.assert_array_equal(normalize(mapped[::2, ::-1]), normalize(np.array(mapped)[::2, ::-1]))


class Gradients:
    """What torch's tensors do that keep gradients."""

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([[1.0, np.nan]], ["nan", "row 0", "column 1"]),
        ([[1.0, 2.0], [-np.inf, 0.0]], ["-inf", "row 1", "column 0"]),
        (np.zeros((0, 3)), ["empty", "(0, 3)"]),
        (np.zeros((3, 0)), ["empty", "(3, 0)"]),
        (np.zeros(3), ["2-D", "(3,)"]),
        (np.zeros((2, 2, 2)), ["2-D", "(2, 2, 2)"]),
        ([["a", "b"]], ["real numbers"]),
        (np.ones((1, 2), dtype=complex), ["real numbers", "complex"]),
        (np.array([[1.0, None]], dtype=object), ["real numbers", "object", "numpy.stack"]),
        (Gradients(), ["requires grad", "vectors.detach().float().cpu().numpy()"]),
    ],
)
def test_bad_vectors_are_named(bad, words):
    with pytest.raises(InputError) as error:
        unit_vectors(bad)
    assert all(word in str(error.value) for word in words)


def test_nan_in_a_later_block_is_found():
    v = np.ones((5000, 1000), dtype=np.float32)
    v[4999, 3] = np.nan
    with pytest.raises(InputError, match="row 4999, column 3"):
        check_vectors(v)


def test_zero_rows_warn_in_a_collection_and_are_refused_as_queries():
    with pytest.warns(DataWarning, match="1 of 2 rows"):
        assert not unit_vectors([[1.0, 0.0], [0.0, 0.0]])[1].any()
    with pytest.raises(InputError, match="row 1 of queries is all zero"):
        unit_queries([[1.0, 0.0], [0.0, 0.0]], dimension=2)


def test_dimension_of_queries():
    with pytest.raises(InputError, match="3 dimensions but the index has 2"):
        unit_queries([[1.0, 2.0, 3.0]], dimension=2)
    assert unit_queries([1.0, 2.0], dimension=2).shape == (1, 2)


@settings(deadline=None, max_examples=60)
@given(
    scores=arrays(
        np.float32, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.sampled_from([-1, 0, 0.5, 2])
    ),
    k=st.integers(1, 70),
)
def test_top_k_equals_a_stable_sort(scores, k):
    ids, values = top_k(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))


def test_top_k_on_long_rows():
    scores = np.random.default_rng(0).normal(size=(3, 20_000)).astype(np.float32)
    ids, _ = top_k(scores, 100)
    np.testing.assert_array_equal(ids, np.argsort(-scores, axis=1, kind="stable")[:, :100])


def test_row_blocks_cover_everything_once():
    blocks = row_blocks(10, 3, numbers=7)
    assert [(b.start, b.stop) for b in blocks] == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]
    assert row_blocks(2, 100, numbers=7) == [slice(0, 1), slice(1, 2)]
