"""`Index` from vectors to hits: against the paper's formulas, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import longwave as lw
import oracle
from longwave.datasets import fashion_mnist
from longwave.errors import DataWarning, FilterError, InputError
from longwave.solvers.graph_walk import WALK_BYTES
from settings import paper_index

EXACT_OPTIONS = [
    {"solver": lw.Spectral()},
    {"solver": lw.Spectral(complement=False)},
    {"solver": lw.ConjugateGradient()},
    {"solver": lw.Hybrid(1e-6)},
    {"solver": lw.ChebyshevFilter()},
]


@pytest.fixture(scope="module")
def vectors(digits_split):
    return digits_split[0][:300]


@pytest.fixture(scope="module")
def queries(digits_split):
    return digits_split[2][:12]


@pytest.fixture(scope="module")
def index(vectors):
    return paper_index(vectors, k=10, spectrum=lw.Exact())


def expected_scores(vectors, queries, query_of, *, k, neighbors, alpha):
    v, q = oracle.unit(vectors), oracle.unit(queries)
    w = oracle.normalized(oracle.adjacency(v, k, 3.0))
    return oracle.linear_system(w, oracle.observation(v, q, query_of, neighbors, 3.0), alpha)


@pytest.mark.parametrize("options", EXACT_OPTIONS, ids=lambda o: repr(o["solver"]))
def test_from_vectors_to_scores_equals_the_oracle(index, vectors, queries, options):
    """Relative 2-norm 1e-5 per query, from raw vectors to item scores, α = 0.9."""
    expected = expected_scores(vectors, queries, np.arange(12), k=10, neighbors=5, alpha=0.9)
    scores, ids = index.search(queries, 300, filter=lw.LowPass(0.9), neighbors=5, **options)
    got = np.empty_like(expected)
    np.put_along_axis(got, ids, scores, axis=1)
    assert (np.linalg.norm(got - expected, axis=1) < 1e-5 * np.linalg.norm(expected, axis=1)).all()


def test_hits_are_sorted_and_shaped(index, queries):
    hits = index.search(queries, k=7)
    assert hits.ids.shape == hits.scores.shape == (12, 7)
    assert (np.diff(hits.scores, axis=1) <= 0).all()
    scores, ids = hits
    assert scores is hits.scores
    assert ids is hits.ids
    assert hits.n_queries == 12
    assert index.search(queries[0], k=3).ids.tolist() == [hits.ids[0, :3].tolist()]  # one query as a vector
    assert index.search(queries, k=10_000).ids.shape == (12, 300)


def test_chunks_of_queries_change_nothing(index, queries, monkeypatch):
    whole = index.search(queries, k=5, solver=lw.Hybrid(), blend=0.5)
    monkeypatch.setattr("longwave.search.scoring._SCORE_NUMBERS", 300 * 5)
    cut = index.search(queries, k=5, solver=lw.Hybrid(), blend=0.5)
    np.testing.assert_array_equal(whole.ids, cut.ids)
    np.testing.assert_array_equal(whole.steps, cut.steps)
    np.testing.assert_allclose(whole.errors, cut.errors, atol=5e-5)  # both at rounding


def test_ids_of_the_users(vectors, queries):
    plain = paper_index(vectors, k=10, spectrum=lw.Lanczos(30)).search(queries, 5)
    names = np.array([f"digit {i}" for i in range(300)])
    named = paper_index(vectors, ids=names, k=10, spectrum=lw.Lanczos(30)).search(queries, 5)
    np.testing.assert_array_equal(named.ids, names[plain.ids])
    numbered = paper_index(vectors, ids=list(range(1000, 1300)), k=10, spectrum=lw.Lanczos(30)).search(queries, 5)
    np.testing.assert_array_equal(numbered.ids, plain.ids + 1000)


@pytest.mark.parametrize("pooling", ["gmp", "sum"])
def test_regional_search_pools_vertex_scores(vectors, queries, pooling):
    from longwave.items.pooling import pooling_matrix
    from longwave.rows.vectors import normalize

    groups = np.random.default_rng(0).permutation(np.arange(300) // 4)
    index = paper_index(vectors, groups=groups, k=10, spectrum=lw.Exact(), pooling=pooling)
    query_of = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3])
    x = expected_scores(vectors, queries, query_of, k=10, neighbors=5, alpha=0.9)
    expected = x @ pooling_matrix(normalize(vectors), groups, pooling=pooling).toarray().T
    for options in EXACT_OPTIONS:
        scores, ids = index.search(queries, 75, query_groups=query_of, filter=lw.LowPass(0.9), neighbors=5, **options)
        got = np.empty_like(expected)
        np.put_along_axis(got, ids, scores, axis=1)
        assert np.linalg.norm(got - expected) < 1e-5 * np.linalg.norm(expected)


def test_groups_of_one_equal_no_groups_with_sum_pooling(vectors, queries):
    plain = paper_index(vectors, k=10, spectrum=lw.Lanczos(40)).search(queries, 9)
    alone = paper_index(vectors, groups=np.arange(300), k=10, spectrum=lw.Lanczos(40), pooling="sum").search(queries, 9)
    np.testing.assert_array_equal(plain.ids, alone.ids)


def test_string_groups_name_the_items(vectors, queries):
    groups = [f"photo {i // 3:03d}" for i in range(300)]
    index = paper_index(vectors, groups=groups, k=10, spectrum=lw.Lanczos(40))
    assert len(index) == 100
    assert index.search(queries, 1).ids[0, 0].startswith("photo ")


def test_euclidean(index, vectors, queries):
    hits = index.search(queries, 5, solver=lw.Euclidean())
    dots = oracle.unit(queries) @ oracle.unit(vectors).T
    np.testing.assert_allclose(hits.scores, -np.sort(-dots, axis=1)[:, :5], atol=1e-6)


def test_blend_is_the_formula(vectors, queries):
    """x' = x + w c (1 − η) V q, with c by name."""
    index = paper_index(vectors, k=10, spectrum=lw.Lanczos(20))
    n = len(index)

    def dense(**options):
        hits = index.search(queries, n, **options)
        out = np.empty((12, n))
        np.put_along_axis(out, hits.ids, hits.scores, axis=1)
        return out

    x, s = dense(), dense(solver=lw.Euclidean())
    eta = index.row_norms
    for scale, c in (
        ("printed", np.ones((12, 1))),
        ("impulse", np.full((12, 1), 0.01)),
        ("peak", (x.max(axis=1) / s.max(axis=1))[:, None]),
    ):
        expected = x + 0.7 * c * (1 - eta) * s
        np.testing.assert_allclose(dense(blend=lw.Blend(0.7, scale)), expected, atol=1e-5)
    np.testing.assert_allclose(dense(blend=0.7), x + 0.7 * c * (1 - eta) * s, atol=1e-5)  # a number: scale "peak"
    np.testing.assert_allclose(dense(blend=lw.Blend(0.7, everywhere=True)), x + 0.7 * c * s, atol=1e-5)
    np.testing.assert_allclose(dense(blend=0), x, atol=1e-7)


