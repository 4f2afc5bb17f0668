"""Ways to evaluate x = h(𝒲) y, with one signature: solver(system, observation, filter) -> Solution."""

from longwave.solvers.chebyshev_filter import ChebyshevFilter
from longwave.solvers.conjugate_gradient import ConjugateGradient, Hybrid
from longwave.solvers.precomputed import Precomputed
from longwave.solvers.spectral import Spectral
from longwave.solvers.system import Solver, System
from longwave.solvers.walk import RandomWalk

__all__ = [
    "ChebyshevFilter",
    "ConjugateGradient",
    "Hybrid",
    "Precomputed",
    "RandomWalk",
    "Solver",
    "Spectral",
    "System",
]
