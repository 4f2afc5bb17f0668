"""Which rank? What each would keep of a filter, and what it would cost, before the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.filters import LowPass, response
from longwave.graph.mutual import Graph
from longwave.spectrum import Chebyshev
from longwave.spectrum.advised import error_left
from longwave.spectrum.blocks import gram
from longwave.spectrum.components import submatrix
from longwave.spectrum.density import Density, density_of_states
from longwave.spectrum.operations import Local
from longwave.types import Array, Filter, Sparse

RANKS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_FILTER = LowPass(0.99)
# Columns of the sparse product that is timed: a panel of a large block.
_COLUMNS = 128
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

    Takes the time of about 1,000 products with 𝒲, and the memory of about a hundred vectors of n.
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
    density = density_of_states(Local(matrix), seed=seed)
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


def measured_rates(matrix: Sparse) -> tuple[float, float]:
    """Multiplications and additions per second of this machine, in sparse and in dense products."""
    from longwave.rows import compiled

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