def test_regional_blend_pools_like_x(vectors, queries):
    groups = np.arange(300) // 3
    index = paper_index(vectors, groups=groups, k=10, spectrum=lw.Lanczos(20))
    query_of = np.repeat([0, 1, 2], 4)
    options = {"query_groups": query_of, "filter": lw.LowPass(0.9)}
    x = index.search(queries, 100, **options)
    mixed = index.search(queries, 100, blend=lw.Blend(1.0, "printed"), **options)
    region_sum = np.stack([oracle.unit(queries)[query_of == q].sum(axis=0) for q in range(3)])
    term = ((1 - index.row_norms) * (region_sum @ oracle.unit(vectors).T)) @ index.pooling.toarray().T
    for row in range(3):
        before = dict(zip(x.ids[row].tolist(), x.scores[row].tolist(), strict=True))
        for i, score in zip(mixed.ids[row].tolist(), mixed.scores[row].tolist(), strict=True):
            assert score == pytest.approx(before[i] + term[row, i], abs=1e-4)


def test_peak_scale_is_defined_for_every_filter_and_impulse_is_not(index, queries):
    """With a scale of max x / max s, the best of both terms together is at most twice the best of x."""
    plain = index.search(queries, 3, filter=lw.Ideal(0.5), blend=0)
    mixed = index.search(queries, 3, filter=lw.Ideal(0.5), blend=lw.Blend(1.0, "peak", everywhere=True))
    assert (mixed.scores[:, 0] > plain.scores[:, 0]).all()
    assert (mixed.scores[:, 0] <= 2 * plain.scores[:, 0] + 1e-6).all()
    with pytest.raises(FilterError, match=r"needs h\(0\) > 0"):
        index.search(queries, 3, filter=lw.Ideal(0.5), blend=lw.Blend(1.0, "impulse"))


