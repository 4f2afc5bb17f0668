"""On an accelerated index the fast route stays on, with items added and removed, and with conditions."""

import numpy as np
import pytest

import longwave as lw
from longwave.collection import Collection
from longwave.search import packing
from longwave.storage import writer

pytestmark = pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")


def written(index, path):
    with writer(path, create=True) as own:
        own.commit(packing.facts(index, path), packing.pack(index))
    return path


@pytest.fixture(scope="module", params=["one vector", "regional"])
def fast(request, digits_split, tmp_path_factory):
    vectors, labels = digits_split[0][:1200], digits_split[1][:1200]
    groups = None if request.param == "one vector" else np.arange(1200) // 2
    index = lw.Index.build(vectors, groups=groups, k=20, spectrum=lw.Chebyshev(60), progress=False)
    index = index.with_metadata({"label": labels[:: 1200 // len(index)]})
    index = index.accelerate(first="IVF20,Flat", second="IVF20,Flat")
    path = written(index, tmp_path_factory.mktemp("fast") / "f.longwave")
    with Collection(path) as collection:
        more = digits_split[0][1200:1400]
        own = None if groups is None else np.arange(200) // 2
        ids = np.arange(10_000, 10_200 if groups is None else 10_100)
        collection.add(more[:100], ids=ids[: len(ids) // 2], groups=None if own is None else own[:100],
                       metadata={"label": np.full(len(ids) // 2, 3)})  # fmt: skip
        collection.add(more[100:], ids=ids[len(ids) // 2 :], groups=None if own is None else own[:100])
        collection.remove(np.arange(0, len(index), 3))
    return path


def overlap(one, two):
    return np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(one.tolist(), two.tolist(), strict=True)])


@pytest.mark.parametrize("options", [{}, {"blend": 0}, {"blend": 0.5}], ids=str)
@pytest.mark.parametrize("where", [None, {"label": {"$in": [1, 3, 7]}}], ids=["all", "where"])
def test_the_fast_route_stays_on(fast, digits_split, options, where):
    with lw.open(fast) as collection:
        queries = digits_split[2][:12]
        got = collection.search(queries, 10, where=where, **options)
        want = collection.search(queries, 10, where=where, plan="basis", **options)
        assert got.route == "sublinear"
        assert want.route == "basis"
        assert overlap(got.ids, want.ids) > 0.95
        gone = set(range(0, 1200, 3))
        assert not gone & set(got.ids.ravel().tolist())


def test_added_items_find_themselves(fast, digits_split):
    with lw.open(fast) as collection:
        index = collection.index
        added = index.ids[index.ids >= 10_000]
        hits = index.search_by_id(added[:16], 3, include_self=True)
        assert hits.route == "sublinear"
        assert hits.ids[:, 0].tolist() == added[:16].tolist()


def test_a_narrow_condition_scores_all_that_meet_it(fast):
    with lw.open(fast) as collection:
        some = collection.index.ids[:12]
        hits = collection.similar(some[:1], 5, where=some)
        assert hits.route == "sublinear"
        assert hits.ids.tolist() == collection.similar(some[:1], 5, where=some, plan="basis").ids.tolist()


def test_refresh_keeps_the_plan(fast, tmp_path, digits_split):
    import shutil

    path = shutil.copytree(fast, tmp_path / "g.longwave")
    with lw.open(path) as collection:
        collection.refresh(progress=False)
        assert collection.search(digits_split[2][0], 10).route == "sublinear"
        assert collection.staleness().outside == 0
        assert collection.index.items.removed is None
