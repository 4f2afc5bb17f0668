"""One query the short way, against the general one: the same hits, scores and confidence."""

import copy
import gc
import pickle
import threading
import warnings
import weakref
from dataclasses import replace

import numpy as np
import pytest

import longwave as lw
from longwave.datasets import digits, fashion_mnist
from longwave.errors import InputError
from longwave.rows import compiled, query_loops
from longwave.rows.vectors import normalize, unit_queries
from longwave.search import one_query, stored
from longwave.solvers.graph_walk import ground_of


@pytest.fixture(scope="module")
def collection():
    vectors = fashion_mnist().vectors[:8300].astype(np.float32)
    return lw.Index.build(vectors[:8000], progress=False), vectors[8000:]


def both(monkeypatch, index, query, k, **options):
    short = index.search(query, k, **options)
    with monkeypatch.context() as patch:
        patch.setattr(one_query, "serves", lambda *_: False)
        patch.setattr(one_query, "usual", lambda *_: None)
        general = index.search(query, k, **options)
    return short, general


@pytest.mark.parametrize("k", [1, 10, 100, 400])
def test_the_same_as_the_general_way(monkeypatch, collection, k):
    index, queries = collection
    taken = []
    own = one_query.Question.answer
    monkeypatch.setattr(one_query.Question, "answer", lambda *a: taken.append(own(*a)) or taken[-1])
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
    first = compiled.stamp.__wrapped__()
    (tmp_path / "two.py").write_text("b")
    assert compiled.stamp.__wrapped__() != first
    assert query_loops.second_search._cache._cache_file._source_stamp == compiled.stamp()


def test_an_item_finds_itself_and_its_copies(monkeypatch):
    vectors = np.vstack([digits().vectors, digits().vectors[:40]])
    index = lw.Index.build(vectors, progress=False)
    for number in range(40):
        short, general = both(monkeypatch, index, vectors[number], 5)
        assert {number, len(vectors) - 40 + number} == set(short.ids[0, :2].tolist())
        assert np.array_equal(short.ids, general.ids)


def test_what_is_not_usual_goes_the_general_way(monkeypatch, collection):
    index, queries = collection
    monkeypatch.setattr(one_query.Question, "answer", lambda *_: pytest.fail("took the short way"))
    query = queries[0]
    assert index.search(query, 5, cut=3).n_queries == 1
    assert index.search(query, 5, blend=0).n_queries == 1
    assert index.search(query, 5, solver=lw.Spectral()).route == "basis"
    assert index.search(np.vstack([query, queries[1]]), 5, query_groups=[0, 0], weights=[1, -0.5]).n_queries == 1
    assert index.search(query, 5, weights=[2.0]).n_queries == 1


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


def exact(index, query, k, **options):
    return index.search(query, k, solver=lw.ConjugateGradient(1e-4), **options)


def shared(found, truth):
    return np.mean([len(np.intersect1d(a.ids, b.ids)) / b.ids.size for a, b in zip(found, truth, strict=True)])


def short_way_only(monkeypatch):
    monkeypatch.setattr("longwave.search.scoring._general", lambda *_, **__: pytest.fail("took the general way"))


@pytest.mark.parametrize("share", [0.95, 0.5, 0.2, 0.1, 0.03, 0.002])
def test_a_condition_takes_the_short_way_and_finds_what_is_allowed(monkeypatch, collection, share):
    index, queries = collection
    mask = np.random.default_rng(1).random(len(index)) < share
    truth = [exact(index, query, 10, where=mask) for query in queries[:30]]
    short_way_only(monkeypatch)
    found = [index.search(query, 10, where=mask) for query in queries[:30]]
    assert all(mask[hits.ids].all() and hits.route == "sublinear" for hits in found)
    assert shared(found, truth) > 0.93
    free = [index.search(query, 10) for query in queries[:30]]  # a condition changes no score
    for one, other in zip(found, free, strict=True):
        both, here, there = np.intersect1d(one.ids, other.ids, return_indices=True)
        np.testing.assert_allclose(one.scores[0, here], other.scores[0, there], atol=2e-2, err_msg=str(both))


