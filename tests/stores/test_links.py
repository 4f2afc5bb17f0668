"""The search along links: it finds the nearest rows, whatever they look like, and survives damage."""

from dataclasses import replace
from threading import Thread

import numpy as np
import pytest

from longwave import Index
from longwave.datasets import digits, fashion_mnist
from longwave.errors import CorruptIndexError, InputError
from longwave.graph.lists import nearest, nearest_others
from longwave.rows.encoded import compact, compress
from longwave.rows.vectors import normalize
from longwave.stores import links
from longwave.stores.links import Links


@pytest.fixture(scope="module")
def rows():
    return normalize(digits().vectors)


@pytest.fixture(scope="module")
def linked(rows):
    return links.build(rows, nearest_others(rows, k=32))


def recall(search, queries, rows, k=10):
    truth = nearest(queries, rows, k=k).similarities[:, -1:]
    return float((search.search(queries, k).similarities >= truth - 1e-5).mean())


def test_it_finds_the_neighbours_of_unseen_queries():
    vectors = normalize(fashion_mnist().vectors[:6000])
    kept, asked = vectors[:5500], vectors[5500:]
    search = links.build(kept)
    assert search.facts.recall >= links.TARGET
    assert recall(search, asked, kept) >= 0.99
    assert recall(replace(search, facts=replace(search.facts, effort=512)), asked, kept) >= 0.999


@pytest.mark.parametrize("coded", [True, False])
def test_steps_by_codes_lead_to_the_same_rows(coded):
    """From 256 dimensions on steps go by codes; the answer has the products of the rows, and all of it can be kept."""
    vectors = normalize(fashion_mnist().vectors[:3000])
    search = links.build(vectors)
    assert search.steps is not None
    search = search if coded else replace(search, steps=None, _free=[])
    again = Links.unpack(search.pack(), vectors, search.facts)
    assert (again.steps is None) is not coded
    found = again.search(vectors[:50], 10)
    assert recall(again, vectors[:200], vectors) >= 0.99
    np.testing.assert_allclose(found.similarities, np.einsum("qd,qkd->qk", vectors[:50], vectors[found.ids]), atol=1e-6)
    assert again.nbytes == search.nbytes


def test_rows_that_codes_cannot_tell_apart_are_compared_as_they_are():
    """Two crowds far from each other, whose members are nearer to each other than a code is to its row."""
    rng = np.random.default_rng(0)
    crowds = np.repeat(rng.standard_normal((2, 300)), 1500, axis=0)
    search = links.build(normalize(crowds + 0.02 * rng.standard_normal((3000, 300))))
    assert search.steps is None
    assert search.facts.recall >= links.TARGET


def test_damage_of_the_rows_is_noticed_behind_codes():
    """A row that is kept on the way is no number: its code tells nothing of that."""
    vectors = normalize(fashion_mnist().vectors[:3000])
    search = links.build(vectors)
    damaged = vectors.copy()
    damaged[search.search(vectors[:1], 14).ids[0, 12]] = np.nan
    with pytest.raises(CorruptIndexError, match="not finite"):
        search.over(damaged).search(vectors[:1], 10)


def test_products_are_those_of_the_rows(rows, linked):
    found = linked.search(rows[:20], 5)
    assert (found.ids[:, 0] == np.arange(20)).all()
    products = np.einsum("qd,qkd->qk", rows[:20], rows[found.ids])
    np.testing.assert_allclose(found.similarities, products, atol=1e-6)
    assert (np.diff(found.similarities, axis=1) <= 0).all()


def test_one_by_one_or_together_is_the_same(rows, linked):
    together = linked.search(rows[:50], 10)
    for i in range(50):
        alone = linked.search(rows[i : i + 1], 10)
        assert np.array_equal(alone.ids[0], together.ids[i])
        assert np.array_equal(alone.similarities[0], together.similarities[i])


def test_folders_of_earlier_versions_have_no_codes_of_entries(rows, linked):
    arrays = {name: array for name, array in linked.pack().items() if name not in ("entry_codes", "entry_scales")}
    again = Links.unpack(arrays, rows, linked.facts)
    assert np.array_equal(again.search(rows[:50], 10).ids, linked.search(rows[:50], 10).ids)


