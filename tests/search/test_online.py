"""What users of a search expect: subsets, examples for and against, more like this, why this, as exact as asked."""

import numpy as np
import pytest

import longwave as lw
from longwave.errors import InputError
from settings import paper_index


@pytest.fixture(scope="module")
def index(digits_split):
    return paper_index(digits_split[0], k=20, spectrum=lw.Chebyshev(40))


@pytest.fixture(scope="module")
def named(digits_split):
    names = np.array([f"digit {i}" for i in range(400)])
    return paper_index(digits_split[0][:400], k=10, ids=names, spectrum=lw.Exact(40))


@pytest.fixture(scope="module")
def regional(digits_split):
    """Three regions an item, in shuffled order."""
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(200), 3))
    return paper_index(digits_split[0][:600], k=10, groups=groups, spectrum=lw.Exact(60)), groups


@pytest.fixture(scope="module")
def queries(digits_split):
    return digits_split[2][:12]


@pytest.mark.parametrize("solver", [lw.Spectral(), lw.Euclidean(), lw.Hybrid(1e-4)], ids=lambda s: type(s).__name__)
def test_where_keeps_the_scores_and_the_order(index, queries, solver):
    everything = index.search(queries, len(index), solver=solver)
    chosen = np.random.default_rng(1).permutation(len(index))[:300]
    mask = np.zeros(len(index), dtype=bool)
    mask[chosen] = True
    for where in (mask, chosen, chosen.tolist(), set(chosen.tolist())):
        hits = index.search(queries, 20, where=where, solver=solver)
        for q in range(len(queries)):
            inside = np.isin(everything.ids[q], chosen)
            np.testing.assert_array_equal(hits.ids[q], everything.ids[q][inside][:20])
            np.testing.assert_allclose(hits.scores[q], everything.scores[q][inside][:20], rtol=1e-5)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([], "where leaves no item at all"),
        (np.zeros(1597, dtype=bool), "where leaves no item at all"),
        ([5, 99999], "no item with id 99999"),
        (np.ones(3, dtype=bool), "one entry per item, 1597"),
        (["a"], "whole numbers, got 'a'"),
        ([1.5], "ints or of strings"),
        ([{"kind": "a"}, {"year": 3}], "one condition, .* joined with"),
        (lambda item: True, "one condition"),
    ],
)
def test_where_that_cannot_be(index, queries, where, message):
    with pytest.raises(InputError, match=message):
        index.search(queries, where=where)


def test_examples_against_push_down(index, digits_split):
    """A 3 and a 5 as one query finds both; with the 5 against it, the fives fall."""
    _, labels, queries, query_labels = digits_split
    three, five = (queries[np.flatnonzero(query_labels == digit)[0]] for digit in (3, 5))
    both = index.search(np.array([three, five]), 100, query_groups=[0, 0])
    against = index.search(np.array([three, five]), 100, query_groups=[0, 0], weights=[1, -1])
    fives = [np.mean(labels[hits.ids[0]] == 5) for hits in (both, against)]
    assert fives[1] < 0.5 * fives[0]
    assert np.mean(labels[against.ids[0]] == 3) > 0.8


def test_weights_are_linear(index, queries):
    """y is linear in the weights, and x in y."""
    each = [index.search(query, len(index), solver=lw.Spectral()) for query in queries[:2]]
    dense = [np.zeros(len(index)) for _ in each]
    for row, hits in zip(dense, each, strict=True):
        row[hits.ids[0]] = hits.scores[0]
    hits = index.search(queries[:2], len(index), query_groups=[0, 0], weights=[2.0, -0.5])
    np.testing.assert_allclose(hits.scores[0], (2 * dense[0] - 0.5 * dense[1])[hits.ids[0]], atol=1e-5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], "one entry per query row, 12"),
        ([0] * 12, "not 0, got 0.0 for row 0"),
        ([np.nan] * 12, "nan"),
        ("ab", "num"),
    ],
)
def test_weights_that_cannot_be(index, queries, weights, message):
    with pytest.raises(InputError, match=message):
        index.search(queries, weights=weights)