@pytest.mark.parametrize("part", ["far half", "far tenth", "near tenth"])
def test_a_condition_that_goes_with_the_manifold(collection, part):
    index, queries = collection
    similar = index.vertices.rows(slice(None)) @ normalize(queries[:30].mean(axis=0)[None])[0]
    edge = np.quantile(similar, {"far half": 0.5, "far tenth": 0.1, "near tenth": 0.9}[part])
    mask = similar > edge if part == "near tenth" else similar < edge
    truth = [exact(index, query, 10, where=mask) for query in queries[:30]]
    found = [index.search(query, 10, where=mask) for query in queries[:30]]
    assert all(mask[hits.ids].all() for hits in found)
    # Where the walk does not get, scores are those of the basis.
    basis = [index.search(query, 10, where=mask, solver=lw.Spectral()) for query in queries[:30]]
    assert shared(found, truth) >= shared(basis, truth) > 0.7
    assert part != "far half" or shared(found, truth) > 0.95


def test_all_that_is_allowed_is_found_however_far_it_is(monkeypatch, collection):
    index, queries = collection
    short_way_only(monkeypatch)
    alone = np.flatnonzero(index.graph.degrees == 0)[:1]
    for allowed in ([3], [5, 4000, 7999], [*alone.tolist(), 17]):
        hits = index.search(queries[0], 10, where=allowed)
        assert sorted(hits.ids[0].tolist()) == sorted(allowed)


@pytest.mark.parametrize("count", [1, 60, 2000])
def test_items_that_were_added_take_the_short_way(monkeypatch, collection, count):
    index, queries = collection
    rng = np.random.default_rng(0)
    near = index.vertices.rows(rng.choice(len(index), count)) + 0.02 * rng.standard_normal((count, index.dimension))
    grown = index.extend(near)
    taken = set()
    for query in [*queries[:30], *near[:5]]:
        short, general = both(monkeypatch, grown, query, 20)
        np.testing.assert_allclose(short.scores, general.scores, atol=5e-3)
        assert len(np.intersect1d(short.ids, general.ids)) >= 18
        np.testing.assert_allclose(short.confidence, general.confidence, atol=1e-5)
        taken |= set(short.ids[short.ids >= len(index)].tolist())
    assert taken
    assert all(grown.search(row, 1).ids[0, 0] == len(index) + number for number, row in enumerate(near[:5]))
    short_way_only(monkeypatch)
    grown.search(queries[0], 20)


def test_conditions_and_removals_on_what_was_added(monkeypatch, tmp_path, collection):
    index, queries = collection
    index.save(tmp_path / "living")
    living = lw.open(tmp_path / "living")
    living.add(queries[:50], ids=np.arange(9000, 9050))
    living.remove([*range(0, 400), 9003])
    grown = living.index
    short_way_only(monkeypatch)
    for number in range(10):
        hits = grown.search(queries[number], 10)
        assert hits.ids.min() >= 400
        assert 9003 not in hits.ids
        assert number == 3 or hits.ids[0, 0] == 9000 + number
        few = grown.search(queries[number], 10, where=[9020 + number, 700, 9049, 7999])
        assert set(few.ids[0].tolist()) == {9020 + number, 700, 9049, 7999}
        half = grown.search(queries[number], 10, where=grown.ids % 2 == 0)
        assert (half.ids % 2 == 0).all()
    living.close()


@pytest.fixture(scope="module")
def apart():
    """Digits, then three vectors like no other, which have no edges; on the short way."""
    rows = np.vstack([digits().vectors[:1000], -16 * np.eye(64)[:3]]).astype(np.float32)
    index = lw.Index.build(rows, spectrum=lw.Chebyshev(100), progress=False).accelerate(first=None, second="walk")
    assert (index.graph.degrees[1000:] == 0).all()
    return index, normalize(rows)


def test_a_condition_changes_no_score_where_what_is_nearest_stands_alone_and_is_not_allowed(apart):
    index, unit = apart
    query, inside = unit[1000] + 0.7 * unit[5], np.arange(1003) < 1000
    free, cut = index.search(query, 50), index.search(query, 50, where=inside)
    _, here, there = np.intersect1d(free.ids, cut.ids, return_indices=True)
    assert len(here) > 40
    np.testing.assert_allclose(free.scores[0, here], cut.scores[0, there], atol=1e-3)
    grown = index.extend((unit[1000] + 0.9 * unit[7])[None])
    best = grown.search(unit[1000] + 0.85 * unit[7], 1, where=np.r_[inside, True])
    assert best.ids.tolist() == [[1003]]
    assert best.scores[0, 0] > 1.2


