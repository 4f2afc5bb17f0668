"""The baselines against their formulas: expansion, augmentation, region match, truncated diffusion."""

import numpy as np
import pytest

import longwave as lw
from longwave.baselines import (
    DatabaseAugmentation,
    Manifold,
    QueryExpansion,
    RegionMatch,
    TruncatedDiffusion,
)
from longwave.datasets import shared
from longwave.errors import InputError
from longwave.evaluation import mean_average_precision
from longwave.rows.vectors import normalize
from longwave.search.euclidean import Euclidean
from settings import paper_index


@pytest.fixture(scope="module")
def digits_index(digits_split):
    vectors, _, queries, _ = digits_split
    return paper_index(vectors[:400], k=10, spectrum=None), queries[:8]


def dense_expansion(q, v, count, power):
    sims = v @ q
    near = np.argsort(-sims, kind="stable")[:count]
    grown = q + sum(max(sims[i], 0) ** power * v[i] for i in near)
    return grown / np.linalg.norm(grown)


@pytest.mark.parametrize("power", [0.0, 3.0])
def test_query_expansion_is_the_formula(digits_index, power):
    index, queries = digits_index
    vectors = index.vectors.rows(slice(None))
    hits = QueryExpansion(5, power)(index, queries, 400)
    for row, q in enumerate(normalize(queries)):
        expected = vectors @ dense_expansion(q, vectors, 5, power)
        np.testing.assert_allclose(hits.scores[row], expected[hits.ids[row]], atol=1e-5)
        assert (np.diff(hits.scores[row]) <= 0).all()


def test_database_augmentation_is_the_formula(digits_index):
    index, queries = digits_index
    made = DatabaseAugmentation.of(index, count=4, power=2.0)
    for i in (0, 17, 399):
        others = np.delete(index.vectors.rows(slice(None)), i, axis=0)
        np.testing.assert_allclose(made.vectors[i], dense_expansion(index.vectors.rows(i), others, 4, 2.0), atol=1e-5)
    hits = DatabaseAugmentation.of(index, count=4, expansion=QueryExpansion(3))(index, queries, 5)
    assert hits.ids.shape == (8, 5)


def test_region_match_is_the_formula(digits_split):
    vectors, _, queries, _ = digits_split
    groups = np.random.default_rng(0).permutation(np.arange(60) % 20)
    index = paper_index(vectors[:60], groups=groups, k=5, spectrum=None)
    query_groups = np.array([0, 0, 1, 1, 1])
    hits = RegionMatch()(index, queries[:5], 20, query_groups=query_groups)
    products = normalize(queries[:5]) @ index.vectors.rows(slice(None)).T
    for query in (0, 1):
        for item, score in zip(hits.ids[query], hits.scores[query], strict=True):
            expected = sum(products[j, groups == item].max() for j in np.flatnonzero(query_groups == query))
            assert score == pytest.approx(expected, abs=1e-5)


def test_truncation_to_everything_is_the_whole_diffusion(digits_index):
    index, queries = digits_index
    whole = Manifold(solver=lw.ConjugateGradient())(index, queries, 400)
    truncated = TruncatedDiffusion(count=400)(index, queries, 400)
    for row in range(len(queries)):
        expected = np.zeros(400)
        expected[whole.ids[row]] = whole.scores[row]
        np.testing.assert_allclose(truncated.scores[row], expected[truncated.ids[row]], atol=1e-6)


def test_truncation_keeps_the_rest_in_euclidean_order(digits_index):
    index, queries = digits_index
    hits = TruncatedDiffusion(count=50)(index, queries, 400)
    plain = Manifold(solver=Euclidean())(index, queries, 400)
    for ours, theirs in zip(hits.ids, plain.ids, strict=True):
        assert set(ours[:50]) == set(theirs[:50])
        np.testing.assert_array_equal(ours[50:], theirs[50:])


def test_truncation_of_regions_to_everything(digits_split):
    vectors, _, queries, _ = digits_split
    index = paper_index(vectors[:120], groups=np.arange(120) // 3, k=10, spectrum=None)
    options = {"query_groups": np.array([0, 0, 1, 1])}
    whole = Manifold(solver=lw.ConjugateGradient())(index, queries[:4], 40, **options)
    truncated = TruncatedDiffusion(count=40)(index, queries[:4], 40, **options)
    np.testing.assert_allclose(truncated.scores, np.maximum(whole.scores, 0), atol=1e-5)


def test_on_the_oxford_buildings(shared_data):
    """Expansion helps, diffusion helps more, and truncating it costs: the order of the literature."""
    data = shared.oxford(shared_data)
    index = paper_index(data.vectors, spectrum=None)

    def score(ranker):
        return 100 * mean_average_precision(ranker(index, data.queries, len(index)).ids, data.judgements)

    plain, expanded = score(Manifold(solver=Euclidean())), score(QueryExpansion())
    diffused = score(Manifold(solver=lw.ConjugateGradient()))
    truncated = score(TruncatedDiffusion(count=200))
    assert plain == pytest.approx(53.6, abs=0.1)
    assert plain + 5 < expanded < diffused
    assert plain < truncated < diffused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: QueryExpansion(0), "count must be"),
        (lambda: QueryExpansion(3, -1.0), "power must be at least 0, got -1.0"),
        (lambda: TruncatedDiffusion(count=0), "count must be"),
    ],
)
def test_errors(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_expansion_refuses_regions(digits_split):
    vectors, _, queries, _ = digits_split
    index = paper_index(vectors[:20], groups=np.arange(20) // 2, k=5, spectrum=None)
    with pytest.raises(InputError, match="one vector per item"):
        QueryExpansion()(index, queries, 5)
    with pytest.raises(InputError, match="one vector per item"):
        DatabaseAugmentation.of(index)
    small = paper_index(vectors[:20], k=5, spectrum=None).compress(vectors="float16")
    for ranker in (QueryExpansion(), RegionMatch()):
        with pytest.raises(InputError, match="stored in fewer bytes"):
            ranker(small, queries, 5)
    extended = paper_index(vectors[:20], k=5, spectrum=None).extend(vectors[20:30])
    with pytest.raises(InputError, match="build the index from all vectors"):
        TruncatedDiffusion()(extended, queries, 5)
