"""Approximate searches: nearly the exact answer, saved and loaded, never where exactness was promised."""

import numpy as np
import pytest

import longwave as lw
from longwave.errors import CorruptIndexError, InputError
from settings import paper_index


@pytest.fixture(scope="module")
def exact(digits_split):
    return paper_index(digits_split[0], k=20, spectrum=lw.Chebyshev(60))


@pytest.fixture(scope="module")
def regional(digits_split):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(500), 3))
    return paper_index(digits_split[0][:1500], k=20, groups=groups, spectrum=lw.Chebyshev(60))


@pytest.fixture(scope="module")
def queries(digits_split):
    return digits_split[2][:60]


def overlap(one, two):
    return np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(one.tolist(), two.tolist(), strict=True)])


def one_by_one(index, queries, k, **options):
    return np.vstack([index.search(query, k, **options).ids for query in queries])


@pytest.mark.parametrize("second", ["HNSW32", "HNSW32,SQfp16", "IVF20,Flat", "SQ8", "SQfp16", None])
def test_candidates_give_the_spectral_answer(exact, queries, second):
    quick = exact.accelerate(first="HNSW16", second=second)
    want = exact.search(queries, 50)
    got = one_by_one(quick, queries, 50)
    assert overlap(got, want.ids) > 0.97
    for filter in (lw.LowPass(0.8), lw.Heat(5.0)):  # any h: nothing is rebuilt
        assert (
            overlap(one_by_one(quick, queries, 50, filter=filter), exact.search(queries, 50, filter=filter).ids) > 0.97
        )


def test_scores_of_candidates_are_exact(exact, queries):
    quick = exact.accelerate(first=None)
    want = exact.search(queries[:10], len(exact))
    got = quick.search(queries[:10], 30)
    for q in range(10):
        dense = dict(zip(want.ids[q].tolist(), want.scores[q], strict=True))
        np.testing.assert_allclose(got.scores[q], [dense[i] for i in got.ids[q].tolist()], rtol=1e-4, atol=1e-6)
        assert np.all(np.diff(got.scores[q]) <= 0)


@pytest.mark.parametrize("options", [{}, {"blend": 0.5}, {"blend": lw.Blend(1.0, everywhere=True)}], ids=str)
def test_regions_and_blends(regional, queries, options):
    quick = regional.accelerate(first=None)
    got = quick.search(queries[:12], 20, **options)
    want = regional.search(queries[:12], 20, **options)
    assert overlap(got.ids, want.ids) > 0.95
    if not options:
        np.testing.assert_allclose(got.scores[:, 0], want.scores[:, 0], rtol=1e-4)


def test_small_components_and_isolated_vertices(hard_vectors):
    """Everything that breaks graphs: candidates must hold what lies outside of the giant component."""
    most = np.r_[0:60, 95 : len(hard_vectors) - 1]  # one cluster holds more than half
    index = paper_index(hard_vectors[most], k=8, spectrum=lw.Exact(20))
    assert index.spectrum.eigenvectors.n_dense > 0
    assert index.spectrum.eigenvectors.sparse.shape[1] > 0
    quick = index.accelerate(first=None, second="HNSW8", overlap=0.5)
    for row in range(len(index)):
        want, got = (i.search(index.vectors.rows(row), 3) for i in (index, quick))
        np.testing.assert_allclose(got.scores, want.scores, rtol=1e-3, atol=1e-6)


def test_narrow_conditions_batches_and_other_solvers_stay_exact(exact, queries):
    quick = exact.accelerate(first=None, second="HNSW4", overlap=0.5)
    few, many = (np.arange(len(exact)) % step == 0 for step in (30, 3))
    np.testing.assert_array_equal(quick.search(queries[0], where=few).ids, exact.search(queries[0], where=few).ids)
    assert quick.search(queries[0], where=few).route == "sublinear"
    assert quick.search(queries[0], where=many).route == "sublinear"
    np.testing.assert_array_equal(quick.search(queries).ids, exact.search(queries).ids)
    np.testing.assert_array_equal(
        quick.search(queries[0], solver=lw.Hybrid(1e-4)).ids, exact.search(queries[0], solver=lw.Hybrid(1e-4)).ids
    )