def test_filters_need_no_rebuild(index, queries):
    tops = {
        str(index.search(queries, 50, filter=h).ids.tolist()) for h in (lw.LowPass(0.2), lw.LowPass(0.99), lw.Heat(5))
    }
    assert len(tops) == 3


def test_sparsity_drops_that_fraction(vectors, queries):
    full = paper_index(vectors, k=10, spectrum=lw.Lanczos(40), components="whole")
    sparse = paper_index(vectors, k=10, spectrum=lw.Lanczos(40), components="whole", sparsity=0.9)
    assert sparse.spectrum.eigenvectors.nonzeros == pytest.approx(0.1 * 300 * 40, abs=1)
    np.testing.assert_array_equal(sparse.spectrum.row_norms, full.spectrum.row_norms)
    assert sparse.search(queries, 5).ids.shape == (12, 5)


def test_sparsify_then_pool(vectors, queries):
    """Regional: U is sparsified, then pooled."""
    index = paper_index(vectors, groups=np.arange(300) // 3, k=10, spectrum=lw.Lanczos(40), sparsity=0.8)
    expected = index.pooling @ index.spectrum.eigenvectors.toarray()
    np.testing.assert_allclose(index.pooled.toarray(), expected, atol=1e-6)


def test_clipping_is_defined(queries):
    few = np.abs(np.random.default_rng(0).normal(size=(5, 64)))
    index = paper_index(few, k=50, spectrum=lw.Chebyshev(1000))
    assert index.settings.k_used == 4
    assert index.spectrum.rank <= 5
    assert index.search(queries, 10).ids.shape == (12, 5)


@pytest.mark.filterwarnings("ignore:no two of the")
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("components", ["blocks", "giant", "whole"])
def test_tiny_collections(n, components):
    """A single vector; orthogonal vectors, one component each."""
    index = paper_index(np.eye(n, 4), components=components)
    hits = index.search(np.eye(1, 4), 5)
    assert hits.ids[0, 0] == 0
    assert np.isfinite(hits.scores).all()
    assert hits.ids.shape == (1, n)


def test_zero_vectors_are_isolated_and_last(queries):
    vectors = np.vstack([np.abs(np.random.default_rng(0).normal(size=(30, 64))), np.zeros((1, 64))])
    with pytest.warns(DataWarning, match="1 of 31 rows"):
        index = paper_index(vectors, k=5, spectrum=lw.Exact())
    hits = index.search(queries, 31)
    assert (hits.scores[hits.ids == 30] == 0).all()


def test_duplicates_rank_together():
    rng = np.random.default_rng(0)
    vectors = np.vstack([rng.normal(size=(40, 8)), np.tile(rng.normal(size=8), (6, 1))])
    index = paper_index(vectors, k=5, spectrum=lw.Exact())
    assert set(index.search(vectors[45], 6).ids[0].tolist()) == set(range(40, 46))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"kernel": None, "gamma": 0.0}, "gamma must be a number above 0"),
        ({"kernel": None, "gamma": "3"}, "gamma must be a number above 0"),
        ({"k": 3.0}, "k must be a whole number"),
        ({"k": None}, "k must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"spectrum": "chebyshev"}, "spectrum must be a value such as Chebyshev(rank=1000), or None, got 'chebyshev'"),
        ({"spectrum": lw.Exact}, "spectrum must be a value"),
        ({"groups": np.arange(300) // 3 + 5, "ids": np.arange(100)}, "item numbers 0 … 99"),
        ({"ids": np.arange(300, dtype=np.uint64) + 2**63}, "must fit in 64-bit"),
        ({"components": "some"}, "one of blocks, printed, giant, whole, got 'some'"),
        ({"min_rank": 0}, "min_rank must be"),
        ({"sparsity": 1.0}, "sparsity must be at least 0 and below 1"),
        ({"groups": [0, 1]}, "one entry per vector, 300, got 2"),
        ({"groups": [[0]] * 300}, "flat list"),
        ({"groups": [[0], [1, 2]] * 150}, "flat list"),
        ({"groups": [0.5] * 300}, "ints or of strings"),
        ({"ids": [1, 2]}, "one entry per vector, 300, got 2"),
        ({"ids": [7] * 300}, "ids must be distinct, but 7 occurs 300 times"),
        ({"groups": np.arange(300) // 3, "ids": [1, 2]}, "one entry per distinct group, 100, got 2"),
        ({"groups": np.arange(300) // 3, "pooling": "max"}, "one of gmp, sum"),
    ],
)
def test_bad_build_options(vectors, options, words):
    with pytest.raises(InputError) as error:
        paper_index(vectors, **{"k": 5, "spectrum": None, **options})
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k must be"),
        ({"neighbors": 0}, "neighbors must be"),
        ({"cut": 0}, "cut must be"),
        ({"query_groups": [0, 1]}, "one entry per query row, 12"),
        ({"query_groups": [0] * 11 + [2]}, "no row for query 1"),
        ({"query_groups": [-1] * 12}, "from 0"),
        ({"query_groups": ["a"] * 12}, "whole numbers"),
        ({"query_groups": [[0], [0, 1]] * 6}, "flat list"),
        ({"solver": lw.Euclidean(), "blend": 1.0}, "leave it out"),
        ({"blend": -1.0}, "blend weight must be at least 0"),
        ({"blend": lw.Blend(1.0)}, None),
        ({"filter": lambda t: t * np.nan}, "finite real numbers"),
        ({"filter": "lopass:0.9"}, "unknown filter 'lopass:0.9', did you mean lowpass"),
        ({"filter": lw.Heat}, "filter must be a value"),
        ({"solver": "cgs"}, "unknown solver 'cgs', did you mean cg"),
        ({"solver": lw.Spectral}, "solver must be a value"),
        ({"region_sum": "x"}, "region_sum must be one of"),
    ],
)
def test_bad_search_options(index, queries, options, words):
    if words is None:
        index.search(queries, **options)
        return
    with pytest.raises(InputError) as error:
        index.search(queries, **options)
    assert words in str(error.value)


def test_bad_queries(index, queries):
    for bad, words in (
        (queries[:, :5], "5 dimensions but the index has 64"),
        (np.where(np.arange(64) == 3, np.nan, queries), "nan at row 0, column 3"),
        (np.zeros((2, 64)), "row 0 of queries is all zero"),
        (np.zeros((0, 64)), "empty"),
    ):
        with pytest.raises(InputError, match=words):
            index.search(bad)


def test_without_a_basis_only_the_graph_solvers_work(vectors, queries):
    index = paper_index(vectors, k=10, spectrum=None)
    index.search(queries, solver=lw.ConjugateGradient())
    with pytest.raises(InputError, match="built without"):
        index.search(queries)
    with pytest.raises(InputError, match="built without"):
        index.search(queries, solver=lw.ConjugateGradient(), blend=0.5)


def test_embed_and_kernel(index, vectors, queries):
    one = index.embed(queries, filter=lw.LowPass(0.9), neighbors=5)
    assert one.shape == (12, index.spectrum.rank)
    product = index.kernel(queries, queries, filter=lw.LowPass(0.9), neighbors=5)
    np.testing.assert_allclose(product, one @ one.T, atol=0.1 * np.abs(product).max())  # but for isolated vertices
    # An item of the graph is its own nearest: ψ(v) = e_v with one neighbour, and κ̂ is the printed score.
    hits = index.search(queries, 300, filter=lw.LowPass(0.9), neighbors=1, solver=lw.Spectral(complement=False))
    scores = np.empty((12, 300))
    np.put_along_axis(scores, hits.ids, hits.scores, axis=1)
    in_graph = index.kernel(queries, vectors, filter=lw.LowPass(0.9), neighbors=1)
    np.testing.assert_allclose(in_graph, scores, atol=1e-5 * scores.max())
    with pytest.raises(FilterError, match=r"h >= 0"):
        index.embed(queries, filter=lambda t: t - 0.5)


def test_extension_scores_are_psi_times_x(index, queries):
    rng = np.random.default_rng(1)
    new = np.abs(rng.normal(size=(20, 64)))
    for normalized in (True, False):
        extended = index.extend(new, neighbors=4, normalized=normalized)
        x = np.empty((12, 300))
        hits = index.search(queries, 300)
        np.put_along_axis(x, hits.ids, hits.scores, axis=1)
        psi = oracle.conditional(oracle.unit(index.vectors.rows(slice(None))), oracle.unit(new), 4, 3.0)
        if normalized:
            psi /= psi.sum(axis=1, keepdims=True)
        expected = np.hstack([x, x @ psi.T])
        got = np.empty((12, 320))
        hits = extended.search(queries, 320)
        np.put_along_axis(got, hits.ids, hits.scores, axis=1)
        np.testing.assert_allclose(got, expected, atol=1e-5 * np.abs(expected).max())
        assert extended.search(queries, 320, solver=lw.Euclidean()).ids.shape == (12, 320)
        assert extended.search(queries, 320, blend=0.3).ids.shape == (12, 320)
        np.testing.assert_array_equal(extended.search(queries, 9, solver=lw.Hybrid(1e-5)).ids, hits.ids[:, :9])


def test_extension_twice_and_with_groups(vectors, queries):
    index = paper_index(vectors[:200], groups=np.arange(200) // 2, k=10, spectrum=lw.Exact())
    once = index.extend(vectors[200:260], groups=[f for f in range(500, 530) for _ in (0, 1)])
    twice = once.extend(vectors[260:], ids=[900 + i for i in range(40)])
    assert len(twice) == 100 + 30 + 40
    assert twice.ids[-1] == 939
    hits = twice.search(queries, 170)
    assert sorted(hits.ids[0].tolist()) == sorted(twice.ids.tolist())
    with pytest.raises(InputError, match="distinct"):
        index.extend(vectors[200:202], ids=[0, 1])
    with pytest.raises(InputError, match="dimensions"):
        index.extend(np.ones((2, 3)))
    named = paper_index(vectors[:50], ids=[f"a{i}" for i in range(50)], k=5, spectrum=lw.Exact())
    with pytest.raises(InputError, match="give ids for the new items"):
        named.extend(vectors[50:60])
    assert named.extend(vectors[50:51], ids=["longer name"]).ids[-1] == "longer name"


def test_two_builds_are_equal(vectors, queries):
    one, two = (paper_index(vectors, k=10, spectrum=lw.Simultaneous(30), seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.search(queries, 50).ids, two.search(queries, 50).ids)


@pytest.mark.filterwarnings("ignore:no two of the", "ignore::longwave.errors.FilterWarning")
@settings(deadline=None, max_examples=30)
@given(
    vectors=arrays(
        np.float32, st.tuples(st.integers(1, 12), st.just(3)), elements=st.sampled_from([0.25, 0.5, 1.0, -1.0])
    ),
    k=st.integers(1, 5),
    rank=st.integers(1, 6),
    components=st.sampled_from(["blocks", "giant", "whole"]),
)
def test_any_collection_can_be_searched(vectors, k, rank, components):
    index = paper_index(vectors, k=k, spectrum=lw.Chebyshev(rank), components=components)
    hits = index.search(vectors, len(vectors))
    assert np.isfinite(hits.scores).all()
    assert (np.sort(hits.ids, axis=1) == np.arange(len(vectors))).all()


def test_lists_from_elsewhere_give_the_same_index(vectors, queries, index):
    dots = oracle.unit(vectors) @ oracle.unit(vectors).T
    ids = np.argsort(-dots, axis=1, kind="stable")[:, :11]  # the vertex itself and ten others
    pair = ids, np.take_along_axis(dots, ids, axis=1)
    expected = index.search(queries, 20)
    for lists in (ids, pair):
        given = paper_index(vectors, lists=lists, spectrum=lw.Exact())
        hits = given.search(queries, 20)
        np.testing.assert_allclose(hits.scores, expected.scores, atol=1e-6)
        assert given.settings.recall is None


def test_a_query_that_sees_nothing_warns(index):
    with pytest.warns(DataWarning, match=r"1 of 1 queries \(the first is 0\) have no positive similarity"):
        index.search(-np.ones((1, 64)), 5)


def test_indexes_compare_by_identity_and_print_in_one_line(index):
    assert index == index
    assert len({index, index}) == 1
    assert repr(index) == f"<Index of 300 items, 300 × 64 vectors, rank {index.spectrum.rank}>"


def test_concurrent_searches(index, queries):
    from concurrent.futures import ThreadPoolExecutor

    expected = index.search(queries, 20)
    with ThreadPoolExecutor(6) as pool:
        for hits in pool.map(lambda _: index.search(queries, 20), range(60)):
            np.testing.assert_array_equal(hits.ids, expected.ids)


def test_ids_of_groups_are_looked_up_by_item_number(vectors, queries):
    groups = np.arange(300) % 100
    names = [f"photo {i}" for i in range(100)]
    plain = paper_index(vectors, groups=groups, k=10, spectrum=lw.Lanczos(30)).search(queries, 5)
    named = paper_index(vectors, groups=groups, ids=names, k=10, spectrum=lw.Lanczos(30)).search(queries, 5)
    np.testing.assert_array_equal(named.ids, np.array(names)[plain.ids])


def test_sparse_bases_take_eight_bytes_an_entry(vectors):
    index = paper_index(vectors, k=10, spectrum=lw.Lanczos(40), components="whole", sparsity=0.5)
    basis = index.spectrum.eigenvectors
    assert basis.sparse.indices.dtype == np.int32
    assert basis.nbytes <= 8 * basis.sparse.nnz + 4 * 301


def test_blend_leaves_an_exact_extension_alone(vectors, queries):
    """η = 1 everywhere: FSRw adds nothing, to items in the graph and outside alike."""
    index = paper_index(vectors[:200], k=10, spectrum=lw.Exact())
    for normalized in (True, False):
        extended = index.extend(vectors[200:], normalized=normalized)
        plain, mixed = extended.search(queries, 300), extended.search(queries, 300, blend=lw.Blend(1.0, "printed"))
        np.testing.assert_allclose(mixed.scores, plain.scores, atol=1e-4)


def test_blend_everywhere_needs_no_basis(vectors, queries):
    index = paper_index(vectors, k=10, spectrum=None)
    options = {"solver": lw.ConjugateGradient()}
    mixed = index.search(queries, 300, blend=lw.Blend(1e6, everywhere=True), **options)
    plain = index.search(queries, 300, solver=lw.Euclidean())
    np.testing.assert_array_equal(mixed.ids[:, :20], plain.ids[:, :20])  # a huge weight ranks by similarity


def test_ids_from_a_column_of_objects(vectors):
    names = np.array([f"a{i}" for i in range(300)], dtype=object)
    assert paper_index(vectors, ids=names, k=5, spectrum=None).ids[7] == "a7"


def test_a_sparse_basis_states_its_own_residuals(vectors):
    index = paper_index(vectors, k=10, spectrum=lw.Exact(), sparsity=0.95)
    u = index.spectrum.eigenvectors.toarray()
    actual = np.linalg.norm(index.graph.normalized @ u - u * index.spectrum.eigenvalues.astype(np.float32), axis=0)
    np.testing.assert_allclose(index.spectrum.residuals, actual, atol=1e-5)
    assert actual.max() > 0.1


def test_start_from_an_earlier_index(vectors, queries, monkeypatch):
    """Additions at the end: the basis of the first rows is the start, the answer that of a build from nothing."""
    from longwave.spectrum import chebyshev

    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)
    options = {"k": 20, "spectrum": lw.Chebyshev(40, tolerance=1e-4)}
    earlier = paper_index(vectors[:-30], **options)
    warm = paper_index(vectors, **options, start=earlier)
    cold = paper_index(vectors, **options)
    np.testing.assert_allclose(warm.spectrum.eigenvalues, cold.spectrum.eigenvalues, atol=1e-5)
    np.testing.assert_allclose(warm.search(queries).scores, cold.search(queries).scores, rtol=1e-3, atol=1e-6)
    once = {"k": 20, "spectrum": lw.Chebyshev(40, tolerance=1e-9, max_rounds=1)}
    with pytest.warns(lw.LongwaveWarning):
        better, worse = (paper_index(vectors, **once, start=start) for start in (earlier, None))
    assert better.spectrum.residuals.mean() < 0.5 * worse.spectrum.residuals.mean()
    wide = paper_index(vectors[:-30], k=20, spectrum=lw.Chebyshev(100))
    paper_index(vectors, **options, start=wide)  # more columns than the block has
    with pytest.raises(InputError, match="cannot be the first rows"):
        paper_index(vectors[:100], **options, start=earlier)
    with pytest.raises(InputError, match="open one with"):
        paper_index(vectors, **options, start="earlier.longwave")


@pytest.mark.parametrize("method", [lw.Chebyshev, lw.Lanczos, lw.Simultaneous, lw.Exact])
def test_a_rank_is_a_whole_number(method):
    for wrong in (10.0, "10", True, 0):
        with pytest.raises(InputError, match="rank must be a whole number of at least 1"):
            method(rank=wrong)


def test_memory_counts_the_copy_by_column_of_a_sparse_basis(vectors, queries):
    index = paper_index(vectors, k=10, spectrum=lw.Lanczos(40), components="whole", sparsity=0.5)
    index.search(queries[0], 5)
    basis = index.spectrum.eigenvectors
    copy = basis.by_column
    held = basis.nbytes + copy.data.nbytes + copy.indices.nbytes + copy.indptr.nbytes
    assert abs(index.memory()["basis"] / held - 1) < 0.05


def test_memory_is_what_the_folder_has_and_what_walks_write(tmp_path):
    """An index of some size is mapped: what it holds is what is on the disk, and some numbers for each vertex."""
    index = lw.Index.build(fashion_mnist().vectors[:20_000], progress=False)
    index.save(tmp_path / "i")
    stored = sum(file.stat().st_size for file in (tmp_path / "i" / "data").iterdir())
    told = sum(index.memory().values())
    assert index.settings.plan.vectors.kind == "links"  # stored, which codes are not
    assert abs((told - WALK_BYTES * len(index)) / stored - 1) < 0.02


def test_quantised_vectors_are_not_decoded_for_a_query(vectors, queries, monkeypatch):
    index = paper_index(vectors, k=10, spectrum=lw.Lanczos(40)).compress(vectors="SQ8").extend(queries[:3])
    wanted = index.search(queries[5], 10).ids

    def decoded(self, rows):
        raise AssertionError("decoded")

    monkeypatch.setattr("longwave.rows.encoded.Quantized.__getitem__", decoded)
    np.testing.assert_array_equal(index.search(queries[5], 10).ids, wanted)
