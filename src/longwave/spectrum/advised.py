"""`Advised`: the rank that a graph calls for, from the density of its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longwave.filters import LowPass, at_zero, response
from longwave.graph.mutual import Graph
from longwave.spectrum.chebyshev import Chebyshev
from longwave.spectrum.components import submatrix
from longwave.spectrum.density import Density, density_of_states
from longwave.spectrum.exact import Exact
from longwave.spectrum.method import DEFAULT_RUN, Method, Run
from longwave.spectrum.operations import Local, MakeOperations
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Filter, Sparse

# Share of h(𝒲)y left out by the largest rank, beyond which the weights are made gentler. On 60,000 pictures of
# Fashion-MNIST the usual kernel leaves out 30 % at rank 1,000 and has 53.9 mAP, the gentle one 8 % and 58.2.
_TOO_MUCH = 0.15
# Vertices up to which `Advised` computes all pairs: answers are exact, one product with all of them takes a few tenths
# of a millisecond, and the loops of a walk, for which a new user waits ten seconds, need not be compiled.
_COMPLETE = 2000
# The ranks that it chooses from beyond that.
_RANKS = (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000)
_FILTER = LowPass(0.99)


@dataclass(frozen=True)
class Advised:
    """Which rank? The smallest that leaves out at most `error` of h(𝒲)y, by `Chebyshev`. The default of `Index.build`.

    rank: the largest that may be chosen. The error is estimated from the density of states, for h_0.99 and a random y.
    Up to 2,000 vertices all pairs are computed: this takes a second, and nothing is left out.
    """

    rank: int = 1000
    error: float = 0.05

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices, at most."""
        return Chebyshev(self.rank).memory(n)

    def spare(self, n: int) -> int:
        """Entries of U that may be stored beyond the rank, for components of middle size (`decompose_blocks`).

        In memory this is about as much as the rest of the basis.
        """
        return n * self.rank // 4

    def for_graph(self, graph: Graph, *, seed: int = 0, operations: MakeOperations = Local) -> Method:
        """The method for this graph. Takes the time of about 500 products with 𝒲."""
        if self.computes_all(graph.n_vertices):
            return Exact()
        return self.for_density(*_shared_density(graph, seed, operations))

    def computes_all(self, n: int) -> bool:
        """Whether so few vertices have all of their pairs computed."""
        return n <= min(_COMPLETE, 2 * self.rank)

    def for_density(self, density: Density, size: int) -> Method:
        """The method for a graph of which `size` vertices have an edge, by the density of their eigenvalues."""
        ranks = [rank for rank in _RANKS if rank < min(self.rank, size)]
        enough = (rank for rank in ranks if error_left(density, rank, _FILTER) <= self.error)
        return Chebyshev(next(enough, self.rank))

    def serves(self, graph: Graph, *, seed: int = 0, operations: MakeOperations = Local) -> bool:
        """Whether the largest rank leaves out little enough; else a graph of gentler weights has fewer long waves."""
        if graph.n_vertices <= self.rank:
            return True
        return self.serves_density(*_shared_density(graph, seed, operations))

    def serves_density(self, density: Density, size: int) -> bool:
        """The same for a graph of which `size` vertices have an edge, by the density of their eigenvalues."""
        return size <= self.rank or error_left(density, self.rank, _FILTER) <= _TOO_MUCH

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """As `Chebyshev`, of the largest rank: the graph chooses before."""
        return Chebyshev(self.rank)(matrix, run)


def _shared_density(graph: Graph, seed: int, operations: MakeOperations) -> tuple[Density, int]:
    """The density of states of all vertices that have an edge, and how many these are."""
    vertices = np.flatnonzero(graph.component_sizes[graph.labels] > 1)
    if not len(vertices):
        return Density(np.zeros((1, 1)), np.ones((1, 1))), 0
    return density_of_states(operations(submatrix(graph.normalized, vertices)[0]), seed=seed, probes=8), len(vertices)


def error_left(density: Density, rank: int, filter: Filter) -> float:
    """Expected relative 2-norm error of h(𝒲)y for a random y, with the complement term, at a rank."""
    floor = at_zero(filter)
    left = density.total(lambda values: (response(filter, values) - floor) ** 2, after=rank)
    return float(np.sqrt(left / density.total(lambda values: response(filter, values) ** 2)))
