"""Average precision: by hand, against the protocol on random rankings, and what is refused."""

import numpy as np
import pytest

from longwave.errors import InputError
from longwave.evaluation import Judgement, average_precision, label_judgements, mean_average_precision


def oxford_reference(ranked, positive, junk):
    """The protocol's loop: precision before and after every positive, averaged, times the step of recall."""
    old_recall, old_precision, ap, found, j = 0.0, 1.0, 0.0, 0, 0
    for item in ranked:
        if item in junk:
            continue
        found += item in positive
        recall, precision = found / len(positive), found / (j + 1)
        ap += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
        j += 1
    return ap


def test_equals_the_protocol_on_random_rankings():
    rng = np.random.default_rng(0)
    for _ in range(200):
        ranked = rng.permutation(30)
        labels = rng.integers(0, 3, 30)
        labels[0] = 1
        positive, junk = np.flatnonzero(labels == 1), np.flatnonzero(labels == 2)
        got = average_precision(ranked, Judgement(positive.tolist(), junk.tolist()))
        assert got == pytest.approx(oxford_reference(ranked, set(positive), set(junk)))


def test_by_hand():
    assert average_precision(np.array([1, 2, 3]), Judgement([1, 2])) == 1.0
    # positive at ranks 2: precision before 0, after 1/2
    assert average_precision(np.array([9, 1]), Judgement([1])) == 0.25
    # junk in front does not count
    assert average_precision(np.array([9, 1]), Judgement([1], [9])) == 1.0
    # a positive that is never found
    assert average_precision(np.array([1, 9]), Judgement([1, 5])) == 0.5


def test_a_rectangle_would_differ():
    ranked, judgement = np.array([9, 1, 8, 2]), Judgement([1, 2])
    rectangle = (1 / 2 + 2 / 4) / 2
    assert average_precision(ranked, judgement) == pytest.approx((0.25 + (1 / 3 + 2 / 4) / 2) / 2)
    assert average_precision(ranked, judgement) != pytest.approx(rectangle)


def test_strings_and_labels():
    ids = np.array(["a", "b", "c", "d"])
    judgements = label_judgements([0, 1, 7], np.array([0, 1, 0, 1]), ids)
    assert [j.positive for j in judgements] == [["a", "c"], ["b", "d"], []]
    assert mean_average_precision(np.array([ids, ids[::-1]]), judgements[:2]) == pytest.approx(
        (average_precision(ids, judgements[0]) + average_precision(ids[::-1], judgements[1])) / 2
    )


def test_errors():
    with pytest.raises(InputError, match="at least one positive"):
        average_precision(np.arange(3), Judgement([]))
    with pytest.raises(InputError, match="2 ranked lists but 1 judgements"):
        mean_average_precision(np.zeros((2, 3)), [Judgement([1])])
