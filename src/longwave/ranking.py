"""From scores to hits: the blend with Euclidean similarity (FSRw, §7), and Euclidean search itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave import compact
from longwave.compact import Rows
from longwave.confidence import ENOUGH
from longwave.errors import FilterError, InputError
from longwave.filters import response
from longwave.types import Array, Filter, Hits, Sparse
from longwave.vectors import top_k

SCALES = ("peak", "impulse", "printed")


@dataclass(frozen=True)
class Blend:
    """FSRw: x'_i = x_i + weight · c · (1 − η_i) v_iᵀ q (§7).

    Where the basis represents a vertex badly (η small), Euclidean similarity steps in. The two terms have no
    common unit, so the scale c is a choice:

    - ``peak`` (default): c = max x / max vᵀq, per query; defined for every h.
    - ``impulse``: c = h(0), what the filter leaves of an impulse on an isolated vertex; needs h(0) > 0.
    - ``printed``: c = 1, the paper's formula. For h_α as printed, x is of the order of 1 − α, and the
      Euclidean term rules.

    everywhere: drop the factor 1 − η_i, a plain sum of both searches; it helps where the graph is not to be trusted,
    as with texts.
    """

    weight: float = 1.0
    scale: str = "peak"
    everywhere: bool = False

    def __post_init__(self) -> None:
        if not (self.weight >= 0 and np.isfinite(self.weight)):
            raise InputError(f"blend weight must be at least 0 and finite, got {self.weight}")
        if self.scale not in SCALES:
            raise InputError(f"blend scale must be one of {', '.join(SCALES)}, got '{self.scale}'")


@dataclass(frozen=True)
class Lean:
    """blend="auto": x'_i = (x_i / max x)^{1/4} + w v_iᵀq / max vᵀq, w = base + [1 − c / 0.9]₊.

    c: the query's confidence. base: what the collection as a whole calls for (`tuning.base_weight`), 0 where its graph
    can be trusted. Where it can be trusted with the query too (c ≥ 0.9) the order is that of x. Else Euclidean
    similarity is added to all items. x falls over many powers of ten along the ranking and vᵀq by half; the root makes
    them comparable.
    """

    base: float = 0.0

    def __post_init__(self) -> None:
        if not (self.base >= 0 and np.isfinite(self.base)):
            raise InputError(f"the weight of blend 'auto:W' must be at least 0 and finite, got {self.base}")


@dataclass(frozen=True)
class Euclidean:
    """Plain nearest neighbours: dot product of unit vectors, summed over query regions, pooled like x.

    Given as a solver, it ranks without the graph; the baseline of every comparison. Time O(n d) per query.
    """


def euclidean_scores(
    queries: Array, vectors: Array | Rows, pooling: Sparse | None, weights: Array | None = None
) -> Array:
    """s = Σ (w ∘ V q): pooled similarity of every item. queries: (q, d), regions of a query summed -> (q, N).

    weights: (n,) of every vector before pooling; None for 1.
    """
    products = compact.products(queries, vectors)  # (q, n)
    if weights is not None:
        products *= weights
    return products if pooling is None else np.asarray(products @ pooling.T)


def blend_scale(blend: Blend, filter: Filter, scores: Array, similarities: Array) -> NDArray[np.float32]:
    """The c of `Blend`, one per query. scores, similarities: (q, N) -> (q, 1)."""
    if blend.scale == "printed":
        scale = np.ones(len(scores))
    elif blend.scale == "impulse":
        at_zero = float(response(filter, np.zeros(1))[0])
        if at_zero <= 0:
            raise FilterError(f"blend scale 'impulse' needs h(0) > 0, {filter!r} has {at_zero}; use scale 'peak'")
        scale = np.full(len(scores), at_zero)
    else:
        x, s = scores.max(axis=1), similarities.max(axis=1)
        # Where nothing was reached (x = 0) any scale ranks by similarity alone; where nothing is similar, none matters.
        scale = np.divide(x, s, out=np.ones_like(x), where=(x > 0) & (s > 0))
    return np.asarray(scale, dtype=np.float32)[:, None]


def blend_scores(
    scores: Array,
    queries: Array,
    vectors: Array | Rows,
    pooling: Sparse | None,
    row_norms: Array | None,
    *,
    blend: Blend,
    filter: Filter,
) -> Array:
    """x' = x + weight · c · Σ((1 − η) ∘ V q). scores: (q, N); queries: (q, d), regions summed.

    row_norms: (n,), or None with `everywhere`.
    """
    similarities = euclidean_scores(queries, vectors, pooling)
    scale = blend_scale(blend, filter, scores, similarities)
    if row_norms is not None and not blend.everywhere:
        similarities = euclidean_scores(queries, vectors, pooling, 1 - row_norms)
    return np.asarray(scores + blend.weight * scale * similarities)


def lean_weights(lean: Lean, confidence: Array) -> NDArray[np.float32]:
    """w = base + [1 − c / 0.9]₊ of `Lean`. (q,) -> (q,)"""
    return np.asarray(lean.base + np.clip(1 - confidence / ENOUGH, 0, 1), dtype=np.float32)


def lean_scores(scores: Array, similarities: Array | None, weights: Array) -> Array:
    """x' of `Lean`. scores, similarities: (q, N); weights: (q,). Without similarities all weights are 0."""
    compared = _of_peak(scores)
    compared = np.sign(compared) * np.abs(compared) ** 0.25
    if similarities is not None:
        compared += weights[:, None] * _of_peak(similarities)
    return np.asarray(compared, dtype=np.float32)


def _of_peak(values: Array) -> Array:
    peak = np.abs(values).max(axis=1, keepdims=True)
    return np.asarray(np.divide(values, peak, out=np.zeros_like(values), where=peak > 0))


def best_of(scores: Array, k: int, allowed: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], Array]:
    """The k best items of every row, of all or of those allowed (ascending). (q, N) -> places, scores (q, k)."""
    if allowed is None:
        return top_k(scores, k)
    places, best = top_k(scores[:, allowed], k)
    return allowed[places], best


def without_self(hits: Hits, own: Array) -> Hits:
    """Drop each query's own item from its hits, or the last one where it is not among them. own: (q,) ids."""
    keep = hits.ids != own[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = len(hits), hits.ids.shape[1] - 1
    return replace(hits, ids=hits.ids[keep].reshape(shape), scores=hits.scores[keep].reshape(shape))