def test_masks_of_every_kind_are_compiled_once(collection):
    index, queries = collection
    mask = np.arange(2 * len(index)) % 3 > 0
    plain = mask[: len(index)].copy()
    index.search(queries[0], 5, where=plain)
    known = len(query_loops.second_search.signatures)
    frozen = plain.copy()
    frozen.flags.writeable = False
    for other in (frozen, mask[::2], plain.tolist(), np.asfortranarray(plain)):
        assert index.search(queries[0], 5, where=other).n_queries == 1
    assert len(query_loops.second_search.signatures) == known


def test_shares_as_printed_go_the_general_way(monkeypatch, collection):
    index, queries = collection
    grown = index.extend(queries[:40], normalized=False)
    short, general = both(monkeypatch, grown, queries[50], 10)
    np.testing.assert_array_equal(short.ids, general.ids)
    np.testing.assert_array_equal(short.scores, general.scores)


def test_queries_that_observe_nothing_are_told_once_with_their_numbers(tmp_path):
    """What was added is expressed by vertices, and those of three digits are removed afterwards."""
    data = digits()
    index = lw.Index.build(data.vectors[:1500], spectrum=lw.Chebyshev(100), progress=False)
    index.accelerate(first=None, second="walk").save(tmp_path / "living")
    with lw.open(tmp_path / "living") as living:
        living.add(data.vectors[1530:], ids=np.arange(1530, len(data.vectors)))
        living.remove(np.flatnonzero(np.isin(data.labels[:1500], [1, 2, 3])))
        with pytest.warns(lw.LongwaveWarning, match=r"of 30 queries \(the first is") as told:
            hits = living.search(data.vectors[1500:1530], 5)
    assert len(told) == 1
    assert hits.ids.shape == (30, 5)


def test_nearly_everything_removed(tmp_path):
    vectors = digits().vectors[:600]
    lw.Index.build(vectors, progress=False).save(tmp_path / "few")
    with lw.open(tmp_path / "few") as living:
        living.remove(np.arange(4, 600))
        hits = living.search(vectors[500], 10)
        assert sorted(hits.ids[0].tolist()) == [0, 1, 2, 3]
        assert living.search(vectors[:20], 2).ids.max() < 4


def test_numbers_that_cannot_be_kept_go_the_general_way(monkeypatch, collection):
    index, queries = collection
    odd = lw.BestFirst(margin=np.array(1.0))
    np.testing.assert_array_equal(index.search(queries[0], 5, solver=odd).ids, index.search(queries[0], 5).ids)


def test_every_search_warns_of_a_filter_that_the_basis_cannot_answer():
    vectors = digits().vectors
    index = lw.Index.build(vectors[:1500], spectrum=lw.Chebyshev(20), progress=False)
    index = index.accelerate(first=None, second="walk")
    search = replace(index.settings.search, filter="heat:5")
    changed = replace(index, settings=replace(index.settings, search=search))
    for _ in range(2):
        with pytest.warns(lw.LongwaveWarning, match="Heat"):
            changed.search(vectors[1600], 10)


def test_an_index_is_freed_at_once(collection):
    index, queries = collection
    other = replace(index)
    other.search(queries[0], 5)
    held = [weakref.ref(part) for part in (other, other.system, ground_of(other.system))]
    gc.disable()
    try:
        del other
        assert [part() for part in held] == [None, None, None]
    finally:
        gc.enable()


def test_a_copy_carries_nothing_that_was_computed_for_searches(collection):
    index, queries = collection
    grown = index.extend(queries[:50])
    for own in (index, grown):
        hits = own.search(queries[0], 20)
        for other in (pickle.loads(pickle.dumps(own)), copy.deepcopy(own)):
            assert "system" not in vars(other)
            np.testing.assert_array_equal(other.search(queries[0], 20).ids, hits.ids)


@pytest.mark.parametrize("fails", [False, True])
def test_numba_starts_while_a_large_index_is_read(monkeypatch, tmp_path, collection, fails):
    index, queries = collection
    index.save(tmp_path / "index")
    started = []

    def start():
        started.append(threading.current_thread())
        if fails:
            raise OSError("no numba")

    monkeypatch.setattr(compiled, "start", start)
    lw.Index.load(tmp_path / "index")
    assert not started
    monkeypatch.setattr(stored, "_LARGE", 1)
    loaded = lw.Index.load(tmp_path / "index")
    assert len(started) == 1
    assert not started[0].is_alive()
    np.testing.assert_array_equal(loaded.search(queries[0], 20).ids, index.search(queries[0], 20).ids)
