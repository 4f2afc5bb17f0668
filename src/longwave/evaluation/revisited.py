"""The revisited Oxford and Paris protocol (Radenović et al. 2018): Easy, Medium and Hard, mAP and mP@k."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.evaluation.average_precision import Judgement, Mean, mean_over_queries, places_of
from longwave.types import Array

SETUPS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class Graded:
    """What is right for one query of the revisited sets: easy and hard ids, and junk."""

    easy: Collection[Any]
    hard: Collection[Any]
    junk: Collection[Any] = ()

    def setup(self, name: str) -> Judgement:
        """Easy: hard images are junk. Medium: both are positive. Hard: easy images are junk."""
        if name not in SETUPS:
            raise InputError(f"the set-up must be one of {', '.join(SETUPS)}, got {name!r}")
        easy, hard, junk = list(self.easy), list(self.hard), list(self.junk)
        positive = {"easy": easy, "medium": easy + hard, "hard": hard}[name]
        ignored = {"easy": hard, "medium": [], "hard": easy}[name]
        return Judgement(positive, junk + ignored)


@dataclass(frozen=True, eq=False)
class Revisited:
    """One set-up: mAP, and mP@k by k. Queries without a positive in it are left out of both."""

    mean_average_precision: Mean
    mean_precision: dict[int, Mean]


def capped_precision_at(ranked: Array, judgement: Judgement, k: int) -> float:
    """P@k of the revisited protocol: k is lowered to the place of the last positive, so that 1 can be reached.

    Positives that were not ranked count as found behind the end of the list.
    """
    check_counts(k=k)
    if not judgement.positive:
        raise InputError("precision needs at least one positive; leave such queries out")
    places = places_of(ranked, judgement) + 1
    last = places[-1] if len(places) == len(judgement.positive) else k
    cut = min(k, int(last))
    return float((places <= cut).sum() / cut)


def evaluate_revisited(
    ranked: Array, truth: Sequence[Graded], *, cuts: Sequence[int] = (1, 5, 10)
) -> dict[str, Revisited]:
    """All three set-ups. ranked: (queries, k) ids, best first; truth: one per query. Costs as much as three mAPs."""
    found = {}
    for name in SETUPS:
        judgements = [graded.setup(name) for graded in truth]
        precision = {}
        for cut in cuts:
            precision[cut] = mean_over_queries(ranked, judgements, _capped(cut))
        found[name] = Revisited(mean_over_queries(ranked, judgements), precision)
    return found


def _capped(cut: int) -> Any:
    return lambda ranked, judgement: capped_precision_at(ranked, judgement, cut)
