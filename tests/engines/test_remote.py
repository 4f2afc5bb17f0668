"""Searches in engines give what the index itself gives."""

import numpy as np
import pytest

import longwave as lw
from engines.conftest import QUERIES
from longwave.engines.opening import open_engine
from longwave.errors import FilterWarning, InputError, NotAnIndexError

WHERE = [
    {"year": {"$gte": 2005.5}, "name": {"$ne": "o'1"}},
    {"$or": [{"tags": "a"}, {"$not": {"year": {"$lt": 2010}}}]},
    {"year": {"$exists": False}},
    {"size": {"$in": [0.1, 0.7, 12.3, 25.1]}},
    {"day": {"$gt": "2024-05-20"}},
    {"name": ["o'0", "o'2"], "size": {"$lte": 30}},
]


def same(found, wanted, least=0.999):
    assert found.ids.shape == wanted.ids.shape
    share = np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.ids, wanted.ids, strict=True)])
    assert share >= least
    np.testing.assert_allclose(found.scores, wanted.scores, atol=2e-4 if least > 0.99 else 0.05)


@pytest.mark.parametrize("exact", [True, False])
def test_the_default_search_is_that_of_the_index(exported, index, exact):
    wanted = index.search(QUERIES, 20, plan="basis")
    with exported.open(exact=exact) as remote:
        found = remote.search(QUERIES, 20)
        same(found, wanted)
        assert found.route == "basis"
        np.testing.assert_allclose(found.confidence, wanted.confidence, atol=1e-4)
        assert len(remote) == len(index)
        assert "things" not in repr(remote)


