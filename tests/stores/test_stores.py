"""Stores: exact, joined, approximate; and one that knows nothing of faiss, from outside of the package."""

from dataclasses import replace

import numpy as np
import pytest

import longwave as lw
from longwave.rows.vectors import normalize
from longwave.stores.joined import Joined, join
from longwave.stores.memory import Memory
from longwave.types import Neighbors


@pytest.fixture(scope="module")
def rows():
    return normalize(np.random.default_rng(1).normal(size=(300, 12)))


class Drawer:
    """A store of someone else's: rows in a dictionary, searched by sorting. It has the four members and no more."""

    def __init__(self, rows):
        self.held = dict(enumerate(rows))
        self.asked = 0

    @property
    def dimension(self):
        return len(self.held[0])

    def __len__(self):
        return len(self.held)

    def rows(self, numbers):
        if isinstance(numbers, slice):
            numbers = range(*numbers.indices(len(self)))
        return np.array([self.held[int(number)] for number in numbers], dtype=np.float32)

    def search(self, queries, k):
        self.asked += len(queries)
        products = queries @ self.rows(slice(None)).T
        ids = np.argsort(-products, axis=1, kind="stable")[:, :k]
        return Neighbors(ids, np.take_along_axis(products, ids, axis=1))


def test_a_store_from_outside_serves_an_index(digits_split):
    vectors, _, queries, _ = digits_split
    index = lw.Index.build(vectors, fast=True, progress=False)
    drawer = Drawer(index.vectors.rows(slice(None)))
    other = replace(index, vertices=drawer)
    for query in queries[:5]:
        want, got = index.search(query, 10, filter=lw.LowPass(0.95)), other.search(query, 10, filter=lw.LowPass(0.95))
        assert got.route == "sublinear"
        assert len(np.intersect1d(want.ids, got.ids)) >= 9
        np.testing.assert_allclose(np.sort(got.scores[0])[::-1], got.scores[0])
    assert drawer.asked == 5


@pytest.mark.parametrize("kind", [None, "float16", "int8", "PQ4"])
@pytest.mark.parametrize("count", [1, 7])
def test_memory_is_searched_as_it_is_stored(rows, kind, count):
    from longwave.rows.encoded import compress

    store = Memory(rows if kind is None else compress(rows, kind))
    found = store.search(rows[:count], 5)
    products = rows[:count] @ store.rows(slice(None)).T
    np.testing.assert_allclose(found.similarities, -np.sort(-products, axis=1)[:, :5], atol=2e-3)
    np.testing.assert_allclose(store.products(rows[:count]), products, atol=2e-3)
    assert (len(store), store.dimension) == (300, 12)


def test_joined_stores_are_one(rows):
    whole, parts = Memory(rows), join(Memory(rows[:100]), join(Memory(rows[100:130]), Memory(rows[130:])))
    assert isinstance(parts, Joined)
    assert [len(part) for part in parts.parts] == [100, 30, 170]
    np.testing.assert_array_equal(parts.rows([5, 299, 100, 129, 130]), rows[[5, 299, 100, 129, 130]])
    np.testing.assert_array_equal(parts.rows(slice(90, 140)), rows[90:140])
    np.testing.assert_allclose(parts.products(rows[:3]), whole.products(rows[:3]), atol=1e-6)
    want, got = whole.search(rows[:4], 20), parts.search(rows[:4], 20)
    np.testing.assert_array_equal(want.ids, got.ids)
    assert parts.nbytes == whole.nbytes


def test_joined_stores_of_few_rows(rows):
    found = join(Memory(rows[:2]), Memory(rows[2:3])).search(rows[:1], 9)
    assert sorted(found.ids[0].tolist()) == [0, 1, 2]


@pytest.mark.parametrize("regional", [False, True])
def test_the_rows_of_the_basis_are_a_store(digits_split, regional):
    """Rows and search of Ū agree with the scores that `Spectral` gives."""
    vectors, _, queries, _ = digits_split
    groups = np.arange(len(vectors)) // 2 if regional else None
    index = lw.Index.build(vectors, groups=groups, k=8, spectrum=lw.Exact(), blend=0, progress=False)
    store = index.coordinates
    y = index.observe(lw.search.queries.Queries.make(queries[:3], dimension=index.dimension))
    solver = lw.Spectral()
    waves, passed = solver._spread(index.system, y, lw.LowPass(0.9))
    whole = solver(index.system, y, lw.LowPass(0.9)).scores - passed.toarray()
    np.testing.assert_allclose(waves @ store.rows(slice(None)).T, whole, atol=1e-5)
    found = store.search(waves, 50)
    np.testing.assert_allclose(found.similarities, -np.sort(-whole, axis=1)[:, :50], atol=1e-5)
    assert len(store) == len(index)
    assert store.dimension == index.spectrum.rank
