"""`BestFirst`: candidates by a walk on the graph, their scores solved on the spot."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FilterWarning
from longwave.filters import LowPass
from longwave.registry import register
from longwave.solvers.conjugate_gradient import ConjugateGradient
from longwave.solvers.graph_walk import Walking, ground_of, walk
from longwave.solvers.spectral import Spectral
from longwave.solvers.system import System
from longwave.types import Filter, Solution, Sparse

# Hits of each query that are solved where all items are scored.
_WHOLE = 100


@dataclass(frozen=True)
class BestFirst(Walking):
    """The long waves from the basis, the last mile from the graph: the second search of the default plan.

    Candidates come from a walk on the graph, best first from the vertices of y. For `LowPass` the linear system is
    solved where the walk has been, and half of what that adds to the basis is kept: better than the basis and than the
    exact solution. With `local=1` the best hits are nearly those of the exact solution, of which a cut basis alone
    misses a third. For other filters the scores are those of `Spectral`. Needs a basis, and items of one vector each.
    Time O(s r) for the s vertices seen, some hundred, whatever n is.

    The numbers are those of `Walking`; complement: as for `Spectral`.
    """

    complement: bool = True

    def __call__(self, system: System, observation: Sparse, filter: Filter) -> Solution:
        """All targets by the basis, the first hundred of each query solved. CSR (q, n) -> scores (q, targets)"""
        solver = Spectral(self.complement)
        solution = solver(system, observation, filter)
        if not (self.local and isinstance(filter, LowPass) and self.serves(system)):
            return solution
        for query, scores in enumerate(solution.scores):
            own = slice(observation.indptr[query], observation.indptr[query + 1])
            vertices, y = observation.indices[own], observation.data[own]
            found = walk(ground_of(system), vertices, y, filter, solver, count=_WHOLE, walking=self)
            scores[found.targets] = found.scores
        return solution

    def exactly(self, system: System, observation: Sparse, filter: LowPass, tolerance: float = 1e-4) -> Solution:
        """The scores of all targets without a walk: what a search should find. CSR (q, n) -> scores (q, targets)"""
        solution = ConjugateGradient(tolerance)(system, observation, filter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FilterWarning)  # what the basis lacks is in the solution
            basis = Spectral(self.complement)(system, observation, filter).scores
        return replace(solution, scores=basis + np.float32(self.local) * (solution.scores - basis))

    def serves(self, system: System) -> bool:
        """Whether the basis is cut, and every vertex is an item: else `Spectral` is exact, or the only one there is."""
        return system.pooling is None and system.spectrum is not None and system.spectrum.next_eigenvalue is not None

    def candidates(
        self, system: System, observation: Sparse, filter: Filter, *, count: int, more: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The walk, and the solve where it has been. y: CSR (1, n) -> (c,), (c,)"""
        solver = Spectral(self.complement)
        found = walk(
            ground_of(system),
            observation.indices,
            observation.data,
            filter,
            solver,
            count=count,
            more=more,
            walking=self,
        )
        return found.targets, found.scores


#: A short walk: the hits are those that half as many expanded vertices have around them. At 100,000 vectors a search
#: for 100 hits takes 0.75 of the time, and shares .80 of them with the exact solution where the default shares .88.
QUICK = BestFirst(least=0.5, most=0.5)

register("solver", "bestfirst", BestFirst)
register("solver", "quick", QUICK)
