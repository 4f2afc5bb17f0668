"""The scan of codes: it misses nothing, however strange the query."""

from dataclasses import replace

import numpy as np
import pytest

from longwave import Index
from longwave.datasets import digits, fashion_mnist, shared
from longwave.errors import CorruptIndexError, InputError
from longwave.graph.lists import nearest
from longwave.plan import wants_codes, wants_links
from longwave.rows.encoded import compress
from longwave.rows.vectors import normalize
from longwave.stores.codes import KIND, Codes


@pytest.fixture(scope="module")
def rows():
    return normalize(digits().vectors)


def test_it_finds_what_an_exact_scan_finds(rows):
    rng = np.random.default_rng(0)
    queries = normalize(np.concatenate([rows[:100], rng.standard_normal((100, 64))]))
    found, truth = Codes(rows).search(queries, 10), nearest(queries, rows, k=10)
    np.testing.assert_allclose(found.similarities, truth.similarities, atol=1e-6)
    assert np.mean(found.ids == truth.ids) > 0.99  # rows that are as good may change places


@pytest.mark.parametrize("noise", [0.01, 0.003, 0.0])
def test_rows_that_are_nearly_the_same(noise):
    """Frames of films: more rows than are compared again lie within the error of a code."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((10, 64)) / 8
    vectors = normalize(np.repeat(centres, 600, axis=0) + noise * rng.standard_normal((6000, 64)))
    queries = vectors[::200]
    found, truth = Codes(vectors).search(queries, 10), nearest(queries, vectors, k=10)
    np.testing.assert_allclose(found.similarities, truth.similarities, atol=2e-6)


@pytest.mark.parametrize("offset", [3.0, 30.0, 800.0])
def test_a_column_that_outweighs_all_others(offset):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((5000, 64)).astype(np.float32)
    vectors[:, 0] += offset
    vectors[:7, 1] += 5 * offset
    vectors = normalize(vectors)
    found, truth = Codes(vectors).search(vectors[:60], 10), nearest(vectors[:60], vectors, k=10)
    np.testing.assert_allclose(found.similarities, truth.similarities, atol=2e-6)


def test_damaged_rows_are_told(rows):
    damaged = rows.copy()
    damaged[5:] = np.nan
    with pytest.raises(CorruptIndexError, match="not finite"):
        Codes(damaged).search(rows[:1], 10)


def test_all_rows_may_be_wanted(rows):
    few = Codes(np.ascontiguousarray(rows[:7]))
    assert np.array_equal(np.sort(few.search(rows[:3], 7).ids), np.tile(np.arange(7), (3, 1)))


def test_rows_as_float16(rows):
    halves = compress(rows, "float16")
    truth = nearest(rows[:100], rows, k=10).ids
    shared_ids = [
        len(np.intersect1d(a, b)) / 10 for a, b in zip(Codes(halves).search(rows[:100], 10).ids, truth, strict=True)
    ]
    assert np.mean(shared_ids) > 0.97


def test_strange_queries_find_their_neighbours():
    """Boxes of buildings among 9,144 unrelated photographs: searches from row to row lose every seventh of them."""
    data = shared.oxford()
    vectors = normalize(np.concatenate([data.vectors, shared.oxford_distractors()]))
    queries = normalize(data.queries)
    found, truth = Codes(vectors).search(queries, 10).ids, nearest(queries, vectors, k=10).ids
    assert np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, truth, strict=True)]) > 0.995


def test_an_index_of_middle_size_has_them(tmp_path):
    vectors = normalize(fashion_mnist().vectors[:2500])
    index = Index.build(vectors, progress=False)
    assert index.settings.plan.vectors.kind == KIND
    assert index.memory()["first search"] == 2500 * 788
    index.save(tmp_path / "i")
    loaded = Index.load(tmp_path / "i", verify=True)
    scanned = loaded.accelerate(first=None)
    for query in vectors[:1000:50]:
        assert np.array_equal(loaded.search(query).ids, index.search(query).ids)
        assert np.array_equal(loaded.search(query).ids, scanned.search(query).ids)
    assert loaded.compress(vectors="float16").vertices.by.facts.kind == KIND
    for kind in ("int8", "float16", "PQ56"):
        loaded.compress(vectors=kind).save(tmp_path / kind)
        again = Index.load(tmp_path / kind)
        assert (again.settings.plan.vectors is None) == (kind != "float16")
        assert again.search(vectors[0]).ids.shape == (1, 10)
    with pytest.raises(InputError, match="codes already"):
        Index.load(tmp_path / "int8").accelerate(first=KIND)


def test_folders_of_codes_over_codes_are_scanned(tmp_path):
    """Once they were written so."""
    vectors = normalize(fashion_mnist().vectors[:2500])
    index = Index.build(vectors, progress=False)
    small = index.compress(vectors="int8")
    wrong = replace(small, settings=replace(small.settings, plan=index.settings.plan))
    wrong.save(tmp_path / "i")
    assert np.array_equal(Index.load(tmp_path / "i").search(vectors[:3]).ids, small.search(vectors[:3]).ids)


def test_codes_are_for_long_rows():
    assert wants_codes(14_207, 512)
    assert wants_codes(5000, 784)
    assert not wants_codes(60_000, 32)
    assert wants_links(60_000, 32, None)
    assert not wants_links(5000, 784, None)
    assert not wants_links(100, 10, None)
    assert not wants_codes(100, 10)