@pytest.mark.parametrize(("kind", "least"), [("float16", 0.98), ("int8", 0.9)])
def test_rows_in_fewer_bytes(rows, linked, kind, least):
    fewer = linked.over(compress(rows, kind))
    truth = nearest(rows[:200], rows, k=10).ids
    shared = [len(np.intersect1d(a, b)) / 10 for a, b in zip(fewer.search(rows[:200], 10).ids, truth, strict=True)]
    assert np.mean(shared) >= least


def test_parts_that_nothing_leads_to():
    """Four hundred far clusters of thirty: lists of ten stay within them, and a third of them has no random entry."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((400, 64))
    vectors = normalize(np.repeat(centres, 30, axis=0) + 0.05 * rng.standard_normal((12_000, 64)))
    search = links.build(vectors, nearest_others(vectors, k=10))
    assert len(search.entries) > len(vectors) // 64 + 100
    assert search.facts.recall >= links.TARGET


def test_links_that_do_not_suffice_give_way_to_clusters(monkeypatch, rows):
    monkeypatch.setattr(links, "_EFFORTS", (10,))
    index = Index.build(rows, fast=False, progress=False).accelerate(second=None, recall=0.999)
    assert index.settings.plan.vectors.kind.startswith("IVF")


def test_few_rows_and_copies():
    rows = normalize(np.eye(3, 8, dtype=np.float32))
    found = links.build(rows).search(rows, 5)
    assert (found.ids[:, 0] == [0, 1, 2]).all()
    assert (np.sort(found.ids, axis=1)[:, :2] == -1).all()
    same = np.ones((50, 4), dtype=np.float32) / 2
    assert links.build(same).search(same[:1], 3).similarities == pytest.approx(1)
    with pytest.raises(InputError, match="at least two rows"):
        links.build(rows[:1])


def test_threads_do_not_disturb_each_other(rows, linked):
    alone = linked.search(rows[:400], 10).ids
    found = {}

    def work(number):
        found[number] = np.vstack([linked.search(row[None], 10).ids for row in rows[:400]])

    threads = [Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(alone, own) for own in found.values())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("links", lambda a: a + 9999),
        ("links", lambda a: a[:-1]),
        ("links", lambda a: a - 1),
        ("links", lambda a: a.astype(np.int64)),
        ("ends", lambda a: a[::-1].copy()),
        ("ends", lambda a: a + 1),
        ("entries", lambda a: a[:0]),
        ("entries", lambda a: a + 9999),
        ("entry_codes", lambda a: a[:-1]),
        ("entry_codes", lambda a: a.astype(np.float32)),
        ("entry_scales", lambda a: a[:-1]),
        ("step_codes", lambda a: a[:-1]),
        ("step_scales", lambda a: a.astype(np.float64)),
        ("step_scales", lambda a: a * np.float32(np.nan)),
    ],
)
def test_damaged_links_are_refused(rows, linked, name, change):
    linked = replace(linked, steps=compact(rows, "int8"), _free=[])
    arrays = linked.pack()
    assert np.array_equal(
        Links.unpack(arrays, rows, linked.facts).search(rows[:9], 5).ids, linked.search(rows[:9], 5).ids
    )
    with pytest.raises(ValueError, match=r"outside of|does not fit|shape|entries|finite"):
        Links.unpack({**arrays, name: change(arrays[name])}, rows, linked.facts)


def test_an_index_keeps_its_links(tmp_path, rows):
    index = Index.build(rows, progress=False).accelerate()
    assert index.settings.plan.vectors.kind == "links"
    index.save(tmp_path / "i")
    loaded = Index.load(tmp_path / "i", verify=True)
    for query in rows[:10]:
        assert np.array_equal(index.search(query).ids, loaded.search(query).ids)
    assert index.memory()["first search"] == loaded.memory()["first search"] > 0
    small = loaded.compress(vectors="float16", basis="int8")
    assert small.settings.plan.vectors.kind == "links"
    assert np.mean([len(np.intersect1d(small.search(q).ids, index.search(q).ids)) / 10 for q in rows[:50]]) > 0.95