def test_more_like_this(index, named):
    hits = index.search_by_id([3, 17], 5)
    again = index.search(index.vectors.rows([3, 17]), 20)
    for row, own in enumerate((3, 17)):
        assert own not in hits.ids[row]
        np.testing.assert_array_equal(hits.ids[row], again.ids[row][again.ids[row] != own][:5])
    assert index.search_by_id(3, 5, include_self=True).ids.shape == (1, 5)
    assert named.search_by_id("digit 7", 3, solver=lw.Euclidean()).ids.shape == (1, 3)
    with pytest.raises(InputError, match="no item with id 'digit 4000'"):
        named.search_by_id(["digit 7", "digit 4000"])
    with pytest.raises(InputError, match="ids of this index are strings, got 7"):
        named.search_by_id(7)
    with pytest.raises(InputError, match="leave out weights"):
        named.search_by_id("digit 7", weights=[1])


def test_more_like_an_item_of_several_regions(regional):
    index, groups = regional
    rows = np.flatnonzero(groups == 11)
    want = index.search(index.vectors.rows(rows), 200, query_groups=[0, 0, 0]).ids[0]
    np.testing.assert_array_equal(index.search_by_id(11, 9).ids[0], want[want != 11][:9])


@pytest.mark.parametrize("filter", [lw.LowPass(0.9), lw.Heat(3.0)], ids=repr)
def test_within_a_tolerance(index, queries, filter):
    exact = index.search(queries, 50, filter=filter, solver=lw.ChebyshevFilter(1e-9))
    hits = index.search(queries, 50, filter=filter, tolerance=1e-3)
    assert hits.steps.min() >= 0
    overlap = [len(set(a) & set(b)) for a, b in zip(hits.ids.tolist(), exact.ids.tolist(), strict=True)]
    assert min(overlap) >= 49
    with pytest.raises(InputError, match="tolerance must be"):
        index.search(queries, filter=filter, tolerance=-1.0)
    with pytest.raises(InputError, match="give it to the solver instead"):
        index.search(queries, filter=filter, tolerance=1e-3, solver=lw.Hybrid())


def test_within_a_tolerance_without_a_basis(digits_split, queries):
    bare = paper_index(digits_split[0][:300], k=10, spectrum=None)
    hits = bare.search(queries, tolerance=1e-4)
    assert (hits.errors <= 1e-4).all()


