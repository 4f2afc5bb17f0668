"""The small pieces: lookup, tiers, segments, what is outside of the graph in y, settings to options and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from living_samples import copy, vectors

import longwave as lw
from longwave.collection.lookup import Part, find
from longwave.collection.renewal import method_of, options_of
from longwave.errors import CorruptIndexError, InputError
from longwave.items.items import Items
from longwave.search.queries import Queries
from longwave.storage import read, writer

pytestmark = pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=40),
    cuts=st.sets(st.integers(0, 40), max_size=6),
)
def test_lookup_is_a_dict(steps, cuts):
    """Ids come and go; however they are cut into parts, the last one decides."""
    model, ids, parts, removed, count = {}, [], [], [], 0
    for step, (adding, name) in enumerate(steps):
        if adding and name not in model:
            model[name] = count
            ids.append(name)
            count += 1
        elif not adding and name in model:
            removed.append(model.pop(name))
        if step in cuts:
            parts.append(Part(np.array(ids, dtype=np.int64), np.array(sorted(removed), dtype=np.int64)))
            ids, removed = [], []
    parts.append(Part(np.array(ids, dtype=np.int64), np.array(sorted(removed), dtype=np.int64)))
    assert find(parts, np.arange(9)).tolist() == [model.get(name, -1) for name in range(9)]


def test_an_item_may_have_an_id_before_one_that_was_removed():
    """Who is renamed stands in front of an earlier owner of the name."""
    none = np.zeros(0, dtype=np.int64)
    parts = [Part(np.array([7, 8, 7]), np.array([2])), Part(np.array([8, 8, 9]), np.array([3, 4])), Part(none, none)]
    assert find(parts, np.array([7, 8, 9, 5])).tolist() == [0, 1, 5, -1]
    items = Items(np.array([7, 8, 7, 8, 8, 9]), None, removed=np.array([2, 3, 4]))
    assert items.places([9, 8, 7]).tolist() == [5, 1, 0]
    with pytest.raises(CorruptIndexError, match="two items have the same id"):
        Items(np.array([7, 8, 7, 8]), None, removed=np.array([3])).places([8])


def test_what_is_outside_of_the_graph_is_observed(tmp_path):
    with lw.open(copy("numbers", tmp_path)) as collection:
        asked = Queries.make(vectors(3, 77), dimension=8)
        plain = collection.index.observe(asked)
        collection.add(vectors(3, 77), ids=[500, 501, 502])  # the queries themselves
        index = collection.index
        y = index.observe(asked)
        assert y.shape == plain.shape
        psi = index.added.psi
        for query in range(3):  # what the item consists of has weight now
            assert set(psi[[query]].indices) <= set(y[[query]].indices)
        collection.remove([500, 501, 502])
        np.testing.assert_allclose(collection.index.observe(asked).toarray(), plain.toarray())


def test_removed_vertices_get_no_weight_through_added_items(tmp_path):
    rows = vectors(40, 1)
    with lw.open(copy("numbers", tmp_path)) as collection:
        collection.replace(rows[:3] + 0.01, ids=[0, 1, 2])  # best expressed by what they were
        index = collection.index
        assert (index.added.psi[:, :3].sum(axis=1) > 0).all()
        y = index.observe(Queries.make(rows, dimension=8))
        assert not set(y.indices.tolist()) & {0, 1, 2}
        assert index.search(rows[:3] + 0.01, 1).ids[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "method", [lw.Chebyshev(40), lw.Lanczos(12), lw.Simultaneous(9, rounds=4), lw.Exact(), lw.Exact(7)], ids=repr
)
def test_methods_are_read_from_settings(method):
    assert method_of(repr(method)) == method


@pytest.mark.parametrize("text", ["open('x')", "Chebyshev(rank=__import__('os'))", "Lanczos(", "Own(rank=3)", "3"])
def test_settings_are_not_code(text):
    with pytest.raises(InputError, match="refresh"):
        method_of(text)


def test_options_come_back_from_the_settings():
    given = {"k": 7, "kernel": lw.Power(2.0), "neighbors": 3, "filter": lw.Heat(3.0), "blend": 0.5, "min_rank": 3}
    index = lw.Index.build(vectors(60, 1), spectrum=lw.Lanczos(9), merge_copies=False, progress=False, **given)
    known = options_of(index.settings, None)
    assert all(getattr(known, name) == value for name, value in given.items() if name not in ("blend", "spectrum"))
    assert known.spectrum == lw.Lanczos(9)
    assert not known.merge_copies
    left = options_of(lw.Index.build(vectors(60, 1), progress=False).settings, None)
    assert left.kernel is None
    assert type(left.spectrum).__name__ == "Advised"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("psi_indices", lambda a: a + 1000),
        ("psi_indptr", lambda a: a[::-1].copy()),
        ("ids", lambda a: a[:-1]),
        ("ids", lambda a: a.astype(str)),
        ("vectors", lambda a: a[:, :-1].copy()),
        ("removed", lambda a: np.array([900])),
        ("removed", lambda a: np.array([5, 3])),
    ],
)
def test_a_damaged_segment_is_refused(tmp_path, name, change):
    path = copy("numbers", tmp_path)
    with lw.open(path) as collection:
        collection.replace(vectors(2, 5), ids=[3, 4])
    state = read(path)
    arrays = {own: np.array(array) for own, array in state.arrays.items()}
    arrays[f"segment-000000-{name}"] = change(arrays[f"segment-000000-{name}"])
    with writer(path) as own:
        own.commit(state.facts, arrays)
    for opened in (lw.open, lw.Index.load):
        with pytest.raises(CorruptIndexError, match="damaged"):
            opened(path)
