"""What Euclidean similarity adds to the scores of the manifold: FSRw of the paper (§7), and `Anchor`, the default.

A blend is a value, called with the scores of some items and what is known of them. All items, or the candidates of a
fast search: the formula is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longwave import registry
from longwave.checks import number_text
from longwave.errors import FilterError, InputError
from longwave.filters import at_zero
from longwave.registry import register
from longwave.rows.vectors import check_scores
from longwave.types import Array, Filter

SCALES = ("peak", "impulse", "printed")
#: Far below both terms of `Anchor`: it only orders what these leave equal.
LAST = 1e-5


class Compared(Protocol):
    """The items that are scored, as Euclidean search sees them, for q queries and c items."""

    @property
    def similarities(self) -> Array:
        """Pooled similarity of every item. (q, c)"""

    def unrepresented(self) -> Array:
        """The same with every vector weighted by 1 − η, what the basis has not of it. (q, c)"""

    @property
    def own(self) -> Array:
        """Similarity of the query to itself: 1 for one vector. (q,)"""

    @property
    def seventh(self) -> Array:
        """Similarity of the query's 7th nearest neighbour. (q,)"""

    @property
    def identical(self) -> tuple[Array, Array]:
        """Queries, and places of items among the c, that are the same. (t,), (t,)"""

    @property
    def signed(self) -> Array:
        """Whether the query has examples of what is not wanted. (q,)"""


class Blending(Protocol):
    """A way to add Euclidean similarity to scores."""

    def __call__(self, scores: Array, compared: Compared, filter: Filter) -> Array:
        """scores: (q, c), those of the manifold -> (q, c)."""


def near_count(blend: Blending, count: int) -> int:
    """How many of the nearest items may be among the first `count` by their similarity alone.

    A fast search scores so many beside what the graph reaches. A blend whose term falls steeply says so (`near`).
    """
    return int(getattr(blend, "near", max(2 * count, 32)))


