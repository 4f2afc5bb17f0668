import numpy as np
import pytest

import oracle
from longwave import neighbors
from longwave.neighbors import nearest
from longwave.vectors import normalize


def test_equals_brute_force(digits_split, monkeypatch):
    monkeypatch.setattr(neighbors, "_TILE_ROWS", 100)  # many tiles
    monkeypatch.setattr(neighbors, "_TILE_COLUMNS", 333)
    v = normalize(digits_split[0])
    lists = nearest(v, v, k=20, exclude_self=True)
    dots = v.astype(np.float64) @ v.astype(np.float64).T
    expected = oracle.nearest(dots, 20, exclude_self=True)
    best = np.take_along_axis(dots, expected, axis=1)
    np.testing.assert_allclose(lists.similarities, best, atol=1e-6)
    # Ids agree but where two similarities are equal to rounding.
    assert (lists.ids == expected).mean() > 0.999


def test_faiss_finds_the_same(digits_split):
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    v, q = normalize(digits_split[0]), normalize(digits_split[2])
    flat = faiss.IndexFlatIP(v.shape[1])
    flat.add(v)
    similarities, _ = flat.search(q, 15)
    np.testing.assert_allclose(nearest(q, v, k=15).similarities, similarities, atol=1e-5)


def test_a_vector_is_never_its_own_neighbour_even_with_duplicates():
    v = normalize(np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]]))
    lists = nearest(v, v, k=2, exclude_self=True)
    assert lists.ids[:3].tolist() == [[1, 2], [0, 2], [0, 1]]
    assert all(i not in row for i, row in enumerate(lists.ids.tolist()))


def test_ties_go_to_the_lower_id():
    v = np.eye(6, dtype=np.float32)
    assert nearest(v[:1], v, k=4).ids.tolist() == [[0, 1, 2, 3]]


def test_k_beyond_what_there_is_pads():
    v = np.eye(3, dtype=np.float32)
    lists = nearest(v, v, k=5, exclude_self=True)
    assert (lists.ids[:, 2:] == -1).all()
    assert np.isneginf(lists.similarities[:, 2:]).all()


def test_progress_reaches_the_end():
    calls = []
    v = np.eye(3, dtype=np.float32)
    nearest(v, v, k=1, progress=lambda *call: calls.append(call))
    assert calls[-1] == ("neighbours", 3, 3)
