"""Which rank, which search? What each rank would keep and cost, and when approximate searches pay, before the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longwave.basis import Basis
from longwave.components import submatrix
from longwave.errors import InputError
from longwave.filters import LowPass, response
from longwave.spectrum import Chebyshev, Exact, Method
from longwave.spectrum.blocks import gram
from longwave.spectrum.density import Density, density_of_states
from longwave.spectrum.method import DEFAULT_RUN, Run
from longwave.types import Array, Filter, Graph, Sparse, Spectrum

RANKS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
# Share of h(𝒲)y left out by the largest rank, beyond which the weights are made gentler. On 60,000 pictures of
# Fashion-MNIST the usual kernel leaves out 30 % at rank 1,000 and has 53.9 mAP, the gentle one 8 % and 58.2.
_TOO_MUCH = 0.15
# Vertices up to which `Advised` computes all pairs.
_COMPLETE = 1500
# What it chooses from beyond.
_STEPS = (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000)
_FILTER = LowPass(0.99)
# Columns of the sparse product that is timed: a panel of a large block.
_COLUMNS = 128
# Numbers that an exact query may read: 2^26 float32 are a quarter of a gigabyte, 10 to 20 ms at memory speed.
APPROXIMATE_NUMBERS = 1 << 26
# The suggested rank leaves out at most this much of h(𝒲)y, in the 2-norm.
WANTED_ERROR = 0.1


@dataclass(frozen=True)
class Row:
    """What one rank means.

    eigenvalue: about λ_rank. energy: share of ‖h(𝒲)‖² that the printed formula keeps. error: expected relative 2-norm
    error of h(𝒲)y for a random y, with the complement term. memory: bytes at the peak of the basis. seconds: its time.
    """

    rank: int
    eigenvalue: float
    energy: float
    error: float
    memory: int
    seconds: float


@dataclass(frozen=True)
class Advice:
    """The rows of all ranks, and the one to take: the smallest that is accurate enough, or the largest that fits.

    vertices: in components that share the rank; the others, `exact` many, are solved exactly whatever the rank.
    """

    vertices: int
    exact: int
    components: int
    rows: list[Row]
    suggested: Row
    reason: str


def advise(
    graph: Graph,
    *,
    filter: Filter = _FILTER,
    ranks: Sequence[int] = RANKS,
    min_rank: int = 5,
    memory: int | None = None,
    seed: int = 0,
) -> Advice:
    """Estimate energy, memory and time of each rank (§4.3, §7). memory: bytes the basis may take, None for any.

    Time that of about 1,000 products with 𝒲; memory about a hundred vectors of n.
    """
    sizes = graph.component_sizes
    shared = sizes > max(1, min_rank)
    vertices = np.flatnonzero(shared[graph.labels])
    if not vertices.size:
        raise InputError(
            f"all {graph.n_vertices:,} vertices are isolated or in components of at most {min_rank}, which are solved "
            "exactly: any rank does; a larger k would connect more"
        )
    matrix, _ = submatrix(graph.normalized, vertices)
    density = density_of_states(matrix, seed=seed)
    possible = [rank for rank in sorted({*ranks}) if rank < len(vertices)] or [len(vertices)]
    rates = measured_rates(matrix)
    rows = [_row(rank, matrix, density, filter, rates) for rank in possible]
    fitting = [row for row in rows if memory is None or row.memory <= memory]
    if not fitting:
        raise InputError(
            f"not even rank {rows[0].rank} fits: its basis takes {rows[0].memory:,} bytes and {memory:,} are left; "
            "allow more memory, or build without a basis"
        )
    enough = [row for row in fitting if row.error <= WANTED_ERROR]
    suggested, reason = fitting[-1], "the largest that fits"
    if enough:
        suggested, reason = enough[0], f"the smallest that leaves out at most {WANTED_ERROR:.0%}"
    elif len(fitting) == len(rows):
        reason = f"none leaves out less than {WANTED_ERROR:.0%}; this is the largest considered"
    return Advice(len(vertices), graph.n_vertices - len(vertices), int(shared.sum()), rows, suggested, reason)


@dataclass(frozen=True)
class Advised:
    """`Chebyshev` of the rank that the graph calls for: the smallest that leaves out at most `error` of h(𝒲)y.

    rank: never more than that. The error is estimated from the density of states, for h_0.99 and a random y. Up to
    1,500 vertices all pairs are computed, which takes a second, and nothing is left out. The default of `Index.build`.
    """

    rank: int = 1000
    error: float = 0.05

    def memory(self, n: int) -> int:
        """Bytes at the peak for a component of n vertices, at most."""
        return Chebyshev(self.rank).memory(n)

    def spare(self, n: int) -> int:
        """Entries that components of middle size may take on top: in memory about what the rest of the basis takes."""
        return n * self.rank // 4

    def for_graph(self, graph: Graph, *, seed: int = 0) -> Method:
        """The method for this graph. Time that of about 500 products with 𝒲."""
        if graph.n_vertices <= min(_COMPLETE, 2 * self.rank):
            return Exact()
        density, size = _shared_density(graph, seed)
        ranks = [rank for rank in _STEPS if rank < min(self.rank, size)]
        enough = (rank for rank in ranks if error_left(density, rank, _FILTER) <= self.error)
        return Chebyshev(next(enough, self.rank))

    def serves(self, graph: Graph, *, seed: int = 0) -> bool:
        """Whether the largest rank leaves out little enough; else a graph of gentler weights has fewer long waves."""
        if graph.n_vertices <= self.rank:
            return True
        density, size = _shared_density(graph, seed)
        return size <= self.rank or error_left(density, self.rank, _FILTER) <= _TOO_MUCH

    def __call__(self, matrix: Sparse, run: Run = DEFAULT_RUN) -> Spectrum:
        """As `Chebyshev`, of the largest rank: the graph chooses before."""
        return Chebyshev(self.rank)(matrix, run)


def _shared_density(graph: Graph, seed: int) -> tuple[Density, int]:
    """The density of states of all vertices that have an edge, and how many these are."""
    vertices = np.flatnonzero(graph.component_sizes[graph.labels] > 1)
    if not len(vertices):
        return Density(np.zeros((1, 1)), np.ones((1, 1))), 0
    return density_of_states(submatrix(graph.normalized, vertices)[0], seed=seed, probes=8), len(vertices)


def error_left(density: Density, rank: int, filter: Filter) -> float:
    """Expected relative 2-norm error of h(𝒲)y for a random y, with the complement term, at a rank."""
    at_zero = float(response(filter, np.zeros(1))[0])
    left = density.total(lambda values: (response(filter, values) - at_zero) ** 2, after=rank)
    return float(np.sqrt(left / density.total(lambda values: response(filter, values) ** 2)))


def wants_approximate(vector_numbers: int, pooled: Basis) -> bool:
    """Whether one exact query reads so much, all vectors and the largest part of Ū, that approximate searches pay."""
    largest = max((part.values.size for part in pooled.parts), default=0)
    return bool(largest and vector_numbers + largest > APPROXIMATE_NUMBERS)


def measured_rates(matrix: Sparse) -> tuple[float, float]:
    """Multiplications and additions per second of this machine, in sparse and in dense products."""
    from longwave import compiled

    columns = _COLUMNS if matrix.shape[0] < 1_000_000 else _COLUMNS // 8
    block = np.ones((matrix.shape[0], columns), dtype=np.float32)
    other = np.zeros_like(block)
    tall = np.ones((8192, 1024), dtype=np.float32)
    numbers: Any = [np.float32(x) for x in (1.0, 0.0, 0.0)]
    data = matrix.data.astype(np.float32, copy=False)

    def sparse() -> None:
        compiled.chebyshev_step(data, matrix.indices, matrix.indptr, block, other, *numbers)

    sparse()  # compiled, and memory touched
    gram(tall)
    dense = tall.shape[0] * tall.shape[1] ** 2
    return 2 * matrix.nnz * columns / _seconds(sparse), dense / _seconds(lambda: gram(tall))


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _row(rank: int, matrix: Sparse, density: Density, filter: Filter, rates: tuple[float, float]) -> Row:
    def square(values: Array) -> Array:
        return response(filter, values) ** 2

    total = density.total(square)
    method = Chebyshev(rank)
    work = method.work(matrix.shape[0], matrix.nnz, density)
    return Row(
        rank,
        density.eigenvalue(rank),
        1 - density.total(square, after=rank) / total,
        error_left(density, rank, filter),
        method.memory(matrix.shape[0]),
        sum(flops / rate for flops, rate in zip(work, rates, strict=True)),
    )
