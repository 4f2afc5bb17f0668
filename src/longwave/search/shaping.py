"""Hits in the form in which they are shown: cut where relevance ends, near-duplicates folded, diverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.rows.vectors import normalize
from longwave.search import extension
from longwave.search.composition import composition
from longwave.search.snapshot import Snapshot
from longwave.types import Array, Filter, Hits

#: What k may be instead of a number.
AUTO = "auto"
# Hits that a cut is looked for among.
_SEEN = 500
# The cut is the largest gap of the logarithm of scores between these shares of the fifth score; the first ones say
# little, they are those of y itself. Chosen among about 60 such rules on seven labelled sets (digits, USPS, COIL-20,
# ISOLET, ORL, MPEG-7, JAFFE). Mean over the sets, up to 200 queries each: precision 0.73, recall 0.76 by default, 0.67
# and 0.87 without a blend; by default from 0.34 and 0.86 (ORL, ten of a kind) to 0.96 and 0.69 (digits).
_HIGH, _LOW, _FIFTH = 0.28, 0.04, 4
# Candidates for each hit that diversity chooses from.
_CHOICE = 5


@dataclass(frozen=True)
class Shape:
    """k: how many hits, or "auto". fold: cosine from which on hits are one. diversity: from 0 to below 1."""

    k: int | str
    fold: float | None = None
    diversity: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.k, str):
            if self.k != AUTO:
                raise InputError(f"k must be a whole number of at least 1, or 'auto', got {self.k!r}")
        else:
            check_counts(k=self.k)
        if self.fold is not None and not 0 < self.fold <= 1:
            raise InputError(f"fold must be a cosine above 0 and at most 1, such as 0.98, got {self.fold}")
        if not 0 <= self.diversity < 1:
            raise InputError(f"diversity must be at least 0 and below 1, got {self.diversity}")

    @property
    def plain(self) -> bool:
        """Whether hits are shown as they are found."""
        return self.k != AUTO and self.fold is None and not self.diversity

    @property
    def width(self) -> int:
        """Hits to ask for at first."""
        if isinstance(self.k, str):
            return _SEEN
        return max(_CHOICE * self.k if self.diversity else self.k, 2 * self.k + 10 if self.fold else self.k)


def shaped(
    snapshot: Snapshot, shape: Shape, filter: Filter, search: Callable[[int], Hits], *, root: float = 1.0
) -> Hits:
    """Ask for as many hits as the shape needs, and give them that shape. search: of so many hits.

    root: that a blend has taken of the scores (`Anchor.root`).
    """
    if shape.plain:
        return search(int(shape.k))
    width = min(shape.width, len(snapshot))
    while True:
        found = search(width)
        rows = [_row(snapshot, shape, filter, found, query, root) for query in range(found.n_queries)]
        short = shape.k != AUTO and any(len(kept) < int(shape.k) for kept, _, _ in rows)
        if not short or found.ids.shape[1] < width or width >= len(snapshot):
            break
        width = min(4 * width, len(snapshot))
    return _joined(found, shape, rows)


def ends(scores: Array) -> int:
    """How many hits are relevant, by their scores alone, best first. (k,) -> 1 … k"""
    if len(scores) < 2 or scores[0] <= 0:
        return len(scores)
    logs = np.log(np.maximum(scores, 1e-12))
    known = float(scores[min(_FIFTH, len(scores) - 1)])
    if known <= 0:
        return max(1, int(np.count_nonzero(scores > 0)))
    first = max(1, int(np.count_nonzero(scores >= _HIGH * known)))
    last = min(max(first, int(np.count_nonzero(scores >= _LOW * known))), len(scores) - 1)
    if last < first:
        return len(scores)
    gaps = logs[first - 1 : last] - logs[first : last + 1]
    return first + int(gaps.argmax())


_Row = tuple[NDArray[np.int64], list[list[int]], int]


def _row(snapshot: Snapshot, shape: Shape, filter: Filter, hits: Hits, query: int, root: float) -> _Row:
    """Places of the hits that are shown, of those folded under each, and where relevance ends."""
    places = np.arange(hits.ids.shape[1])
    under: dict[int, list[int]] = {int(place): [] for place in places}
    if shape.fold is not None:
        places, under = _folded(item_vectors(snapshot, hits.ids[query]), shape.fold)
    if shape.k == AUTO:
        count = ends(np.maximum(hits.scores[query, places].astype(np.float64), 0) ** root)
    else:
        count = min(int(shape.k), len(places))
    if shape.diversity:
        choice = places[: count if shape.k == AUTO else max(count, _CHOICE * int(shape.k))]
        rows = composition(snapshot, snapshot.items.places(hits.ids[query, choice]))
        points = normalize(extension.embed(snapshot.system.require_spectrum("diversity"), rows, filter))
        order = _diverse(hits.scores[query, choice], points, shape.diversity, count)
        places = choice[order]
    kept = places[:count]
    return kept, [under[int(place)] for place in kept], count


def _folded(vectors: NDArray[np.float32], least: float) -> tuple[NDArray[np.int64], dict[int, list[int]]]:
    """Hits none of which is nearly another, and under each those that nearly are it. (k, d)

    A hit is folded under the best hit that it is as near to as `least`, never under one that was itself folded: so
    there are no chains.
    """
    similar = vectors @ vectors.T
    kept: list[int] = []
    under: dict[int, list[int]] = {}
    for place in range(len(vectors)):
        near = [other for other in kept if similar[place, other] >= least]
        if near:
            under[near[0]].append(place)
        else:
            kept.append(place)
            under[place] = []
    return np.array(kept, dtype=np.int64), under


def _diverse(scores: Array, points: NDArray[np.float32], diversity: float, count: int) -> NDArray[np.int64]:
    """Maximal marginal relevance: each next hit has the largest (1 − d) score − d (likeness to the nearest chosen).

    Scores are relative to the best; likeness is the cosine of the manifold kernel, ⟨φ_i, φ_j⟩ of unit rows.
    """
    relevant = scores / max(float(scores.max()), 1e-30)
    alike = points @ points.T
    chosen = [0]
    nearest = alike[0].copy()
    while len(chosen) < min(count, len(scores)):
        worth = (1 - diversity) * relevant - diversity * nearest
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
        nearest = np.maximum(nearest, alike[chosen[-1]])
    return np.array(chosen)


def item_vectors(snapshot: Snapshot, ids: Array) -> NDArray[np.float32]:
    """A unit vector for each item: its own, or the mean of several. (k,) -> (k, d)"""
    snapshot.require_vectors("fold")
    rows, owner = snapshot.items.rows_of(snapshot.items.places(ids))
    vectors = np.asarray(snapshot.vectors.rows(rows), dtype=np.float32)
    if snapshot.items.item_of is None:
        return vectors
    total = np.zeros((len(ids), vectors.shape[1]), dtype=np.float32)
    np.add.at(total, owner, vectors)
    return normalize(total)


def _joined(found: Hits, shape: Shape, rows: list[_Row]) -> Hits:
    """Rows of hits as arrays; where they differ in length the next hits fill them, behind `counts`."""
    width = max(len(kept) for kept, _, _ in rows)
    places, filled = [], False
    for kept, _, _ in rows:
        others = np.setdiff1d(np.arange(found.ids.shape[1]), kept)[: width - len(kept)]
        filled = filled or len(others) > 0
        places.append(np.concatenate([kept, others]))
    width = min(len(own) for own in places)
    chosen = np.array([own[:width] for own in places])
    counts = np.array([min(count, width) for _, _, count in rows]) if shape.k == AUTO or filled else None
    folded = None
    if shape.fold is not None:
        folded = [[found.ids[q, under].tolist() for under in own] for q, (_, own, _) in enumerate(rows)]
    ids, scores = (np.take_along_axis(values, chosen, axis=1) for values in (found.ids, found.scores))
    return replace(found, ids=ids, scores=scores, counts=counts, folded=folded)
