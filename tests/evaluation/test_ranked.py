"""Measures against hand-computed cases and against trec_eval through ir-measures, and where the definitions differ."""

import ir_measures
import numpy as np
import pytest

from longwave.errors import InputError
from longwave.evaluation import (
    Graded,
    Judgement,
    average_precision,
    bulls_eye,
    capped_precision_at,
    evaluate_revisited,
    mean_over_queries,
    ndcg,
    precision_at,
    recall_at,
)


def independent(measure, ranked, grades):
    """A measure of trec_eval's for one query."""
    qrels = {"q": {str(i): int(g) for i, g in grades.items()}}
    run = {"q": {str(i): float(-place) for place, i in enumerate(ranked.tolist())}}
    return ir_measures.calc_aggregate([measure], qrels, run)[measure]


def random_cases(n=60):
    rng = np.random.default_rng(3)
    for _ in range(n):
        ranked = rng.permutation(40)[: rng.integers(5, 41)]
        judged = rng.choice(40, rng.integers(1, 15), replace=False)
        yield ranked, {int(i): int(g) for i, g in zip(judged, rng.integers(1, 4, len(judged)), strict=True)}


def test_precision_recall_and_ndcg_equal_trec_eval():
    for ranked, grades in random_cases():
        judgement = Judgement(list(grades))
        for k in (1, 5, 10):
            assert precision_at(ranked, judgement, k) == pytest.approx(independent(ir_measures.P @ k, ranked, grades))
            assert recall_at(ranked, judgement, k) == pytest.approx(independent(ir_measures.R @ k, ranked, grades))
            assert ndcg(ranked, grades, k=k) == pytest.approx(independent(ir_measures.nDCG @ k, ranked, grades))
        assert ndcg(ranked, grades) == pytest.approx(independent(ir_measures.nDCG, ranked, grades))


def test_average_precision_differs_from_trec_eval_by_the_trapezoid():
    """trec_eval takes precision after each positive; the Oxford protocol its mean with that just before."""
    for ranked, grades in random_cases():
        places = np.flatnonzero(np.isin(ranked, list(grades)))
        after = [(i + 1) / (p + 1) for i, p in enumerate(places)]
        before = [i / p if p else 1.0 for i, p in enumerate(places)]
        difference = (sum(after) - sum(before)) / 2 / len(grades)
        rectangle = independent(ir_measures.AP, ranked, grades)
        assert average_precision(ranked, Judgement(list(grades))) == pytest.approx(rectangle - difference)


def test_junk_ignored_equals_trec_eval_on_the_list_without_it():
    for ranked, grades in random_cases():
        junk = [int(i) for i in ranked if i not in grades][::3]
        kept = ranked[~np.isin(ranked, junk)]
        judgement = Judgement(list(grades), junk)
        assert precision_at(ranked, judgement, 5) == pytest.approx(independent(ir_measures.P @ 5, kept, grades))
        assert ndcg(ranked, grades, junk=junk, k=7) == pytest.approx(independent(ir_measures.nDCG @ 7, kept, grades))


def test_ndcg_by_hand():
    ranked = np.array(["a", "b", "c"])
    # gains 1, 0, 3 at discounts 1, 1/log2(3), 1/2; best 3, 1
    assert ndcg(ranked, {"a": 1, "c": 3}) == pytest.approx((1 + 3 / 2) / (3 + 1 / np.log2(3)))
    # 2^1 − 1 = 1, 2^3 − 1 = 7
    assert ndcg(ranked, {"a": 1, "c": 3}, exponential=True) == pytest.approx((1 + 7 / 2) / (7 + 1 / np.log2(3)))


def test_bulls_eye_by_hand():
    ranked = np.array([0, 9, 1, 8, 2, 7, 3])
    assert bulls_eye(ranked, Judgement([0, 1, 2])) == 1.0  # all among the first six
    assert bulls_eye(ranked, Judgement([0, 3])) == 0.5  # of the first four one


def test_revisited_by_hand():
    """Ranking e1 x h1 j e2: easy positives e1, e2; hard h1; junk j."""
    ranked = np.array(["e1", "x", "h1", "j", "e2"])
    graded = Graded(easy=["e1", "e2"], hard=["h1"], junk=["j"])
    found = evaluate_revisited(ranked[None, :], [graded], cuts=(1, 2, 10))

    def precision(setup, k):
        return found[setup].mean_precision[k].value

    # Easy: e1 x e2. AP = (1 + (1/2 + 2/3) / 2) / 2; P@10 is cut at place 3.
    assert found["easy"].mean_average_precision.value == pytest.approx((1 + (1 / 2 + 2 / 3) / 2) / 2)
    assert [precision("easy", k) for k in (1, 2, 10)] == pytest.approx([1, 1 / 2, 2 / 3])
    # Medium: e1 x h1 e2.
    expected = (1 + (1 / 2 + 2 / 3) / 2 + (2 / 3 + 3 / 4) / 2) / 3
    assert found["medium"].mean_average_precision.value == pytest.approx(expected)
    assert [precision("medium", k) for k in (1, 2, 10)] == pytest.approx([1, 1 / 2, 3 / 4])
    # Hard: x h1.
    assert found["hard"].mean_average_precision.value == pytest.approx(1 / 4)
    assert [precision("hard", k) for k in (1, 2, 10)] == pytest.approx([0, 1 / 2, 1 / 2])


def test_capped_precision_counts_what_was_not_ranked():
    assert capped_precision_at(np.array([1, 2]), Judgement([1, 9]), 10) == pytest.approx(1 / 10)
    assert capped_precision_at(np.array([1, 2]), Judgement([1]), 10) == 1.0


def test_queries_without_positives_are_left_out_and_counted():
    ranked = np.array([[1, 2], [1, 2], [2, 1]])
    mean = mean_over_queries(ranked, [Judgement([1]), Judgement([]), Judgement([1])])
    assert mean.left_out == 1
    assert mean.value == pytest.approx((1 + 0.25) / 2)
    hard = evaluate_revisited(ranked[:2], [Graded([1], []), Graded([1], [2])])["hard"]
    assert hard.mean_average_precision.left_out == 1
    with pytest.raises(InputError, match="none of 1 queries has a positive"):
        mean_over_queries(ranked[:1], [Judgement([])])


def test_duplicated_ids():
    with pytest.raises(InputError, match="id 7 is ranked 2 times"):
        average_precision(np.array([7, 3, 7]), Judgement([3]))
    with pytest.raises(InputError, match="item 3 is judged more than once"):
        Judgement([3, 4, 3])
    with pytest.raises(InputError, match="item 'a' is judged more than once"):
        Judgement(["a"], ["a"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: recall_at(np.arange(3), Judgement([]), 1), "at least one positive"),
        (lambda: capped_precision_at(np.arange(3), Judgement([]), 1), "at least one positive"),
        (lambda: precision_at(np.arange(3), Judgement([1]), 0), "k must be"),
        (lambda: ndcg(np.arange(3), {1: -1}), "at least 0, got -1 for 1"),
        (lambda: ndcg(np.arange(3), {1: 0}), "at least one grade above 0"),
        (lambda: Graded([1], [2]).setup("middle"), "easy, medium, hard, got 'middle'"),
    ],
)
def test_errors(call, words):
    with pytest.raises(InputError, match=words):
        call()
