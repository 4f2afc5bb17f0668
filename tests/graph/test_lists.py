"""Neighbour lists: exact ones against brute force, and lists from elsewhere."""

import numpy as np
import pytest

import oracle
from longwave.errors import InputError
from longwave.graph.lists import check_lists, exact, nearest, nearest_others
from longwave.rows.vectors import normalize


@pytest.fixture(scope="module")
def digits_unit(digits_split):
    return normalize(digits_split[0])


def test_equals_brute_force(digits_unit, monkeypatch):
    monkeypatch.setattr(exact, "_TILE_COLUMNS", 333)  # many tiles, the last one narrow
    v = digits_unit
    lists = nearest_others(v, k=20)
    dots = v.astype(np.float64) @ v.astype(np.float64).T
    expected = oracle.nearest(dots, 20, exclude_self=True)
    best = np.take_along_axis(dots, expected, axis=1)
    np.testing.assert_allclose(lists.similarities, best, atol=1e-6)
    # Ids agree but where two similarities are equal to rounding.
    assert (lists.ids == expected).mean() > 0.999


def test_faiss_finds_the_same(digits_split, digits_unit, monkeypatch):
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    monkeypatch.setattr(exact, "_TILE_ROWS", 64)
    monkeypatch.setattr(exact, "_TILE_COLUMNS", 500)
    q = normalize(digits_split[2])
    flat = faiss.IndexFlatIP(q.shape[1])
    flat.add(digits_unit)
    similarities, _ = flat.search(q, 15)
    np.testing.assert_allclose(nearest(q, digits_unit, k=15).similarities, similarities, atol=1e-5)


def test_a_vector_is_never_its_own_neighbour_even_with_duplicates():
    v = normalize(np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]]))
    lists = nearest_others(v, k=2)
    assert lists.ids[:3].tolist() == [[1, 2], [0, 2], [0, 1]]
    assert all(i not in row for i, row in enumerate(lists.ids.tolist()))


@pytest.mark.parametrize("tile", [3, 7, 4096])
def test_ties_go_to_the_lower_id_whatever_the_tiles(tile, monkeypatch):
    monkeypatch.setattr(exact, "_TILE_COLUMNS", tile)
    v = np.ones((17, 1), dtype=np.float32)
    lists = nearest_others(v, k=4)
    assert lists.ids.tolist() == [[j for j in range(17) if j != i][:4] for i in range(17)]
    assert nearest(v[:1], v, k=4).ids.tolist() == [[0, 1, 2, 3]]


def test_k_beyond_what_there_is_pads():
    lists = nearest_others(np.eye(3, dtype=np.float32), k=5)
    assert (lists.ids[:, 2:] == -1).all()
    assert np.isneginf(lists.similarities[:, 2:]).all()
    assert (lists.ids[:, :2] >= 0).all()


def test_progress_reaches_the_end():
    calls = []
    nearest_others(np.eye(3, dtype=np.float32), k=1, progress=lambda *call: calls.append(call))
    assert calls[-1] == ("neighbours", 1, 1)


def test_lists_from_faiss_are_taken_as_they_come(digits_unit):
    """faiss's lists hold the vertex itself; the graph must not."""
    dots = digits_unit @ digits_unit.T
    ids = np.argsort(-dots, axis=1, kind="stable")[:, :11]
    similarities = np.take_along_axis(dots, ids, axis=1)
    expected = nearest_others(digits_unit, k=10)
    for given in (check_lists(digits_unit, ids, similarities), check_lists(digits_unit, ids)):
        assert (given.ids[:, -1] == -1).mean() > 0.95
        np.testing.assert_allclose(given.similarities[:, :10], expected.similarities, atol=1e-5)


def test_given_lists_are_tidied():
    v = np.eye(4, dtype=np.float32)
    lists = check_lists(v, [[1, 1, 0], [3, -1, 2], [0, 1, 3], [2, 0, 1]])
    assert lists.ids.tolist() == [[1, -1, -1], [2, 3, -1], [0, 1, 3], [0, 1, 2]]


@pytest.mark.parametrize(
    ("ids", "similarities", "words"),
    [
        ([[0], [1]], None, "(4, k)"),
        (np.zeros((4, 2)), None, "row numbers"),
        ([[1], [2], [4], [0]], None, "hold 4 in row 2; row numbers run from 0 to 3"),
        ([[1], [2], [-7], [0]], None, "hold -7 in row 2"),
        ([[1], [2], [3], [0]], [[0.0, 0.0]] * 4, "shape of the ids"),
        ([[1], [2], [3], [0]], [[1.41]] * 4, "must be dot products"),
        ([[1], [2], [3], [0]], [[np.nan]] * 4, "must be dot products"),
    ],
)
def test_wrong_lists(ids, similarities, words):
    with pytest.raises(InputError) as error:
        check_lists(np.eye(4, dtype=np.float32), np.asarray(ids), similarities)
    assert words in str(error.value)