def test_saved_and_loaded(tmp_path, exact, queries):
    quick = exact.accelerate(first="PQ16", second="HNSW16")
    quick.save(tmp_path / "i")
    again = lw.Index.load(tmp_path / "i")
    assert again.settings == quick.settings
    assert again.memory() == quick.memory()
    np.testing.assert_array_equal(again.search(queries[0], 20).ids, quick.search(queries[0], 20).ids)
    (file,) = (tmp_path / "i" / "data").glob("second_0-*.npy")
    broken = np.load(file)
    broken[:4] = 0
    np.save(file, broken)
    with pytest.raises(CorruptIndexError):
        lw.Index.load(tmp_path / "i")


def test_recall_is_measured_and_effort_chosen(exact):
    low, high = (exact.accelerate(first="HNSW4", second=None, recall=recall) for recall in (0.5, 0.98))
    assert low.settings.plan.vectors.recall >= 0.5
    assert high.settings.plan.vectors.effort >= low.settings.plan.vectors.effort
    assert 0 < exact.accelerate(first="PQ4", second=None).settings.plan.vectors.recall < 0.98
    with pytest.warns(lw.LongwaveWarning, match="not the 0.99 asked for"):
        exact.accelerate(first="PQ4", second=None, recall=0.99)
    for kind, reason in (("PQ7", "divides the dimensions"), ("IVF5000,Flat", "training points|clusters")):
        with pytest.raises(InputError, match=reason):
            exact.accelerate(first=kind, second=None)
    with pytest.raises(InputError, match="cannot make a search of the kind 'FASTEST'"):
        exact.accelerate(first="FASTEST")
    with pytest.raises(InputError, match="recall must be above 0 and at most 1, got 98"):
        exact.accelerate(recall=98)
    assert exact.accelerate(first="IVF20,Flat", second=None, recall=0.95).settings.plan.vectors.effort > 1
    assert exact.accelerate(first="PCA32,IVF20,Flat", second=None, recall=0.3).settings.plan.vectors.recall >= 0.3


def test_a_basis_without_a_dense_part_keeps_its_exact_second_search(digits_split, queries):
    sparse = paper_index(digits_split[0], k=20, spectrum=lw.Chebyshev(60), sparsity=0.5)
    with pytest.warns(lw.LongwaveWarning, match="stays exact"):
        quick = sparse.accelerate(first=None)
    np.testing.assert_array_equal(quick.search(queries[0]).ids, sparse.search(queries[0]).ids)


def test_added_items_are_found(exact, queries):
    """A search over the old rows knows nothing of new items: all of these are candidates."""
    grown = exact.accelerate().extend(queries[:5])
    assert grown.searches is not None
    assert len(grown) == len(exact) + 5
    assert set(range(len(exact), len(exact) + 5)) & set(grown.search(queries[0], 100).ids[0].tolist())


def test_precomputed_rows_give_the_spectral_answer(tmp_path, exact, regional, queries):
    for index in (exact, regional):
        stored = index.precompute(filter=lw.LowPass(0.95), top=300)
        want = index.search(queries, 30, filter=lw.LowPass(0.95))
        got = stored.search(queries, 30, filter=lw.LowPass(0.95), solver=lw.Precomputed())
        assert overlap(got.ids, want.ids) > 0.98
        one = stored.search(queries[0], 30, filter=lw.LowPass(0.95), solver=lw.Precomputed())
        np.testing.assert_array_equal(one.ids[0], got.ids[0])  # from candidates and from all items
        np.testing.assert_allclose(one.scores[0], got.scores[0], rtol=1e-5)
    stored.save(tmp_path / "i")
    again = lw.Index.load(tmp_path / "i")
    one = again.search(queries[0], 30, filter=lw.LowPass(0.95), solver=lw.Precomputed())
    np.testing.assert_array_equal(one.ids[0], got.ids[0])
    assert again.memory()["rows"] > 0


def test_all_entries_are_the_exact_solve(exact, queries):
    stored = exact.precompute(filter=lw.LowPass(0.9), top=len(exact), tolerance=1e-6)
    want = exact.search(queries[:5], 50, filter=lw.LowPass(0.9), solver=lw.ConjugateGradient(1e-8))
    got = stored.search(queries[:5], 50, filter=lw.LowPass(0.9), solver=lw.Precomputed())
    np.testing.assert_allclose(got.scores, want.scores, rtol=1e-3)


