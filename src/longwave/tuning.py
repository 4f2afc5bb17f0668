"""Parameters for a collection, without labels: how sharp the weights, how many neighbours, how far to diffuse.

Two things are taken from the data themselves:

- **γ**: similarities of raw pixels may all lie between 0.9 and 1, those of trained descriptors between 0.2 and 0.8; the
  same γ makes a flat graph of one and a sharp one of the other. γ is the one at which the k-th neighbour of the median
  vertex weighs a hundredth of its first. Neighbours of another class, mostly far down the list, then cost little, so
  that k need not be below the size of the classes.
- **k and α** by stability: rank some vertices of the collection in all dimensions, and in a random half of them; a good
  setting finds the same vertices twice, and different ones for different vertices. Settings that cannot be told apart
  from the best (two standard errors of the difference) are as good; of them the one nearest to k = 20, α = 0.8 is
  taken, which is good on every collection that was tried.

And a third from the lists: how much Euclidean similarity to add to everything (`base_weight`), where hubs make the
graph untrustworthy as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave import graph, neighbors
from longwave.filters import LowPass
from longwave.observation import observe
from longwave.solvers import ConjugateGradient, System
from longwave.types import Array, Neighbors, Progress
from longwave.vectors import normalize, top_k

KS, ALPHAS, NEIGHBORS = (10, 20, 50), (0.8, 0.9, 0.95, 0.99), 5
#: What is taken where nothing better can be measured.
DEFAULT_K, DEFAULT_ALPHA = 20, 0.8
#: Weight of the k-th neighbour over that of the first.
FALL = 0.01
# γ stays in this range: beyond, all neighbours weigh the same, or only one counts.
_GAMMA_RANGE = (1.0, 200.0)
# Vertices that are ranked; the standard error of the stability is then about 0.01.
_PROBES = 300
# Hits that are compared: the mean over these lengths, as the classes' size is unknown.
_LENGTHS = (5, 10, 20)
#: Beyond this many vectors a random sample is tuned.
SAMPLE = 50_000
# Scores held at a time.
_SCORE_NUMBERS = 1 << 24

#: From scores of probes (q, n) to one value for each.
Judge: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True)
class Choice:
    """A setting: graph k and γ, filter α, vertices that a query observes, base weight of Euclidean similarity."""

    k: int
    gamma: float
    alpha: float
    neighbors: int = NEIGHBORS
    base: float = 0.0


@dataclass(frozen=True)
class Row:
    """A setting and what it scored: mean over probes or queries, and the standard error of it."""

    choice: Choice
    score: float
    error: float


@dataclass(frozen=True)
class Tuning:
    """All settings tried, and the best. criterion: "stability" (without labels), "mAP", or "none": nothing tried."""

    rows: list[Row]
    chosen: Choice
    criterion: str


def calibrated_gamma(similarities: NDArray[np.float32], *, fall: float = FALL) -> float:
    """γ with (s_k / s_1)^γ = `fall` for the median vertex. similarities: (n, k), best first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        decline = np.log(similarities[:, -1] / similarities[:, 0])
    usable = decline[np.isfinite(decline) & (decline < 0)]
    if not usable.size:
        return 3.0  # all neighbours alike, or none: the paper's value
    return float(np.clip(np.log(fall) / np.median(usable), *_GAMMA_RANGE))


def mutual_share(lists: Neighbors) -> float:
    """Of the relations of a vector to its 10 nearest, the share that is returned among 20. lists: (n, at least 20).

    It is low where a few vectors are everybody's neighbours (hubs), which is what makes diffusion drift. Measured: 0.77
    to 0.97 on the image and sound sets and MED, where diffusion gains; 0.65 to 0.69 on CISI, Cranfield and NPL, where
    Euclidean similarity must be added.
    """
    near, reach = lists.ids[:, :10], lists.similarities[:, 19]
    present = near >= 0
    met = present & (lists.similarities[:, :10] >= reach[np.maximum(near, 0)])
    return float(met.sum() / max(1, present.sum()))


