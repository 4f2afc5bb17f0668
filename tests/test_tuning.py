"""Parameters without labels: what sharpness, stability and the choice mean, and what they give on real collections."""

import numpy as np
import pytest

import longwave as lw
from longwave import tuning
from longwave.evaluation import label_judgements, mean_average_precision
from longwave.neighbors import nearest_others
from longwave.tuning import Choice, as_good_as_best, calibrated_gamma, stability
from longwave.types import Neighbors
from longwave.vectors import normalize


def test_gamma_makes_the_last_neighbour_weigh_a_hundredth():
    lists = np.array([[0.9, 0.8, 0.6], [0.99, 0.95, 0.66]], dtype=np.float32)
    gamma = calibrated_gamma(lists)
    assert np.allclose((lists[:, 2] / lists[:, 0]) ** gamma, 0.01, rtol=1e-3)
    # Raising all similarities to a power is undone: it is the fall along the list that counts.
    assert np.isclose(calibrated_gamma(lists**2), gamma / 2, rtol=1e-5)


@pytest.mark.parametrize("values", [[[1.0, 1.0]], [[0.5, -np.inf]], [[0.0, 0.0]], [[-0.2, -0.3]]])
def test_gamma_where_nothing_can_be_learnt_is_the_papers(values):
    assert calibrated_gamma(np.array(values, dtype=np.float32)) == 3.0


def test_stability_counts_what_is_found_twice_and_not_by_everyone():
    own = np.arange(60).reshape(3, 20)
    assert np.allclose(stability(own, own), 1)
    assert np.allclose(stability(own, np.roll(own, -1, axis=0)), -1)
    everyone = np.tile(np.arange(20), (3, 1))
    assert np.allclose(stability(everyone, everyone), 0)


def test_only_what_is_better_beyond_doubt_replaces_the_default():
    choices = [Choice(10, 1.0, 0.9), Choice(20, 1.0, 0.8), Choice(50, 1.0, 0.99)]
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, (3, 100))
    assert as_good_as_best(choices, 0.5 + noise) == 1
    assert as_good_as_best(choices, np.array([[0.7], [0.5], [0.5]]) + noise) == 0


def test_bad_settings_are_less_stable(digits_split):
    """The criterion must rank a graph that joins everything behind one that does not."""
    found = tuning.tune(normalize(digits_split[0]), ks=(20, 50), alphas=(0.8, 0.99))
    score = {(row.choice.k, row.choice.alpha): row.score for row in found.rows}
    assert found.criterion == "stability"
    assert score[50, 0.99] < score[20, 0.8]


@pytest.mark.parametrize("n", [1, 2, 5, 15])
def test_too_few_vectors_get_the_default(n):
    found = tuning.tune(normalize(np.random.default_rng(0).normal(size=(n, 8))))
    assert found.criterion == "none"
    assert found.chosen.alpha == tuning.DEFAULT_ALPHA
    assert 1 <= found.chosen.k <= max(1, n - 1)


def test_given_lists_are_used(digits_split):
    unit = normalize(digits_split[0][:400])
    lists = nearest_others(unit, k=50)
    assert tuning.tune(unit, lists, alphas=(0.8,)).rows == tuning.tune(unit, alphas=(0.8,)).rows


@pytest.fixture(scope="module")
def automatic(digits_split):
    return lw.Index.build(digits_split[0], auto=True, spectrum=lw.Chebyshev(100))


def mean_precision(index, split, **options):
    hits = index.search(split[2], len(index), **options)
    return 100 * mean_average_precision(hits.ids, label_judgements(split[3], split[1], index.ids))


def test_automatic_on_digits(automatic, digits_split):
    plain = mean_precision(automatic, digits_split, solver=lw.Euclidean())
    assert mean_precision(automatic, digits_split) > plain + 15  # 65.8 -> about 87 with the best of a grid
    assert automatic.settings.search.blend == "auto"  # the graph of digits can be trusted: nothing is added to all
    assert automatic.settings.gamma > 10  # raw pixels lie close together


def test_what_was_found_is_saved_and_searched_with(automatic, digits_split, tmp_path):
    automatic.save(tmp_path / "i")
    back = lw.Index.load(tmp_path / "i")
    assert back.settings == automatic.settings
    query = digits_split[2][:3]
    assert np.array_equal(back.search(query).ids, automatic.search(query).ids)
    known = automatic.settings.search
    told = automatic.search(query, filter=lw.filters.parse(known.filter), neighbors=known.neighbors, blend="auto")
    assert np.array_equal(told.scores, automatic.search(query).scores)


def test_hubs_call_for_euclidean_similarity():
    """One vector that everybody has as a neighbour and that returns it to few."""
    ring = np.arange(40)
    ids = (ring[:, None] + np.array([1, -1, 2, -2, 3, -3, 4, -4, 5, -5, *range(6, 11), *range(-10, -5)])) % 40
    falling = np.tile(np.linspace(0.9, 0.5, 20, dtype=np.float32), (40, 1))
    assert tuning.mutual_share(Neighbors(ids, falling)) == 1
    ids[:, :9] = np.arange(9)
    hubs = falling.copy()
    hubs[:9] = 0.99
    assert tuning.mutual_share(Neighbors(ids, hubs)) < 0.5
    assert tuning.base_weight(0.5) == 2
    assert 0 < tuning.base_weight(0.73) < 2
    assert tuning.base_weight(0.8) == 0


@pytest.mark.parametrize("name", ["orl", "text_cisi"])
def test_automatic_is_not_below_euclidean_on_the_hard_sets(shared_data, name):
    import json

    from longwave.evaluation import Judgement

    vectors = np.load(shared_data / name / "vectors.npy").astype(np.float32)
    if name == "orl":
        labels = np.load(shared_data / name / "labels.npy")
        order = np.random.default_rng(0).permutation(len(vectors))
        vectors = vectors - vectors.mean(axis=0)
        asked, rest = order[: len(order) // 5], order[len(order) // 5 :]
        queries, collection = vectors[asked], vectors[rest]
        judgements = label_judgements(labels[asked], labels[rest], np.arange(len(rest)))
    else:
        truth = json.loads((shared_data / name / "truth.json").read_text())["queries"]
        queries, collection = np.load(shared_data / name / "queries.npy"), vectors
        judgements = [Judgement(entry["positive"]) for entry in truth]
    kept = [q for q, judgement in enumerate(judgements) if judgement.positive]
    index = lw.Index.build(collection, auto=True, spectrum=lw.Exact())
    rankings = {s: index.search(queries[kept], len(index), solver=s).ids for s in (lw.Euclidean(), lw.Spectral())}
    plain, found = (100 * mean_average_precision(ranked, [judgements[q] for q in kept]) for ranked in rankings.values())
    assert found > plain - 0.5


def test_auto_makes_the_lists_of_all_dimensions_once(digits_split, monkeypatch):
    from longwave import neighbors

    asked = []
    true = neighbors.nearest_others

    def counted(vectors, **options):
        asked.append(vectors.shape[1])
        return true(vectors, **options)

    monkeypatch.setattr(neighbors, "nearest_others", counted)
    index = lw.Index.build(digits_split[0][:400], auto=True, spectrum=lw.Chebyshev(10))
    assert asked.count(64) == 1
    assert len(asked) == 3  # and two halves of the dimensions
    assert index.settings.recall == 1.0
    assert index.settings.k_used == index.settings.k
