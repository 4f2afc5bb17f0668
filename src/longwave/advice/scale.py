"""What a build of any size costs, by formulas: operations, bytes and network of every stage, and the machines for them.

The formulas count what `longwave.cluster` does. How long an operation takes was measured on builds of 10,000 to 100,000
vectors (`python -m benchmarks.cluster costs`); docs/scale.md tells how well this foretells a build that was left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from longwave.checks import check_counts

# Core-seconds for each operation of a kind, on one core of an AMD EPYC with AVX-512. Fitted to the runs of 10,000 to
# 50,000 vectors in benchmarks/results/cluster-costs.json.
RATES = {
    "cells": 1.1e-10,  # multiplications with the means of cells
    "neighbours": 3.4e-11,  # multiplications between vectors, all with all
    "rounds": 4.4e-11,  # multiplications between vectors and their candidates
    "graph": 3.0e-7,  # entries of the lists
    "sparse": 2.5e-10,  # entries of 𝒲 times columns, where a block and its halo have so many rows
    "dense": 1.7e-11,  # rows times columns squared
    "writing": 6.0e-10,  # bytes
}
# Rows of a block and its halo, and what every doubling of them adds to the rate "sparse": they leave the caches.
_NEAR_ROWS, _DOUBLED = 18_000, 0.4e-10
# Cells and blocks as `cluster.partition` and `cluster.build` make them.
_CELL, _MOST_CELLS, _BLOCK_ROWS, _SMALL_ROWS, _MOST_BLOCKS = 1000, 8192, 65_536, 10_000, 4096
# Rounds of the lists, candidates of a vertex in the first ones for lists of 50, rounds after which there are twice as
# many each time (`graph.lists.rounds.reach_of`), and how often a vector is read by other blocks.
_ROUNDS, _REACH, _USUAL_K, _USUAL_ROUNDS, _READ = 4, 8192, 50, 3, 4.0
# Columns times steps of the density of states, which chooses the cut.
_PROBES = 16 * 60
# Rounds of the basis.
_PASSES = 2
# Degrees of the filter in all rounds: two, of the largest degree there is, as the rank of a large collection is far
# below the number of its vertices and the cut near 1.
_DEGREES = 120
# Share of the entries of lists that both sides have.
_MUTUAL = 0.6
# What reading, checking and normalising a number costs, in multiplications.
_READING = 256
_PANEL = 128
# Share of a machine's memory that the build may fill.
_FILLED = 0.6
# Bytes of U up to which a rank is suggested.
_BASIS = ((1000, 8e9), (500, 4e10), (200, 1e11), (100, math.inf))


@dataclass(frozen=True)
class Collection:
    """What is to be built: n vectors of d dimensions, k neighbours, rank r."""

    n: int
    dimension: int
    k: int = 50
    rank: int = 1000

    def __post_init__(self) -> None:
        check_counts(vectors=self.n, dimensions=self.dimension, k=self.k, rank=self.rank)

    @property
    def width(self) -> int:
        """r̂, the columns of the block that `Chebyshev` computes."""
        return self.rank + self.rank // 4 + 20

    @property
    def nonzeros(self) -> float:
        """Entries of 𝒲, expected."""
        return _MUTUAL * self.n * self.k

    @property
    def blocks(self) -> int:
        """Blocks of rows."""
        return min(_MOST_BLOCKS, max(4 if self.n >= 4 * _SMALL_ROWS else 2, -(-self.n // _BLOCK_ROWS)))

    @property
    def cells(self) -> int:
        """Cells of similar vectors."""
        return max(1, min(_MOST_CELLS, max(self.n // _CELL, 4 * self.blocks)))


@dataclass(frozen=True)
class Machine:
    """One machine of a cluster. memory: bytes. network: bytes per second."""

    cores: int = 32
    memory: float = 256e9
    network: float = 1.25e9


@dataclass(frozen=True)
class Stage:
    """What one stage takes in all. seconds: of one core. network: bytes that change machines. disk: bytes written."""

    name: str
    operations: float
    seconds: float
    network: float
    disk: float


@dataclass(frozen=True)
class Plan:
    """How a collection can be built. hours: of the whole build. memory: bytes of all machines at the peak.

    basis: bytes of U, float32. driver: bytes of the process that hands out the work.
    """

    collection: Collection
    machine: Machine
    machines: int
    hours: float
    memory: float
    basis: float
    driver: float
    engine: str
    stages: list[Stage]


def stages(
    work: Collection,
    *,
    rounds: float = _ROUNDS,
    degrees: float = _DEGREES,
    halo: float | None = None,
    nonzeros: float | None = None,
) -> list[Stage]:
    """Every stage of a build. rounds: of the lists, 0 where they are exact; degrees: of all rounds of the filter.

    halo: rows asked of other blocks in a product, for each row. nonzeros: entries of 𝒲, where they are known.
    """
    n, d, k, c, blocks = work.n, work.dimension, work.k, work.width, work.blocks
    entries = work.nonzeros if nonzeros is None else nonzeros
    asked = halo_of(blocks) if halo is None else halo
    near = _REACH * candidates_of(rounds) * max(k, _USUAL_K) / _USUAL_K
    compared = float(n) * near * d if rounds else float(n) * n * d
    read = 4.0 * n * d * (rounds * _READ if rounds else blocks)
    products = entries * (c * (degrees + 2) + _PROBES)
    written = 4.0 * n * (d + work.rank) + 8 * entries
    handed = 4.0 * asked * n * c * (degrees + 2)
    passes = _PASSES * 8.0 * c * c * blocks
    return [
        _stage("cells", "cells", (2.0 * work.cells + _READING) * n * d, 4.0 * n * d, 4.0 * n * d),
        _stage("neighbours", "rounds" if rounds else "neighbours", compared, read, 8.0 * n * k),
        _stage("graph", "graph", float(n) * k, 24.0 * n * k, 8 * entries),
        Stage("basis: products", products, products * _sparse_rate(n / blocks, asked), handed, 0.0),
        _stage("basis: dense", "dense", 8.0 * _PASSES * n * c * c, passes, 8.0 * n * c),
        _stage("writing", "writing", written, 0.0, written),
    ]


def _stage(name: str, rate: str, operations: float, network: float, disk: float) -> Stage:
    return Stage(name, operations, operations * RATES[rate], network, disk)


def candidates_of(rounds: float) -> float:
    """What a vertex is compared with in all rounds and before them, in times of a usual round: 1, 2, 3, 4, 6, 10, …"""
    late = max(0.0, rounds - _USUAL_ROUNDS)
    return 1 + min(rounds, _USUAL_ROUNDS) + 2 * (2**late - 1)


def _sparse_rate(rows: float, halo: float) -> float:
    """Seconds for an entry of 𝒲 and a column. rows: of a block."""
    return max(1.5e-10, RATES["sparse"] + _DOUBLED * math.log2(rows * (1 + halo) / _NEAR_ROWS))


def halo_of(blocks: int) -> float:
    """Rows that blocks ask of others in a product, for each row: half a row more for twice the blocks.

    Measured on 200,000 vectors, 17 entries of 𝒲 in a row: 0.6 with 4 blocks, 1.6 with 16, 3.8 with 256.
    """
    return max(0.25, 0.25 + 0.5 * math.log2(blocks / 2))


def memory_of(work: Collection) -> float:
    """Bytes of all machines at the peak: the largest of the stages; every block is one share of it."""
    n, c = work.n, work.width
    lists = 4.0 * n * work.dimension + 12 * n * work.k
    graph = 60.0 * n * work.k
    panel = min(c, _PANEL)
    basis = 12 * work.nonzeros + 4.0 * n * (2 * c + (3 + halo_of(work.blocks)) * panel)
    return max(lists, graph, basis)


def driver_memory(work: Collection) -> float:
    """Bytes of the process that hands out the work: what it knows of each vertex, cells, small matrices."""
    return 64.0 * work.n + 24.0 * work.cells * work.dimension * 4 + 6 * 8.0 * work.width**2 + 2e8


def suggested_rank(n: int) -> int:
    """The largest rank whose basis is of a size that machines of today serve: 8, 40, 100 GB, else 100."""
    return next(rank for rank, size in _BASIS if 4.0 * n * rank <= size)


def plan(n: int, dimension: int, *, k: int = 50, rank: int | None = None, machine: Machine | None = None) -> Plan:
    """Machines and hours for a collection. rank: by default what its size suggests."""
    work = Collection(n, dimension, k, suggested_rank(n) if rank is None else rank)
    machine = Machine() if machine is None else machine
    needed, driver = memory_of(work), driver_memory(work)
    made = stages(work)
    core_hours = sum(stage.seconds for stage in made) / 3600
    fits = -(-needed // (_FILLED * machine.memory))
    # As many as memory asks for, and more where the work would take longer than a day.
    machines = int(max(fits, math.ceil(core_hours / machine.cores / 24), 1))
    own = [_hours(stage, machines, machine) for stage in made]
    engine = "this process" if machines == 1 and n <= 3_000_000 else "Ray" if n > 10_000_000 else "Ray or Dask"
    return Plan(work, machine, machines, sum(own), needed, 4.0 * n * work.rank, driver, engine, made)


def _hours(stage: Stage, machines: int, machine: Machine) -> float:
    moved = stage.network * (1 - 1 / machines) / (machines * machine.network)
    return (stage.seconds / (machines * machine.cores) + moved) / 3600