def test_rows_of_another_filter_are_refused(exact, queries):
    with pytest.raises(InputError, match="make them with"):
        exact.search(queries[0], solver=lw.Precomputed())
    stored = exact.precompute(filter=lw.Heat(2.0), top=50)
    with pytest.raises(InputError, match=r"those of Heat\(time=2.0\), not of LowPass"):
        stored.search(queries[0], solver=lw.Precomputed())
    with pytest.raises(InputError, match="those of Heat"):
        stored.search(queries, solver=lw.Precomputed())


def test_rows_know_their_filter_by_what_it_does(exact, queries):
    stored = exact.precompute(filter=lambda values: np.exp(values), top=50)
    stored.search(queries[0], filter=lambda values: np.exp(values), solver=lw.Precomputed())
    with pytest.raises(InputError, match="the stored rows are those of"):
        stored.search(queries[0], filter=lambda values: np.exp(2 * values), solver=lw.Precomputed())
    heat = exact.precompute(filter=lw.Heat(10), top=50)
    heat.search(queries[0], filter=lw.Heat(10.0), solver=lw.Precomputed())


def test_precomputed_rows_with_examples_against(exact, queries):
    """Items that no row reaches score 0, which is more than what is pushed below: one query and a batch agree."""
    stored = exact.precompute(top=20)
    options = {"weights": [1, -3], "query_groups": [0, 0], "solver": lw.Precomputed()}
    one = stored.search(queries[:2], 200, **options)
    many = stored.search(
        np.vstack([queries[:2]] * 20), 200, **(options | {"weights": [1, -3] * 20, "query_groups": np.arange(40) // 2})
    )
    np.testing.assert_array_equal(one.scores[0], many.scores[0])


@pytest.mark.parametrize(
    ("options", "least"),
    [
        ({"basis": "float16"}, 0.99),
        ({"basis": "int8"}, 0.9),
        ({"vectors": "float16"}, 0.99),
        ({"vectors": "PQ16"}, 0.6),
    ],
)
def test_in_fewer_bytes(exact, queries, options, least, tmp_path):
    small = exact.compress(**options)
    ((part, kind),) = options.items()
    stored = small.settings.basis_as if part == "basis" else small.settings.vectors_as
    assert stored.kind == kind
    assert stored.error > 0
    assert small.memory()[part] < exact.memory()[part] * 0.6
    truth = exact.search(queries, 20).ids
    small.save(tmp_path / "i")
    back = lw.Index.load(tmp_path / "i")
    for index in (small, back):
        for hits in (index.search(queries, 20), index.search(queries[:1], 20)):
            assert np.mean([len(np.intersect1d(a, b)) / 20 for a, b in zip(hits.ids, truth)]) >= least  # noqa: B905
    assert back.settings == small.settings
    grown = back.extend(queries[:2])
    assert len(grown) == len(exact) + 2
    with pytest.raises(lw.errors.InputError, match="already"):
        small.compress(**({"basis": "int8" if kind == "float16" else "float16"} if part == "basis" else options))


def test_two_large_components_are_searched_apart(digits_split):
    """Two copies of a collection that share nothing: each is a part of its own, and a query reads only its own."""
    vectors = digits_split[0][:1200]
    zeros = np.zeros_like(vectors)
    index = paper_index(np.vstack([np.hstack([vectors, zeros]), np.hstack([zeros, vectors])]), k=15)
    assert len(index.spectrum.eigenvectors.parts) == 2
    quick = index.accelerate(first=None, second="IVF,SQfp16")
    for half in (0, 1):
        query = np.roll(np.hstack([digits_split[2][:4], np.zeros((4, 64))]), 64 * half, axis=1)
        truth = index.search(query, 20)
        assert ((truth.ids >= 1200) == half).all()
        found = np.vstack([quick.search(q, 20).ids for q in query])
        assert np.mean([len(np.intersect1d(a, b)) / 20 for a, b in zip(found, truth.ids, strict=True)]) > 0.95
        one = np.vstack([index.search(q, 20).ids for q in query])
        assert np.array_equal(one, truth.ids)


def test_signed_examples_and_the_blind_are_ranked_like_the_whole(digits_split):
    """Items of components that y does not touch score 0, more than what is pushed below: candidates are not enough."""
    vectors = digits_split[0][:1200]
    zeros = np.zeros_like(vectors)
    index = paper_index(np.vstack([np.hstack([vectors, zeros]), np.hstack([zeros, vectors])]), k=15)
    quick = index.accelerate(first=None)
    against = np.hstack([digits_split[2][:1], np.zeros((1, 64))])
    a, b = (i.search(against, 20, weights=[-1.0]) for i in (quick, index))
    assert np.array_equal(a.ids, b.ids)
    nothing = np.full((1, 128), -1.0)
    for blend in (0, 0.5, "anchor"):
        with pytest.warns(lw.LongwaveWarning, match="no positive similarity"):
            found = quick.search(nothing, 5, blend=blend)
        assert found.ids.shape == (1, 5)
        assert found.confidence == 0


def test_blend_finds_what_the_basis_does_not_know(exact, queries):
    """FSRw is for items that the basis represents badly: the nearest are candidates too."""
    quick = exact.accelerate(first=None, second="IVF,SQfp16")
    heavy = lw.Blend(5.0, everywhere=True)
    for query in queries[:5]:
        a, b = (i.search(query, 20, blend=heavy).ids[0] for i in (quick, exact))
        assert len(np.intersect1d(a, b)) >= 18


def test_extended_and_compressed_indexes_are_accelerated_and_saved(digits_split, queries, tmp_path):
    index = paper_index(digits_split[0][:1000], k=15, spectrum=lw.Chebyshev(40))
    grown = index.extend(digits_split[0][1000:1200])
    for number, made in enumerate((grown.accelerate(), index.compress(basis="float16", vectors="int8").accelerate())):
        made.save(tmp_path / str(number))
        back = lw.Index.load(tmp_path / str(number))
        for query in queries[:5]:
            assert np.array_equal(back.search(query, 10).ids, made.search(query, 10).ids)
    small = index.compress(basis="int8").extend(digits_split[0][1000:1200])
    assert small.spectrum.eigenvectors.parts[0].values.codes.dtype == np.int8
    assert small.pooled is None  # the basis is stored once


def test_compressing_what_is_sparse_is_refused(digits_split):
    index = paper_index(digits_split[0][:300], k=10, spectrum=lw.Lanczos(20), sparsity=0.5)
    with pytest.raises(InputError, match="no dense part"):
        index.compress(basis="float16")
    with pytest.raises(InputError, match="float16 or int8"):
        index.compress(basis="PQ64")


def test_a_large_basis_is_stored_in_bytes(digits_split, monkeypatch, tmp_path):
    """By default where it is walked; told otherwise, as told; a refresh keeps it."""
    from longwave.building import build

    vectors, queries = digits_split[0], digits_split[2][:40]
    whole = lw.Index.build(vectors)
    assert whole.settings.basis_as is None
    monkeypatch.setattr(build, "_MANY", 1000)
    small = lw.Index.build(vectors)
    assert small.settings.basis_as.kind == "int8"
    assert small.spectrum.eigenvectors.nbytes < 0.5 * whole.spectrum.eigenvectors.nbytes
    one, two = whole.search(queries, 20).ids, small.search(queries, 20).ids
    assert np.mean([np.isin(a, b).mean() for a, b in zip(one, two, strict=True)]) > 0.97
    assert lw.Index.build(vectors, store_basis="float32").settings.basis_as is None
    assert lw.Index.build(vectors, **lw.PAPER).settings.basis_as is None
    half = lw.Index.build(vectors, store_basis="float16")
    assert half.compress(basis="float16").settings == half.settings
    with pytest.raises(InputError, match="store_basis='int8'"):
        half.compress(basis="int8")
    half.save(tmp_path / "x")
    with lw.open(tmp_path / "x") as living:
        living.add(queries)
        living.refresh(progress=False)
        assert living.index.settings.basis_as.kind == "float16"