def base_weight(share: float) -> float:
    """The weight of Euclidean similarity that a mutual share calls for: 2 up to 0.69, falling to 0 at 0.77."""
    return float(np.clip(2 * (0.77 - share) / 0.08, 0, 2))


def tune(
    unit: NDArray[np.float32],
    lists: Neighbors | None = None,
    *,
    ks: Sequence[int] = KS,
    alphas: Sequence[float] = ALPHAS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuning:
    """Settings for unit vectors (n, d) by stability. lists: their neighbours, at least max(ks) of them, if known.

    Time that of three graphs of n vectors and 3 · settings batches of conjugate gradients; n is at most 50,000, of
    more vectors a random sample is taken.
    """
    rng = np.random.default_rng(seed)
    if len(unit) > SAMPLE:
        unit, lists = unit[np.sort(rng.choice(len(unit), SAMPLE, replace=False))], None
    n, dimension = unit.shape
    ks = [k for k in ks if 2 * k < n]
    if not ks or dimension < 2:
        return Tuning([], _fallback(unit, lists), "none")
    probes = np.sort(rng.choice(n, min(_PROBES, n), replace=False))
    report = _Reporter(progress, 3 * len(ks) * len(alphas))
    known = lists is not None and lists.ids.shape[1] >= max(ks)
    views = [lists if lists is not None and known else neighbors.nearest_others(unit, k=max(ks))]
    views += [neighbors.nearest_others(half, k=max(ks)) for half in random_halves(unit, rng)]

    # found[view][setting]: (probes, 20) ids; the lists of the shorter lengths are its beginnings.
    found: list[dict[tuple[int, float], Array]] = [{}, {}, {}]
    for view, nearest in zip(found, views, strict=True):
        for k in ks:
            for alpha in alphas:
                choice = Choice(k, calibrated_gamma(nearest.similarities[:, :k]), alpha)
                view[k, alpha] = _rank_probes(nearest, choice, probes, min(max(_LENGTHS), n - 1))
                report()
    choices, values = [], []
    for k in ks:
        for alpha in alphas:
            whole, *halves = (view[k, alpha] for view in found)
            values.append(np.mean([stability(whole, half) for half in halves], axis=0))
            choices.append(Choice(k, calibrated_gamma(views[0].similarities[:, :k]), alpha))
    rows = [_row(choice, own) for choice, own in zip(choices, values, strict=True)]
    chosen = choices[as_good_as_best(choices, np.array(values))]
    return Tuning(rows, replace(chosen, base=_base_of(views[0])), "stability")


def as_good_as_best(choices: Sequence[Choice], values: NDArray[np.float64]) -> int:
    """Of the settings within two standard errors of the best, the place of the one nearest to the default.

    values: (settings, probes). The errors are those of the difference, probe by probe.
    """
    means = values.mean(axis=1)
    behind = values[means.argmax()] - values
    errors = behind.std(axis=1) / np.sqrt(values.shape[1])
    near = [_distance(choice) for choice in choices]
    return int(min(np.flatnonzero(behind.mean(axis=1) <= 2 * errors), key=lambda i: near[i]))


def _base_of(lists: Neighbors) -> float:
    return base_weight(mutual_share(lists)) if lists.ids.shape[1] >= 20 else 0.0


def _distance(choice: Choice) -> float:
    """From the default: in doublings of k, and half as much for those of 1 − α."""
    return float(abs(np.log2(choice.k / DEFAULT_K)) + 0.5 * abs(np.log2((1 - choice.alpha) / (1 - DEFAULT_ALPHA))))


def _row(choice: Choice, values: Array) -> Row:
    return Row(choice, float(values.mean()), float(values.std() / np.sqrt(len(values))))


def tune_by(
    unit: NDArray[np.float32],
    queries: NDArray[np.float32],
    judge: Judge,
    *,
    ks: Sequence[int] = KS,
    alphas: Sequence[float] = ALPHAS,
    progress: Progress | None = None,
) -> Tuning:
    """Settings by known answers. queries: (q, d) unit vectors; judge: scores (q, n) -> a value of each query, as AP."""
    ks = [k for k in ks if k < len(unit)]
    if not ks:
        return Tuning([], _fallback(unit, None), "none")
    known = neighbors.nearest_others(unit, k=max(ks))
    nearest = neighbors.nearest(queries, unit, k=NEIGHBORS)
    report = _Reporter(progress, len(ks) * len(alphas))
    rows = []
    for k in ks:
        for alpha in alphas:
            choice = Choice(k, calibrated_gamma(known.similarities[:, :k]), alpha)
            values = judge(_scores(known, choice, nearest))
            rows.append(_row(choice, values))
            report()
    best = max(rows, key=lambda row: row.score).choice
    return Tuning(rows, replace(best, base=_base_of(known)), "mAP")


def random_halves(unit: NDArray[np.float32], rng: np.random.Generator) -> list[NDArray[np.float32]]:
    """Turn the vectors at random and cut their dimensions in two halves. (n, d) -> two of (n, about d / 2)"""
    dimension = unit.shape[1]
    turn, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    turn = turn.astype(np.float32)
    cut = dimension // 2
    return [normalize(unit @ turn[:, :cut]), normalize(unit @ turn[:, cut:])]


def stability(first: Array, second: Array) -> NDArray[np.float64]:
    """Overlap of two rankings of the same probes less that of different ones, mean over lengths. 2 × (q, m) -> (q,)"""
    others = np.roll(second, 1, axis=0)
    lengths = [m for m in _LENGTHS if m <= first.shape[1]] or [first.shape[1]]
    gains = [_overlap(first, second, m) - _overlap(first, others, m) for m in lengths]
    return np.asarray(np.mean(gains, axis=0))


def _overlap(first: Array, second: Array, m: int) -> NDArray[np.float64]:
    return np.array([len(np.intersect1d(a, b)) / m for a, b in zip(first[:, :m], second[:, :m], strict=True)])


def _rank_probes(known: Neighbors, choice: Choice, probes: NDArray[np.int64], count: int) -> Array:
    """The best `count` other vertices for each probe, which observes its own neighbours. (probes, count)"""
    found = Neighbors(known.ids[probes, : choice.neighbors], known.similarities[probes, : choice.neighbors])
    scores = _scores(known, choice, found)
    scores[np.arange(len(probes)), probes] = -np.inf
    return top_k(scores, count)[0]


def _scores(known: Neighbors, choice: Choice, found: Neighbors) -> Array:
    """h_α(𝒲) y on the graph of the first k neighbours. found: lists of the queries, (q, neighbours) -> (q, n)"""
    n, k = len(known.ids), choice.k
    matrix = graph.build(Neighbors(known.ids[:, :k], known.similarities[:, :k]), gamma=choice.gamma).normalized
    y = observe(found, np.arange(len(found.ids)), n_vertices=n, gamma=choice.gamma)
    # The 20th hit may score a thousandth of the first: a looser solution is noise there.
    solver, step = ConjugateGradient(tolerance=1e-6), max(1, _SCORE_NUMBERS // n)
    system, filter = System(matrix, None), LowPass(choice.alpha)
    parts = [solver(system, y[start : start + step], filter).scores for start in range(0, y.shape[0], step)]
    return np.concatenate(parts)


def _fallback(unit: NDArray[np.float32], lists: Neighbors | None) -> Choice:
    k = max(1, min(DEFAULT_K, len(unit) - 1))
    if len(unit) < 2:
        return Choice(k, 3.0, DEFAULT_ALPHA)
    known = lists if lists is not None and lists.ids.shape[1] >= k else neighbors.nearest_others(unit, k=k)
    return Choice(k, calibrated_gamma(known.similarities[:, :k]), DEFAULT_ALPHA)


class _Reporter:
    """Counts settings for a progress bar."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self) -> None:
        self.done += 1
        if self.progress:
            self.progress("settings", self.done, self.total)
