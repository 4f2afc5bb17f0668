"""Any sequence of changes against a plain dict: what is there is found, what is not is never found."""

import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from living_samples import copy, start, vectors

import longwave as lw

pytestmark = pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")

KINDS = ["numbers", "strings", "regional", "copies"]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 12)),
        st.tuples(st.just("remove"), st.integers(1, 8)),
        st.tuples(st.just("replace"), st.integers(1, 4)),
        st.tuples(st.sampled_from(["rename", "swap", "change"]), st.integers(1, 5)),
        st.tuples(st.sampled_from(["reload", "reopen", "compact", "refresh"]), st.just(0)),
    ),
    min_size=1,
    max_size=9,
)


class Model:
    """What a collection should hold."""

    def __init__(self, kind):
        self.kind, self.items, self.seed, self.number = kind, start(kind), 100, 1000
        self.free = []  # ids that nobody has any more
        self.per_item = 2 if kind == "regional" else 1

    def rows(self, count):
        self.seed += 1
        return vectors(count * self.per_item, self.seed)

    def ids(self, count):
        """Some that were given up, if there are any, and new ones."""
        again = [self.free.pop() for _ in range(min(count // 2, len(self.free)))]
        names = range(self.number, self.number + count - len(again))
        self.number += len(names)
        return again + ([f"item {i}" for i in names] if self.kind == "strings" else list(names))

    def drop(self, ids):
        for name in ids:
            del self.items[name]
        self.free += ids

    def rename(self, pairs):
        moved = {new: self.items.pop(old) for old, new in pairs.items()}
        self.items |= moved
        self.free += [old for old in pairs if old not in moved]

    def some(self, rng, count):
        known = list(self.items)
        return [known[i] for i in rng.permutation(len(known))[: min(count, len(known) - 2)]]

    def groups(self, ids):
        return None if self.per_item == 1 else np.repeat(np.arange(len(ids)), self.per_item)

    def keep(self, ids, rows, numbers):
        for place, (name, number) in enumerate(zip(ids, numbers, strict=True)):
            self.items[name] = rows[place * self.per_item : (place + 1) * self.per_item], number


def apply(collection, model, step, count, rng):
    if step == "add":
        rows, ids = model.rows(count), model.ids(count)
        numbers = list(range(count))
        collection.add(rows, ids=ids, groups=model.groups(ids), metadata={"n": numbers})
        model.keep(ids, rows, numbers)
    elif step == "remove":
        ids = model.some(rng, count)
        if ids:
            collection.remove(ids)
            model.drop(ids)
    elif step == "replace":
        ids = model.some(rng, count)
        if ids:
            rows = model.rows(len(ids))
            collection.replace(rows, ids=ids, groups=model.groups(ids))  # keeps the metadata
            model.keep(ids, rows, [model.items[name][1] for name in ids])
    elif step == "rename":
        old = model.some(rng, count)
        pairs = dict(zip(old, model.ids(len(old)), strict=True))
        collection.change(rename=pairs)
        model.rename(pairs)
    elif step == "swap":  # everyone gets the name of another
        old = model.some(rng, count)
        pairs = dict(zip(old, np.roll(np.array(old, dtype=object), 1).tolist(), strict=True))
        collection.change(rename=pairs)
        model.rename(pairs)
    elif step == "change":  # all at once: some go, one is replaced, one takes the name of one that goes, some come
        ids = model.some(rng, count + 2)
        if len(ids) > 2:
            replaced, named, *gone = ids
            fresh = [replaced, *model.ids(2)]
            rows, version, known = model.rows(3), collection.version, model.items[replaced][1]
            collection.change(rows, ids=fresh, groups=model.groups(fresh), remove=[replaced, *gone],
                              rename={named: gone[0]})  # fmt: skip
            assert collection.version == version + 1
            model.drop(gone)
            model.free.remove(gone[0])
            model.rename({named: gone[0]})
            model.keep(fresh, rows, [known, None, None])  # without metadata it keeps its own
    elif step == "compact":
        collection.compact(keep=1, grace=0)
    elif step == "refresh":
        collection.refresh(progress=False)
    elif step == "reload":
        assert not collection.reload()  # a writer knows the newest state


def check(collection, model):
    names = list(model.items)
    assert len(collection) == len(names) == len(collection.index)
    assert sorted(collection.index.ids.tolist()) == sorted(names)
    asked = np.vstack([model.items[name][0] for name in names])
    groups = np.repeat(np.arange(len(names)), model.per_item)
    for solver in (None, lw.Euclidean(), lw.ConjugateGradient(1e-4)):
        hits = collection.search(
            asked[: 3 * model.per_item], 1000, query_groups=groups[: 3 * model.per_item], solver=solver
        )
        for row in hits.ids.tolist():
            assert sorted(row) == sorted(names)  # all of them, each once, and nothing that was removed
    first = collection.search(asked, 1, query_groups=groups).ids[:, 0]
    for name, found in zip(names, first.tolist(), strict=True):
        np.testing.assert_allclose(model.items[found][0], model.items[name][0], atol=1e-6)  # itself, or a copy
    described = {name for name in names if (model.items[name][1] or 0) >= 5}
    if described:
        hits = collection.search(asked[: model.per_item], 1000, query_groups=groups[: model.per_item],
                                 where={"n": {"$gte": 5}}, columns=["n"])  # fmt: skip
        assert sorted(hits.ids[0].tolist()) == sorted(described)
        assert hits.columns["n"][0] == [model.items[n][1] for n in hits.ids[0].tolist()]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, seed=st.integers(0, 1000))
def test_any_sequence_of_changes(kind, steps, seed):
    rng, model = np.random.default_rng(seed), Model(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = copy(kind, folder)
        collection = lw.open(path)
        for step, count in steps:
            if step == "reopen":
                collection.close()
                collection = lw.open(path)
            apply(collection, model, step, count, rng)
        check(collection, model)
        query = vectors(1, 9)
        with lw.open(path) as reader:  # what is on the disk is the same
            assert reader.version == collection.version
            one, two = reader.search(query, 50), collection.search(query, 50)
            assert one.ids.tolist() == two.ids.tolist()
            np.testing.assert_allclose(one.scores, two.scores, rtol=1e-5, atol=1e-6)
        collection.close()
