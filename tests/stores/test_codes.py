"""The scan of codes: it misses nothing, however strange the query."""

import numpy as np
import pytest

from longwave import Index
from longwave.datasets import digits, fashion_mnist, shared
from longwave.errors import InputError
from longwave.graph.lists import nearest
from longwave.plan import Structure
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


def test_one_by_one_or_together_is_the_same(rows):
    codes = Codes(rows)
    together = codes.search(rows[:30], 5)
    for i in range(30):
        assert np.array_equal(codes.search(rows[i : i + 1], 5).ids[0], together.ids[i])


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
    bytes_alone = loaded.compress(vectors="int8")
    assert bytes_alone.search(vectors[0]).ids.shape == (1, 10)
    with pytest.raises(InputError, match="codes already"):
        bytes_alone.accelerate(first=KIND)


def test_a_plan_that_does_not_fit_is_refused(rows):
    with pytest.raises(ValueError, match="codes themselves"):
        Codes.unpack(compress(rows, "int8"), Structure(KIND, 64, 1.0, 10))
