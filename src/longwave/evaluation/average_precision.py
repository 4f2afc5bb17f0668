"""Average precision as the Oxford protocol defines it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.types import Array


@dataclass(frozen=True)
class Judgement:
    """What is right for one query: positive ids, and junk ids that count neither way.

    grades: how relevant each positive is, for nDCG; None where all are equally so.
    """

    positive: Collection[Any]
    junk: Collection[Any] = ()
    grades: Mapping[Any, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        seen: set[Any] = set()
        for name, ids in (("positive", self.positive), ("junk", self.junk)):
            if len(seen) + len(ids) > len(together := seen.union(ids)):
                counts = Counter(ids)
                twice = next(i for i in ids if i in seen or counts[i] > 1)
                raise InputError(f"item {twice!r} is judged more than once ({name}); name every item once")
            seen = together


@dataclass(frozen=True, eq=False)
class Mean:
    """A measure over queries. per_query: (queries,), NaN where a query has no positive, which `value` leaves out."""

    value: float
    per_query: NDArray[np.float64]

    @property
    def left_out(self) -> int:
        """Queries without a positive."""
        return int(np.isnan(self.per_query).sum())


def average_precision(ranked: Array, judgement: Judgement) -> float:
    """Area under the precision-recall curve, by trapezoids; junk is taken out of the list first.

    ranked: (k,) ids, best first. Positives that are not in the list count as never found.

    >>> average_precision(np.array([7, 3, 9]), Judgement(positive=[7, 9]))
    0.7916666666666666
    """
    if not judgement.positive:
        raise InputError("average precision needs at least one positive; leave such queries out")
    ranks = places_of(ranked, judgement)
    found = np.arange(len(ranks))
    before = np.where(ranks > 0, found / np.maximum(ranks, 1), 1.0)  # precision just before the positive
    after = (found + 1) / (ranks + 1)
    return float(((before + after) / 2).sum() / len(judgement.positive))


def places_of(ranked: Array, judgement: Judgement) -> NDArray[np.int64]:
    """The place of each positive that was found, from 0, in the list without its junk. (k,) -> (found,)"""
    kept = without_junk(ranked, judgement.junk)
    return np.flatnonzero(np.isin(kept, list(judgement.positive)))


def without_junk(ranked: Array, junk: Collection[Any]) -> Array:
    """The list as the protocol reads it: no junk in it, no id twice. (k,) -> (at most k,)"""
    ids, counts = np.unique(ranked, return_counts=True)
    if len(ids) < len(ranked):
        raise InputError(f"id {ids[counts.argmax()].item()!r} is ranked {counts.max()} times; rank every item once")
    return ranked[~np.isin(ranked, list(junk))] if junk else ranked


def mean_average_precision(ranked: Array, judgements: Sequence[Judgement]) -> float:
    """MAP over queries. ranked: (queries, k) ids. Queries without positives must have been left out."""
    _check_lengths(ranked, judgements)
    return float(np.mean([average_precision(r, j) for r, j in zip(ranked, judgements, strict=True)]))


def mean_over_queries(
    ranked: Array, judgements: Sequence[Judgement], measure: Callable[[Array, Judgement], float] = average_precision
) -> Mean:
    """The mean of a measure; queries without positives are left out, and counted. ranked: (queries, k) ids."""
    _check_lengths(ranked, judgements)
    values = np.array(
        [measure(r, j) if j.positive else np.nan for r, j in zip(ranked, judgements, strict=True)], dtype=np.float64
    )
    if np.isnan(values).all():
        raise InputError(f"none of {len(values)} queries has a positive item; there is nothing to evaluate")
    return Mean(float(np.nanmean(values)), values)


def label_judgements(query_labels: Iterable[Any], item_labels: Array, ids: Array) -> list[Judgement]:
    """Positive = same label. query_labels: (q,), item_labels and ids: (N,)."""
    by_label = {
        label: Judgement(positive=ids[item_labels == label].tolist()) for label in np.unique(item_labels).tolist()
    }
    return [by_label.get(label, Judgement(positive=[])) for label in query_labels]


def _check_lengths(ranked: Array, judgements: Sequence[Any]) -> None:
    if len(ranked) != len(judgements):
        raise InputError(f"{len(ranked)} ranked lists but {len(judgements)} judgements; the two numbers must be equal")