def test_one_bad_query_of_a_batch(index, queries):
    broken = queries.copy()
    broken[4, 2], broken[7] = np.nan, 0
    with pytest.raises(InputError, match="row 4"):
        index.search(broken)
    hits = index.search(broken, on_error="skip")
    np.testing.assert_array_equal(hits.queries, [0, 1, 2, 3, 5, 6, 8, 9, 10, 11])
    np.testing.assert_array_equal(hits.ids, index.search(queries).ids[hits.queries])
    grouped = index.search(broken, query_groups=np.arange(12) // 2, on_error="skip")
    np.testing.assert_array_equal(grouped.queries, [0, 1, 4, 5])
    assert index.search(queries, on_error="skip").queries is None
    with pytest.raises(InputError, match="no query is left"):
        index.search(np.zeros((3, 64)), on_error="skip")
    with pytest.raises(InputError, match="'raise' or 'skip'"):
        index.search(queries, on_error="ignore")


def test_a_filter_that_returns_nan(index, queries):
    with pytest.raises(InputError, match="filter"):
        index.search(queries, filter=lambda values: values * np.nan)


def test_contributions_sum_to_the_score(index, regional, queries):
    hits = index.search(queries[0], 30)
    for item, score in zip(hits.ids[0][::7], hits.scores[0][::7], strict=True):
        why = index.explain(queries[0], item)
        assert why.contributions.sum() == pytest.approx(score, rel=1e-3)
        assert why.score == pytest.approx(score, rel=1e-3)
        assert len(why.neighbors) == 10
    index, _ = regional
    hits = index.search(queries[:3], 5, query_groups=[0, 0, 0])
    why = index.explain(queries[:3], hits.ids[0][4])
    assert why.score == pytest.approx(hits.scores[0][4], rel=1e-3)
    why = index.explain(queries[:3], hits.ids[0][4], neighbors=60)
    parts = why.parts()  # vectors of one item are one line
    assert len(parts) == len(set(why.neighbors.tolist())) < len(why.neighbors)
    assert sum(share for _, _, share in parts) == pytest.approx(100, rel=1e-3)
    assert sum(weight for _, weight, _ in parts) == pytest.approx(why.similarities.sum(), rel=1e-3)
    assert f"from {len(parts)} neighbours of the query" in str(why)


def test_the_way_leads_along_edges_from_a_neighbour_to_the_item(index, queries):
    item = index.search(queries[0], 200).ids[0][-1]
    why = index.explain(queries[0], item)
    assert why.path[0] in why.neighbors
    assert why.path[-1] == item
    for a, b in zip(why.path, why.path[1:], strict=False):
        assert index.graph.normalized[a, b] > 0
    assert "way: query → " in str(why)


def test_no_way_leads_to_another_component():
    vectors, query = lw.datasets.arcs()
    apart = paper_index(vectors, k=2, spectrum=lw.Exact())
    labels = apart.graph.labels
    near = apart.search(query, 1).ids[0][0]
    far = int(np.flatnonzero(labels != labels[near])[0])
    why = apart.explain(query, far, neighbors=1)
    assert why.path == []
    assert why.score == pytest.approx(0, abs=1e-6)
    assert "none" in str(why)


def test_explain_of_an_unknown_item(index, queries):
    with pytest.raises(InputError, match="no item with id -5"):
        index.explain(queries[0], -5)


def test_more_like_this_within_a_subset(index, regional):
    assert set(index.search_by_id(3, 2, where=[5, 9]).ids[0].tolist()) == {5, 9}
    assert set(index.search_by_id(3, 2, where=[3, 5, 9]).ids[0].tolist()) == {5, 9}
    assert index.search_by_id(3, 2, where=[3, 5]).ids.tolist() == [[5]]
    for empty in ([], np.array([], dtype=int)):
        with pytest.raises(InputError, match="ids is empty"):
            regional[0].search_by_id(empty)


def test_more_like_a_zero_vector(digits_split):
    vectors = digits_split[0][:100].copy()
    vectors[7] = 0
    with pytest.warns(lw.LongwaveWarning):
        index = paper_index(vectors, k=5, spectrum=lw.Exact(20))
    with pytest.raises(InputError, match="item 7 is a zero vector"):
        index.search_by_id([3, 7])


def test_the_error_of_other_filters_is_relative_to_the_answer(index, queries):
    exact = index.search(queries[:4], len(index), filter=lw.Heat(20.0), solver=lw.ChebyshevFilter(1e-10))
    hits = index.search(queries[:4], len(index), filter=lw.Heat(20.0), tolerance=1e-2)
    assert (hits.errors <= 1e-2).all()
    for q in range(4):
        one, two = (h.scores[q][np.argsort(h.ids[q])] for h in (hits, exact))
        assert np.linalg.norm(one - two) <= 1e-2 * np.linalg.norm(two)


def test_queries_that_are_not_a_matrix(index):
    for on_error in ("raise", "skip"):
        with pytest.raises(InputError):
            index.search([[1.0, 2.0], [3.0]], on_error=on_error)
    whole = np.zeros((2, 64), dtype=np.uint8)
    whole[1] = 3
    np.testing.assert_array_equal(index.search(whole, on_error="skip").queries, [1])


def test_the_way_to_an_added_item_ends_at_it(index, queries):
    grown = index.extend(queries[5:6])
    why = grown.explain(queries[0], len(index))
    assert why.path[-1] == len(index)
