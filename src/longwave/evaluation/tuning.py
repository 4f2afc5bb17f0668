"""Settings for a collection with known answers: which k, kernel, α, neighbours and blend rank its queries best.

Without answers nothing is gained by searching for other settings than the defaults; with answers a point or two may be.
Each setting is varied in turn, from the default on; another is taken only if it is better by more than the standard
error of the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.evaluation.average_precision import Judgement, average_precision, label_judgements
from longwave.filters import LowPass
from longwave.graph import lists as neighbors
from longwave.graph import weights as kernels
from longwave.graph.weights import Kernel, Local, Power
from longwave.index import Index
from longwave.search import blending
from longwave.search.blending import Anchor, Blending
from longwave.search.euclidean import Euclidean
from longwave.solvers import ConjugateGradient
from longwave.types import Array, Progress

#: From the ranked rows of some queries, (q, n), and which of the user's queries these are, (q,), to a value for each.
Judge: TypeAlias = Callable[[Array, NDArray[np.int64]], Array]

# Queries that are asked, a random choice of more: the standard error of their mean is then about a point.
_QUERIES = 100
# Vectors that are held out as queries, at most.
_HELD_OUT = 200
# Relative error of the answers that are compared: finer than any difference between settings.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Choice:
    """A setting: what `Index.build` is given."""

    k: int = 50
    kernel: Kernel = field(default_factory=Local)
    alpha: float = 0.99
    neighbors: int = 5
    blend: Blending | None = field(default_factory=Anchor)

    def words(self) -> dict[str, str]:
        """Its values as the options of `longwave build`, by name."""
        return {
            "k": str(self.k),
            "kernel": kernels.text_of(self.kernel),
            "filter": f"lowpass:{self.alpha:g}",
            "neighbors": str(self.neighbors),
            "blend": blending.text_of(self.blend),
        }


#: What is tried beside the default, one after the other.
VARIED: dict[str, tuple[Any, ...]] = {
    "kernel": (Power(3.0),),
    "k": (20,),
    "alpha": (0.97, 0.9),
    "neighbors": (3, 10),
    "blend": (None,),
}


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting that was tried, and its value for every query."""

    choice: Choice
    values: Array

    @property
    def score(self) -> float:
        """Mean over the queries."""
        return float(self.values.mean())

    def better_than(self, other: Trial) -> bool:
        """Whether the mean is larger by more than the standard error of the difference."""
        gain = self.values - other.values
        return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


@dataclass(frozen=True, eq=False)
class Tuning:
    """All settings tried in order, the one to take, and the mean value of Euclidean search."""

    trials: list[Trial]
    chosen: Trial
    euclidean: float


def tune(
    unit: NDArray[np.float32],
    queries: NDArray[np.float32],
    judge: Judge,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuning:
    """Vary one setting after the other. unit: (n, d), queries: (q, d), unit vectors. At most 100 queries are asked.

    judge: what a ranking is worth; `judge_by` makes one from judgements.
    """
    if len(unit) < 2:
        raise InputError(f"tuning needs at least 2 vectors, got {len(unit)}")
    rng = np.random.default_rng(seed)
    asked = np.sort(rng.permutation(len(queries))[:_QUERIES])
    total = 1 + sum(len(values) for values in VARIED.values())
    lists, _ = neighbors.build_lists(unit, k=min(Choice.k, len(unit) - 1), seed=seed, progress=progress)

    @cache  # the other settings are those of a search
    def built(k: int, kernel: Kernel) -> Index:
        near = lists.ids[:, :k], np.ascontiguousarray(lists.similarities[:, :k])
        return Index.build(unit, lists=near, kernel=kernel, spectrum=None, progress=False)

    def ranked(choice: Choice, **options: Any) -> Array:
        return built(choice.k, choice.kernel).search(queries[asked], len(unit), **options).ids

    def tried(choice: Choice) -> Trial:
        options = {"filter": LowPass(choice.alpha), "neighbors": choice.neighbors, "blend": choice.blend or 0}
        trial = Trial(choice, judge(ranked(choice, solver=ConjugateGradient(_TOLERANCE), **options), asked))
        trials.append(trial)
        if progress:
            progress("settings", len(trials), total)
        return trial

    trials: list[Trial] = []
    best = tried(Choice())
    for name, values in VARIED.items():
        for value in values:
            trial = tried(replace(best.choice, **{name: value}))
            best = trial if trial.better_than(best) else best
    plain = judge(ranked(Choice(), solver=Euclidean()), asked)
    return Tuning(trials, best, float(plain.mean()))


def judge_by(judgements: Sequence[Judgement], ids: Array) -> Judge:
    """Average precision by known answers. judgements: of each query. ids: (n,) what they call the vectors."""

    def judge(ranked: Array, rows: NDArray[np.int64]) -> Array:
        pairs = zip(ids[ranked], (judgements[row] for row in rows), strict=True)
        return np.array([average_precision(own, judged) for own, judged in pairs])

    return judge


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Some labelled vectors as queries, the others as the collection; both by row number."""

    queries: NDArray[np.int64]
    collection: NDArray[np.int64]
    judgements: list[Judgement]


def hold_out(labels: Array, ids: Array, *, seed: int = 0) -> HeldOut:
    """A tenth of the vectors, 200 at most, as queries; right is what has their label. labels, ids: (n,)"""
    if len(labels) != len(ids):
        raise InputError(f"there must be a label for each vector, {len(ids)}, got {len(labels)}")
    order = np.random.default_rng(seed).permutation(len(ids))
    count = max(1, min(_HELD_OUT, len(ids) // 10))
    queries, rest = order[:count], np.sort(order[count:])
    return HeldOut(queries, rest, label_judgements(labels[queries], labels[rest], ids[rest]))