@pytest.mark.parametrize(
    "options",
    [
        {"filter": lw.Heat(5), "neighbors": 8},
        {"filter": lw.LowPass(0.9), "blend": 0},
        {"filter": lambda t: np.exp(-3 * (1 - t)), "blend": 0.5},
        {"solver": lw.Spectral(complement=False)},
        {"solver": lw.Euclidean()},
        {"query_groups": np.arange(8) // 2, "cut": 4},
        {"query_groups": np.arange(8) // 2, "weights": np.tile([1, -0.5], 4)},
    ],
    ids=["heat", "lowpass", "function", "no complement", "euclidean", "groups", "for and against"],
)
def test_options_mean_the_same(filed, index, options):
    plan = {} if isinstance(options.get("solver"), lw.Euclidean) else {"plan": "basis"}
    with filed.open(exact=True) as remote:
        found, wanted = remote.search(QUERIES, 15, **options), index.search(QUERIES, 15, **options, **plan)
    same(found, wanted, least=0.98 if options.get("blend") else 0.999)  # FSRw counts similarity of all items


def test_conditions_mean_the_same(exported, index):
    with exported.open() as remote:
        for where in WHERE:
            wanted = index.search(QUERIES[:3], 10, where=where, plan="basis", columns=["year", "day", "tags"])
            found = remote.search(QUERIES[:3], 10, where=where, columns=["year", "day", "tags"])
            same(found, wanted)
            assert {str(v) for row in found.columns["day"] for v in row} <= {
                str(v) for v in index.metadata.table["day"].to_pylist()
            }
            by_id = dict(zip(wanted.ids[0].tolist(), wanted.columns["tags"][0], strict=True))
            assert all(
                by_id.get(i, v) == v for i, v in zip(found.ids[0].tolist(), found.columns["tags"][0], strict=True)
            )


def test_ids_as_a_condition(exported, index):
    allowed = [f"d{i}" for i in range(0, 400, 7)]
    with exported.open() as remote:
        same(remote.search(QUERIES, 10, where=allowed), index.search(QUERIES, 10, where=allowed, plan="basis"))
        euclidean = {"where": allowed, "solver": lw.Euclidean()}
        same(remote.search(QUERIES, 10, **euclidean), index.search(QUERIES, 10, **euclidean))
        with pytest.raises(InputError, match="no item with id 'nobody'"):
            remote.search(QUERIES, 3, where=["nobody"])


def test_copies_follow_each_other(exported, index):
    with exported.open(exact=True) as remote:
        found = remote.search(index.vectors.rows(np.array([3])), 6)
    assert set(found.ids[0, :3]) == {"d3", "d5", "d7"}
    same(found, index.search(index.vectors.rows(np.array([3])), 6, plan="basis"))


def test_text_has_no_order_in_qdrant_and_has_one_elsewhere(exported, index):
    where = {"name": {"$gt": "o'0"}}
    with exported.open() as remote:
        if exported.kind.startswith("qdrant"):
            with pytest.raises(InputError, match=r"no order of text.*\$in"):
                remote.search(QUERIES[:1], 3, where=where)
        else:
            same(remote.search(QUERIES[:2], 9, where=where), index.search(QUERIES[:2], 9, where=where, plan="basis"))


def test_true_and_false_and_a_hostile_name(exported, index):
    where = {'odd "; DROP TABLE': True}
    with exported.open() as remote:
        if exported.kind == "qdrant-edge":
            with pytest.raises(InputError, match="takes true for 1"):
                remote.search(QUERIES[:1], 3, where=where)
        else:
            same(remote.search(QUERIES[:2], 9, where=where), index.search(QUERIES[:2], 9, where=where, plan="basis"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tolerance": 1e-3}, "tolerance"),
        ({"fold": 0.98}, "fold"),
        ({"diversity": 0.3}, "diversity"),
        ({"plan": "sublinear"}, "plan='sublinear'"),
        ({"solver": lw.ConjugateGradient()}, "ConjugateGradient"),
    ],
)
def test_what_no_engine_can_do_names_the_remedy(filed, options, told):
    with filed.open() as remote, pytest.raises(InputError, match=rf"{told}.*ask the index itself"):
        remote.search(QUERIES, 5, **options)


def test_wrong_questions(filed):
    with filed.open() as remote:
        with pytest.raises(InputError, match="64"):
            remote.search(np.ones((1, 12)), 5)
        with pytest.raises(InputError, match="k"):
            remote.search(QUERIES, 0)
        with pytest.raises(InputError, match=r"no column 'yaer'.*'year'"):
            remote.search(QUERIES, 5, where={"yaer": 3})
        with pytest.raises(InputError, match="no column"):
            remote.search(QUERIES, 5, columns=["nothing"])
        with pytest.raises(InputError, match="no item meets the condition"):
            remote.search(QUERIES[:1], 5, where={"year": 1789})
        with pytest.raises(InputError, match="mask"):
            remote.search(QUERIES, 5, where=np.ones(400, dtype=bool))
        with pytest.raises(InputError, match="begins with vectors"):
            remote.search(k=5)
        with pytest.raises(TypeError, match="colour"):
            remote.search(QUERIES, 5, colour="red")
        with pytest.warns(FilterWarning):
            remote.search(QUERIES[:1], 5, filter=lambda t: np.ones_like(t) * (1 - t))


def test_a_graph_from_what_the_engine_returns(filed, index):
    with filed.open(exact=True) as remote:
        numbers, vectors = remote.vectors.everything()
        lists = remote.vectors.neighbors(10)
        near = remote.vectors.search(vectors[:2], 3)
    assert len(numbers) == 400
    assert near.ids[1, 0] == numbers[1]
    built = lw.Index.build(vectors, lists=lists, spectrum=lw.Chebyshev(40), progress=False)
    own = lw.Index.build(vectors, k=10, spectrum=lw.Chebyshev(40), progress=False)
    a, b = (made.search(QUERIES, 20, plan="basis").ids for made in (built, own))
    assert np.mean([len(set(x) & set(y)) / 20 for x, y in zip(a, b, strict=True)]) > 0.97


def test_qdrant_scores_every_candidate_though_links_may_miss_some(tmp_path, monkeypatch):
    pytest.importorskip("qdrant_edge")
    monkeypatch.setattr("longwave.engines.edge._INDEXED_FROM", 1)
    vectors = np.random.default_rng(0).normal(size=(1500, 24)).astype(np.float32)
    built = lw.Index.build(vectors, k=5, spectrum=lw.Chebyshev(30), progress=False)
    built.export(f"qdrant-edge:{tmp_path / 'edge'}", progress=False)
    engine = open_engine(f"qdrant-edge:{tmp_path / 'edge'}")
    rank, chosen = engine.record().rank, np.arange(0, 1500, 4)
    waves = np.random.default_rng(1).normal(size=rank).astype(np.float32)
    scored = engine.scored(chosen, vectors[0], waves)
    engine.close()
    rows = built.coordinates.rows(scored.facts.numbers)
    np.testing.assert_allclose(scored.products, rows @ waves, atol=1e-4)
    assert len(scored.facts) == len(chosen)


def test_the_small_engine_of_qdrants_client(tmp_path, index):
    pytest.importorskip("qdrant_client")
    url = f"qdrant:{tmp_path / 'local'}"
    index.export(url, progress=False)
    where = {"year": {"$gte": 2005}, 'odd "; DROP TABLE': True}
    with lw.Remote(url) as remote:
        same(remote.search(QUERIES[:3], 10), index.search(QUERIES[:3], 10, plan="basis"))
        wanted = index.search(QUERIES[:3], 10, where=where, plan="basis")
        same(remote.search(QUERIES[:3], 10, where=where), wanted)


def test_nothing_there(place):
    with pytest.raises(NotAnIndexError, match="longwave export INDEX"):
        place.open()
