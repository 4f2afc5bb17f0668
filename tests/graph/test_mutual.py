"""The mutual neighbour graph, against dense matrices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import oracle
from graphs import make


def test_equals_the_oracle(hard_vectors):
    built = make(hard_vectors, k=8)
    w = oracle.adjacency(oracle.unit(hard_vectors), 8, 3.0)
    # Ties among duplicates may fall either way by rounding, so compare what does not depend on them.
    assert abs(built.adjacency().toarray() - w).max() < 1e-5
    assert abs(built.normalized.toarray() - oracle.normalized(w)).max() < 1e-5


def test_symmetric_to_the_last_bit_zero_diagonal_spectrum_in_range(hard_vectors):
    dense = make(hard_vectors, k=8).normalized.toarray()
    assert (dense == dense.T).all()
    assert not dense.diagonal().any()
    values = np.linalg.eigvalsh(dense.astype(np.float64))
    assert values[0] >= -1 - 1e-6
    assert abs(values[-1] - 1) < 1e-6


def test_isolated_vertices_are_zero_rows_without_nan(hard_vectors):
    built = make(hard_vectors, k=8)
    isolated = np.flatnonzero(built.degrees == 0)
    assert len(hard_vectors) - 1 in isolated  # the zero vector
    assert np.isfinite(built.normalized.data).all()
    assert not built.normalized.toarray()[isolated].any()


def test_mutual_edges_only():
    # 2 is the nearest of 1, but 1's own nearest is 0: no edge 1-2 with k = 1.
    angles = np.radians([0, 10, 25])
    built = make(np.stack([np.cos(angles), np.sin(angles)], axis=1), k=1)
    assert built.normalized.toarray().astype(bool).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_components_are_numbered_by_size(hard_vectors):
    built = make(hard_vectors, k=8)
    sizes = built.component_sizes
    assert (np.diff(sizes) <= 0).all()
    assert sizes.sum() == len(hard_vectors)
    dense = built.normalized.toarray()
    across = built.labels[:, None] != built.labels[None, :]
    assert not dense[across].any()


def test_gamma_is_applied_once():
    v = np.array([[1.0, 0], [0.8, 0.6]])
    assert abs(make(v, k=1, gamma=3).adjacency().toarray()[0, 1] - 0.8**3) < 1e-6


@settings(deadline=None, max_examples=40)
@given(
    v=arrays(
        np.float64, st.tuples(st.integers(1, 14), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0])
    ),
    k=st.integers(1, 6),
)
def test_any_small_set_gives_a_valid_graph(v, k):
    built = make(v, k)
    dense = built.normalized.toarray().astype(np.float64)
    assert (dense == dense.T).all()
    assert (dense >= 0).all()
    assert not dense.diagonal().any()
    assert np.abs(np.linalg.eigvalsh(dense)).max() <= 1 + 1e-5
    assert (np.diff(built.normalized.indptr) <= k).all()
