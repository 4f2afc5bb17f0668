"""Longwave's own search as one ranker among the others.

With `solver=ConjugateGradient()` it is the diffusion of Iscen et al. (2017), with `RandomWalk()` the walk with restart,
with `Euclidean()` plain search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from longwave.filters import LowPass
from longwave.index import Index
from longwave.search.blending import Blending
from longwave.search.euclidean import Euclidean
from longwave.solvers import Solver, Spectral
from longwave.types import Filter, Hits


@dataclass(frozen=True)
class Manifold:
    """`Index.search` with its options held: every method of Longwave's own, and Euclidean search."""

    solver: Solver | Euclidean = field(default_factory=Spectral)
    filter: Filter = field(default_factory=lambda: LowPass(0.99))
    neighbors: int = 10
    cut: int | None = None
    blend: float | Blending | None = None

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """Search."""
        options: dict[str, Any] = {"filter": self.filter, "neighbors": self.neighbors, "cut": self.cut}
        return index.search(queries, k, query_groups=query_groups, solver=self.solver, blend=self.blend or 0, **options)
