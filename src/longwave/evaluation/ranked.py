"""Precision, recall and nDCG of the first k hits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.evaluation.average_precision import Judgement, places_of, without_junk
from longwave.types import Array


def precision_at(ranked: Array, judgement: Judgement, k: int) -> float:
    """Positives among the first k, divided by k, junk taken out first. A list that ends before k counts as wrong there.

    >>> precision_at(np.array([7, 3, 9]), Judgement(positive=[7, 9]), 2)
    0.5
    """
    check_counts(k=k)
    return float((places_of(ranked, judgement) < k).sum() / k)


def recall_at(ranked: Array, judgement: Judgement, k: int) -> float:
    """Positives among the first k, divided by all positives; junk taken out first."""
    check_counts(k=k)
    if not judgement.positive:
        raise InputError("recall needs at least one positive; leave such queries out")
    return float((places_of(ranked, judgement) < k).sum() / len(judgement.positive))


def ndcg(
    ranked: Array,
    grades: Mapping[Any, float],
    *,
    k: int | None = None,
    exponential: bool = False,
    junk: Collection[Any] = (),
) -> float:
    """Normalised discounted cumulative gain: Σ g_i / log2(i + 1) over the first k, divided by the best possible.

    grades: how relevant each judged id is, at least 0; others are 0. exponential: 2^g − 1 in place of g, which weighs
    the highest grades more. junk: counts neither way.
    """
    if any(not grade >= 0 for grade in grades.values()):
        worst = min(grades, key=lambda item: grades[item])
        raise InputError(f"grades must be at least 0, got {grades[worst]} for {worst!r}")
    if not any(grades.values()):
        raise InputError("nDCG needs at least one grade above 0; leave such queries out")
    kept = without_junk(ranked, junk)[:k].tolist()
    best = sorted((g for item, g in grades.items() if item not in set(junk)), reverse=True)[:k]
    return _discounted([grades.get(item, 0.0) for item in kept], exponential) / _discounted(best, exponential)


def _discounted(grades: list[float], exponential: bool) -> float:
    gains = np.exp2(grades) - 1 if exponential else np.asarray(grades, dtype=np.float64)
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())


def bulls_eye(ranked: Array, judgement: Judgement, *, window: float = 2.0) -> float:
    """The bull's-eye score of MPEG-7: recall among the first `window` times as many items as are positive.

    Classically the query is in the collection and counts as its own first hit: 20 shapes a class, the first 40.
    """
    return recall_at(ranked, judgement, round(window * len(judgement.positive)))