def candidate_count(blend: Blending | None, count: int) -> int:
    """How many of the best by the graph may be among the first `count`, beside those that are near.

    Where the term falls steeply (`near`), what is not near keeps the order of the graph; some more are for the solve
    around the last hits. Else twice as many are scored.
    """
    return max(3 * count // 2, 48) if hasattr(blend, "near") else max(2 * count, 100)


@dataclass(frozen=True)
class Blend:
    """FSRw: x'_i = x_i + weight · c · (1 − η_i) v_iᵀ q (§7).

    Where the basis represents a vertex badly (η small), Euclidean similarity steps in. The two terms have no
    common unit, so the scale c is a choice:

    - ``peak`` (default): c = max x / max vᵀq, per query; defined for every h.
    - ``impulse``: c = h(0), what the filter leaves of an impulse on an isolated vertex; needs h(0) > 0.
    - ``printed``: c = 1, the paper's formula. For h_α as printed, x is of the order of 1 − α, and the
      Euclidean term rules.

    everywhere: drop the factor 1 − η_i, a plain sum of both searches.
    """

    weight: float = 1.0
    scale: str = "peak"
    everywhere: bool = False

    def __post_init__(self) -> None:
        if not (self.weight >= 0 and np.isfinite(self.weight)):
            raise InputError(f"blend weight must be at least 0 and finite, got {self.weight}")
        if self.scale not in SCALES:
            raise InputError(f"blend scale must be one of {', '.join(SCALES)}, got '{self.scale}'")

    def __call__(self, scores: Array, compared: Compared, filter: Filter) -> Array:
        """x'. scores: (q, c) -> (q, c)"""
        scale = self._scale(scores, compared, filter)
        added = compared.similarities if self.everywhere else compared.unrepresented()
        return np.asarray(scores + self.weight * scale[:, None] * added, dtype=np.float32)

    def _scale(self, scores: Array, compared: Compared, filter: Filter) -> NDArray[np.float32]:
        """The scale c of each query. (q,)"""
        if self.scale == "printed":
            return np.ones(len(scores), dtype=np.float32)
        if self.scale == "impulse":
            impulse = at_zero(filter)
            if impulse <= 0:
                raise FilterError(f"blend scale 'impulse' needs h(0) > 0, {filter!r} has {impulse}; use scale 'peak'")
            return np.full(len(scores), impulse, dtype=np.float32)
        x, s = scores.max(axis=1), compared.similarities.max(axis=1)
        # Where nothing was reached (x = 0) any scale ranks by similarity alone; where nothing is similar, none matters.
        out: NDArray[np.float32] = np.ones(len(x), dtype=np.float32)
        np.divide(x, s, out=out, where=(x > 0) & (s > 0))
        return out


@dataclass(frozen=True)
class Anchor:
    """x'_i = (x_i / max x)^{1/root} + weight · exp(−steepness (d²(q, i) − min d²) / σ_q²): help, or step aside.

    d² = 2 − 2 v_iᵀq, σ_q the distance of the query to its 7th neighbour. The first term is the order of the manifold;
    the root makes scores comparable that fall over many powers of ten. The second keeps an outstanding neighbour, an
    identical item above all, in front: it is 1 for the nearest item and falls steeply, so the crowd behind is ranked
    along the manifold. An item that is the query itself always comes first. What no path reaches follows in the order
    of Euclidean search.

    With regions, v_iᵀq is the pooled similarity of the item, and 1 that of the query to itself; sums over regions tell
    less than one vector does, so the default is weaker there (`REGIONAL`). docs/performance.md has what it gains on
    every collection, and how its constants were found.
    """

    weight: float = 0.5
    steepness: float = 3.0
    root: float = 4.0

    near = 32  # behind these the second term is some hundredths, which moves nothing that the graph does not reach

    def __post_init__(self) -> None:
        for name in ("weight", "steepness", "root"):
            value = getattr(self, name)
            if not (value >= 0 and np.isfinite(value)) or (name == "root" and value < 1):
                least = 1 if name == "root" else 0
                raise InputError(f"{name} of an Anchor must be at least {least} and finite, got {value}")

    def __call__(self, scores: Array, compared: Compared, filter: Filter) -> Array:
        """x'. scores: (q, c) -> (q, c)"""
        similar, own = compared.similarities, compared.own[:, None]
        nearest = similar.max(axis=1, keepdims=True)
        # (d² − min d²) / σ² = (max s − s) / (own − s of the 7th); σ is never smaller than rounding.
        spread = np.maximum(own - compared.seventh[:, None], 1e-6 * np.maximum(own, 1e-6))
        near = np.exp(-self.steepness * (nearest - similar) / spread)
        along = self._of_peak(scores, compared.signed)
        last = similar / np.maximum(own, 1e-6)
        where = compared.identical
        if len(where[0]):  # in front also of an item of more regions, whose pooled similarity may be larger
            along[where], near[where] = 1.0, 1.0
            last[where] = last.max(axis=1)[where[0]] + 1
        return np.asarray(along + self.weight * near + LAST * last, dtype=np.float32)

    def _of_peak(self, scores: Array, signed: Array) -> Array:
        """(x / max x)^{1/root}; what lies below 0 is noise of the basis, but for queries that push items away."""
        peak = np.abs(scores).max(axis=1, keepdims=True)
        check_scores(np.isfinite(peak))
        share = np.divide(scores, peak, out=np.zeros(scores.shape, dtype=np.float32), where=peak > 0)
        rooted = np.sign(share) * np.abs(share) ** np.float32(1 / self.root)
        return np.asarray(np.where(signed[:, None], rooted, np.maximum(rooted, 0)), dtype=np.float32)


#: The default where items have several vectors.
REGIONAL = Anchor(weight=0.2, steepness=2.0)


def parse(blend: float | str | Blending | None) -> Blending | None:
    """A blend from what a user gives: a value, a weight of FSRw, or text; None or 0 for none.

    >>> parse("anchor"), parse(0.5)
    (Anchor(weight=0.5, steepness=3.0, root=4.0), Blend(weight=0.5, scale='peak', everywhere=False))
    """
    if isinstance(blend, str):
        if blend.partition(":")[0] in ("none", "0"):
            return None
        try:
            weight = float(blend)
        except ValueError:
            found: Blending = registry.parse("blend", blend, also=["none", "a weight such as 0.5 (FSRw)"])
            return found
        return Blend(weight)
    if blend is None or callable(blend):
        return blend
    return None if blend == 0 else Blend(weight=blend)


def text_of(blend: Blending | None) -> str:
    """A blend as text, read again by `parse`. Only what `Index.build` keeps as a default needs one."""
    if blend is None:
        return "none"
    if blend == Anchor():
        return "anchor"
    if isinstance(blend, Blend) and blend == Blend(blend.weight):
        return number_text(blend.weight)
    text = registry.text_of("blend", blend)
    if text is None:
        raise InputError(
            f"an index keeps Anchor(...), a weight of FSRw or a blend with a name as its own, not {blend!r}; "
            "give that to search, or register it"
        )
    return text


register("blend", "anchor", Anchor)
