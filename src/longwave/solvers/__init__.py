"""Ways to evaluate x = h(𝒲) y, with one signature: solver(system, observation, filter) -> Solution."""

from longwave.registry import register
from longwave.solvers.best_first import QUICK, BestFirst
from longwave.solvers.chebyshev_filter import ChebyshevFilter
from longwave.solvers.conjugate_gradient import ConjugateGradient, Hybrid
from longwave.solvers.gauss_seidel import GaussSeidel
from longwave.solvers.precomputed import Precomputed
from longwave.solvers.projection import RandomProjection
from longwave.solvers.spectral import Spectral
from longwave.solvers.system import Solver, System
from longwave.solvers.walk import RandomWalk

__all__ = [
    "QUICK",
    "BestFirst",
    "ChebyshevFilter",
    "ConjugateGradient",
    "GaussSeidel",
    "Hybrid",
    "Precomputed",
    "RandomProjection",
    "RandomWalk",
    "Solver",
    "Spectral",
    "System",
]

register("solver", "spectral", Spectral)
register("solver", "hybrid", Hybrid)
register("solver", "cg", ConjugateGradient)
register("solver", "walk", RandomWalk)
register("solver", "gauss-seidel", GaussSeidel)
register("solver", "projection", RandomProjection)
register("solver", "chebyshev", ChebyshevFilter)
register("solver", "precomputed", Precomputed)
