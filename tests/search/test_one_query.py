"""One query the short way, against the general one: the same hits, scores and confidence."""

import warnings

import numpy as np
import pytest

import longwave as lw
from longwave.datasets import digits, fashion_mnist
from longwave.errors import InputError
from longwave.rows import compiled, query_loops
from longwave.rows.vectors import normalize, unit_queries
from longwave.search import one_query


@pytest.fixture(scope="module")
def collection():
    vectors = fashion_mnist().vectors[:8300].astype(np.float32)
    return lw.Index.build(vectors[:8000], progress=False), vectors[8000:]


def both(monkeypatch, index, query, k, **options):
    short = index.search(query, k, **options)
    with monkeypatch.context() as patch:
        patch.setattr(one_query, "serves", lambda *_: False)
        general = index.search(query, k, **options)
    return short, general


@pytest.mark.parametrize("k", [1, 10, 100, 400])
def test_the_same_as_the_general_way(monkeypatch, collection, k):
    index, queries = collection
    taken = []
    own = one_query.answer
    monkeypatch.setattr(one_query, "answer", lambda *a, **o: taken.append(own(*a, **o)) or taken[-1])
    for query in queries[:60]:
        short, general = both(monkeypatch, index, query, k)
        np.testing.assert_allclose(short.scores, general.scores, atol=2e-4)
        assert len(np.intersect1d(short.ids, general.ids)) >= k - 1 - k // 100  # equal but for rounding
        np.testing.assert_allclose(short.confidence, general.confidence, atol=1e-6)
        assert short.route == general.route == "sublinear"
        assert short.ids.dtype == general.ids.dtype
    assert sum(hits is not None for hits in taken) >= 59


@pytest.mark.parametrize(
    "options",
    [
        {"filter": lw.Heat(20.0)},
        {"filter": lw.LowPass(0.9)},
        {"neighbors": 3},
        {"solver": lw.QUICK},
        {"solver": lw.BestFirst(complement=False)},
    ],
)
def test_other_filters_neighbours_and_walks(monkeypatch, collection, options):
    index, queries = collection
    for query in queries[:10]:
        short, general = both(monkeypatch, index, query, 10, **options)
        assert np.array_equal(short.ids, general.ids)


def test_many_at_a_time_are_answered_one_by_one(collection):
    index, queries = collection
    together = index.search(queries[:60], 10)
    assert together.route == "sublinear"
    assert together.confidence.shape == (60,)
    assert min(together.seconds) > 0
    for number, query in enumerate(queries[:60]):
        assert np.array_equal(together.ids[number], index.search(query, 10).ids[0])
    other = index.search(queries[:20][::-1], 10, query_groups=np.arange(20)[::-1])  # rows in another order
    assert np.mean([np.isin(a, b).mean() for a, b in zip(other.ids, together.ids[:20], strict=True)]) > 0.9


def test_a_quick_walk_is_shorter_and_finds_most(collection):
    index, queries = collection
    exact = index.search(queries[:40], 50, solver=lw.ConjugateGradient(1e-4)).ids
    shares = {}
    for solver in (lw.QUICK, lw.BestFirst()):
        found = [index.search(query, 50, solver=solver).ids[0] for query in queries[:40]]
        shares[solver] = np.mean([len(np.intersect1d(a, b)) / 50 for a, b in zip(found, exact, strict=True)])
    assert 0.8 < shares[lw.QUICK] < shares[lw.BestFirst()]


def test_numbers_of_every_kind_are_compiled_once(collection):
    index, queries = collection
    index.search(queries[0], 5)
    known = len(query_loops.second_search.signatures)
    index.search(queries[0], 5, solver=lw.BestFirst(margin=1, tolerance=0), blend=lw.Anchor(weight=1))
    index.search(queries[0], 5, filter=lw.LowPass(np.float32(0.9)), neighbors=np.int32(7))
    assert len(query_loops.second_search.signatures) == known


def test_a_change_of_any_loop_is_a_change_of_all(monkeypatch, tmp_path):
    (tmp_path / "one.py").write_text("a")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    first = compiled._stamp.__wrapped__()
    (tmp_path / "two.py").write_text("b")
    assert compiled._stamp.__wrapped__() != first
    assert query_loops.second_search._cache._cache_file._source_stamp == compiled._stamp()


def test_an_item_finds_itself_and_its_copies(monkeypatch):
    vectors = np.vstack([digits().vectors, digits().vectors[:40]])
    index = lw.Index.build(vectors, progress=False)
    for number in range(40):
        short, general = both(monkeypatch, index, vectors[number], 5)
        assert {number, len(vectors) - 40 + number} == set(short.ids[0, :2].tolist())
        assert np.array_equal(short.ids, general.ids)


def test_what_is_not_usual_goes_the_general_way(monkeypatch, collection):
    index, queries = collection
    monkeypatch.setattr(one_query, "answer", lambda *_, **__: pytest.fail("took the short way"))
    query = queries[0]
    assert index.search(query, 5, where=np.arange(5000)).ids.max() < 5000
    assert index.search(query, 5, cut=3).n_queries == 1
    assert index.search(query, 5, blend=0).n_queries == 1
    assert index.search(query, 5, solver=lw.Spectral()).route == "basis"
    assert index.search(np.vstack([query, queries[1]]), 5, query_groups=[0, 0], weights=[1, -0.5]).n_queries == 1
    assert index.search(query, 5, weights=[2.0]).n_queries == 1
    assert index.extend(queries[:5]).search(query, 5).n_queries == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_unit_queries_of_every_type(dtype):
    rows = np.random.default_rng(0).integers(-9, 9, size=(20, 7)).astype(dtype)
    np.testing.assert_allclose(unit_queries(rows, dimension=7), normalize(rows), atol=1e-7)
    np.testing.assert_array_equal(unit_queries(rows[3], dimension=7)[0], unit_queries(rows, dimension=7)[3])
    np.testing.assert_array_equal(
        unit_queries(rows.tolist(), dimension=7), unit_queries(rows.astype(float), dimension=7)
    )
    np.testing.assert_array_equal(unit_queries(np.asfortranarray(rows), dimension=7), unit_queries(rows, dimension=7))


def test_queries_of_any_size():
    rows = np.array([[1e300, -1e300, 0.0], [1e-320, 0, 0], [3.0, 4.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unit = unit_queries(rows, dimension=3)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (np.array([1.0, np.nan, 0]), "nan at row 0, column 1"),
        (np.array([1.0, np.inf, 0], dtype=np.float32), "inf at row 0, column 1"),
        (np.zeros(3, dtype=np.float32), "row 0 of queries is all zero"),
        (np.ones(4), "4 dimensions but the index has 3"),
        (np.ones((0, 3)), "is empty"),
        (np.ones((1, 1, 3)), "must be 2-D"),
    ],
)
def test_bad_queries_are_named(query, text):
    with pytest.raises(InputError, match=text):
        unit_queries(query, dimension=3)
