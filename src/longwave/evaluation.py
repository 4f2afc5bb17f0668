"""Average precision as the Oxford protocol defines it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.types import Array


@dataclass(frozen=True)
class Judgement:
    """What is right for one query: positive ids, and junk ids that count neither way."""

    positive: Collection[Any]
    junk: Collection[Any] = ()


def average_precision(ranked: Array, judgement: Judgement) -> float:
    """Area under the precision-recall curve, by trapezoids; junk is taken out of the list first.

    ranked: (k,) ids, best first. Positives that are not in the list count as never found.

    >>> average_precision(np.array([7, 3, 9]), Judgement(positive=[7, 9]))
    0.7916666666666666
    """
    if not judgement.positive:
        raise InputError("average precision needs at least one positive; leave such queries out")
    kept = ranked[~np.isin(ranked, list(judgement.junk))] if judgement.junk else ranked
    ranks = np.flatnonzero(np.isin(kept, list(judgement.positive)))  # place of each positive, from 0
    found = np.arange(len(ranks))
    before = np.where(ranks > 0, found / np.maximum(ranks, 1), 1.0)  # precision just before the positive
    after = (found + 1) / (ranks + 1)
    return float(((before + after) / 2).sum() / len(judgement.positive))


def mean_average_precision(ranked: Array, judgements: Sequence[Judgement]) -> float:
    """MAP over queries. ranked: (queries, k) ids. Queries without positives must have been left out."""
    if len(ranked) != len(judgements):
        raise InputError(f"{len(ranked)} ranked lists but {len(judgements)} judgements; they must be as many")
    return float(np.mean([average_precision(r, j) for r, j in zip(ranked, judgements, strict=True)]))


def label_judgements(query_labels: Iterable[Any], item_labels: Array, ids: Array) -> list[Judgement]:
    """Positive = same label. query_labels: (q,), item_labels and ids: (N,)."""
    by_label = {label: ids[item_labels == label] for label in np.unique(item_labels)}
    return [Judgement(positive=by_label.get(label, ids[:0]).tolist()) for label in query_labels]
