"""Settings by known answers."""

import numpy as np
import pytest

from longwave.datasets import arcs
from longwave.errors import InputError
from longwave.evaluation import label_judgements
from longwave.evaluation.tuning import VARIED, Choice, Trial, hold_out, judge_by, tune
from longwave.rows.vectors import normalize


@pytest.fixture(scope="module")
def found(digits_split):
    vectors, labels, queries, query_labels = digits_split
    judged = label_judgements(query_labels, labels, np.arange(len(labels)))
    seen = []
    tuning = tune(
        normalize(vectors),
        normalize(queries),
        judge_by(judged, np.arange(len(labels))),
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    )
    return tuning, seen


def test_every_setting_is_tried_from_the_default_on(found):
    tuning, seen = found
    assert len(tuning.trials) == 1 + sum(len(values) for values in VARIED.values())
    assert tuning.trials[0].choice == Choice()
    assert ("settings", len(tuning.trials), len(tuning.trials)) in seen


def test_the_default_is_far_above_euclidean_and_hardly_beaten_on_digits(found):
    tuning, _ = found
    assert tuning.trials[0].score > tuning.euclidean + 0.2
    assert tuning.chosen.score <= tuning.trials[0].score + 0.02


def test_a_setting_is_taken_only_if_it_is_better_by_more_than_chance():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.4, 0.6, 100)
    default = Trial(Choice(), base)
    assert not Trial(Choice(k=20), base).better_than(default)
    assert not Trial(Choice(k=20), base - 0.01).better_than(default)
    assert Trial(Choice(k=20), base + 0.01).better_than(default)
    noisy = base + np.where(np.arange(100) == 0, 0.4, -0.003)  # one query gains, all others lose
    assert not Trial(Choice(k=20), noisy).better_than(default)


def test_words_are_options_of_build():
    assert Choice(blend=None).words() == {
        "k": "50",
        "kernel": "local:7,5,4,3",
        "filter": "lowpass:0.99",
        "neighbors": "5",
        "blend": "none",
    }


def test_one_vector_cannot_be_tuned():
    vectors, _ = arcs()
    with pytest.raises(InputError, match="at least 2 vectors, got 1"):
        tune(normalize(vectors[:1]), normalize(vectors[:1]), lambda ranked, rows: np.ones(len(rows)))


def test_some_are_held_out_as_queries_and_judged_by_their_labels():
    labels, ids = np.arange(50) % 3, np.array([f"v{i}" for i in range(50)])
    held = hold_out(labels, ids, seed=1)
    assert len(held.queries) == 5
    assert sorted([*held.queries, *held.collection]) == list(range(50))
    own = ids[held.collection[labels[held.collection] == labels[held.queries[0]]]]
    assert held.judgements[0].positive == own.tolist()
    with pytest.raises(InputError, match="a label for each vector, 50, got 3"):
        hold_out(labels[:3], ids)
