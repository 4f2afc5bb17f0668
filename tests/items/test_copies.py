"""Copies of a vector are one vertex: they rank together, and no number of them breaks a build."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longwave as lw
from longwave.items.copies import find_copies, lists_of_firsts
from longwave.spectrum.exact import largest_pairs
from longwave.types import Neighbors


def build(vectors, **options):
    return lw.Index.build(vectors, progress=False, **options)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_finds_all_copies_and_nothing_else(numbers, width):
    table = np.random.default_rng(width).standard_normal((6, width)).astype(np.float32)
    table[0] = 0
    rows = table[numbers]
    rows[np.array(numbers) == 0] *= np.float32(-1)  # -0 is 0
    found = find_copies(rows)
    distinct = len(np.unique(rows + 0.0, axis=0))
    if found is None:
        assert distinct == len(rows)
        return
    firsts, row_of = found
    assert len(firsts) == distinct
    np.testing.assert_array_equal(rows[firsts][row_of] + 0.0, rows + 0.0)


@pytest.mark.parametrize("case", ["50 among 1,000", "300 of one", "50 vectors 60 times", "nothing but copies"])
def test_copies_rank_next_to_each_other(case):
    rng = np.random.default_rng(0)
    if case == "50 among 1,000":
        vectors = np.vstack([rng.standard_normal((1000, 32)), np.tile(rng.standard_normal(32), (50, 1))])
        copies = np.arange(1000, 1050)
    elif case == "300 of one":
        vectors = np.vstack([rng.standard_normal((400, 32)), np.tile(rng.standard_normal(32), (300, 1))])
        copies = np.arange(400, 700)
    elif case == "50 vectors 60 times":
        vectors = np.repeat(rng.standard_normal((50, 32)), 60, axis=0)
        copies = np.arange(600, 660)
    else:
        vectors = np.tile(rng.standard_normal(32), (80, 1))
        copies = np.arange(80)
    index = build(vectors)
    assert len(index) == len(vectors)
    hits = index.search(vectors[copies[0]], len(vectors))
    assert sorted(hits.ids[0].tolist()) == list(range(len(vectors)))
    assert set(hits.ids[0, : len(copies)].tolist()) == set(copies.tolist())
    assert len(set(hits.scores[0, : len(copies)].tolist())) == 1
    assert index.search(vectors[copies[0]], 3).ids.tolist() == [copies[:3].tolist()]


def test_the_papers_setting_keeps_copies_as_vertices_and_lapack_does_not_stop_it():
    rng = np.random.default_rng(0)
    vectors = np.vstack([rng.standard_normal((1000, 32)), np.tile(rng.standard_normal(32), (60, 1))])
    index = build(vectors, **lw.PAPER)
    assert index.graph.n_vertices == 1060
    assert index.search(vectors[-1], 60).ids.min() >= 1000


def test_lapack_gives_up_on_some_pairs_and_all_are_computed(monkeypatch):
    import scipy.linalg

    real = scipy.linalg.eigh

    def stubborn(matrix, **options):
        if options.get("subset_by_index") is not None:
            raise np.linalg.LinAlgError("4 eigenvectors failed to converge")
        return real(matrix, **options)

    monkeypatch.setattr(scipy.linalg, "eigh", stubborn)
    dense = np.ones((30, 30)) / 29 - np.eye(30) / 29
    values, vectors = largest_pairs(dense.copy(), 4)
    np.testing.assert_allclose(values, [1, -1 / 29, -1 / 29, -1 / 29], atol=1e-12)
    np.testing.assert_allclose(dense @ vectors, vectors * values, atol=1e-12)


def test_near_copies_rank_together():
    rng = np.random.default_rng(1)
    near = rng.standard_normal(32) + 1e-4 * rng.standard_normal((70, 32))
    vectors = np.vstack([rng.standard_normal((500, 32)), near])
    hits = build(vectors).search(vectors[-1], 70)
    assert hits.ids.min() >= 500


def test_copies_in_subsets_names_and_saved_indexes(tmp_path, digits_split):
    vectors = np.vstack([digits_split[0][:200], digits_split[0][:20], digits_split[0][:20]])
    names = [f"digit {i}" for i in range(240)]
    index = build(vectors, ids=names)
    assert len(index.vectors) == 200
    query = digits_split[0][3]
    hits = index.search(query, 3)
    assert hits.ids.tolist() == [["digit 3", "digit 203", "digit 223"]]
    assert index.search(query, 2, where=["digit 223", "digit 100"]).ids[0, 0] == "digit 223"
    assert index.search_by_id("digit 203", 2).ids.tolist() == [["digit 3", "digit 223"]]
    index.save(tmp_path / "c.longwave")
    again = lw.Index.load(tmp_path / "c.longwave", verify=True)
    np.testing.assert_array_equal(again.search(query, 240).ids, index.search(query, 240).ids)
    more = index.extend(digits_split[0][200:210], ids=[f"new {i}" for i in range(10)])
    assert more.search(digits_split[0][204], 1).ids[0, 0] == "new 4"
    assert more.search(query, 3).ids.tolist() == hits.ids.tolist()


def test_copies_of_regions(digits_split):
    """Two items of four regions each that share two of them; pooled scores are those of merged and unmerged graphs."""
    vectors = digits_split[0][:120].copy()
    vectors[4:6] = vectors[0:2]
    groups = np.arange(120) // 4
    index = build(vectors, groups=groups)
    assert len(index.vectors) == 118
    assert index.search(vectors[:4], 1, query_groups=np.zeros(4, dtype=int)).ids.tolist() == [[0]]
    assert index.search(vectors[4:8], 1, query_groups=np.zeros(4, dtype=int)).ids.tolist() == [[1]]


def test_given_lists_of_copies_are_joined():
    ids = np.array([[1, 2], [0, 3], [3, 0], [2, 1]])
    similar = np.array([[1.0, 0.5], [1.0, 0.4], [0.9, 0.5], [0.9, 0.4]], dtype=np.float32)
    joined = lists_of_firsts(Neighbors(ids, similar), np.array([0, 2, 3]), np.array([0, 0, 1, 2]), k=2)
    assert joined.ids.tolist() == [[1, 2], [2, 0], [1, 0]]
    np.testing.assert_allclose(joined.similarities, [[0.5, 0.4], [0.9, 0.5], [0.9, 0.4]])
