"""What a build of any size costs, by formulas: operations, bytes and network of every stage, and the machines for them.

The formulas count what `longwave.cluster` does. How long an operation takes was measured on builds of 10,000 to 100,000
vectors (`python -m benchmarks.cluster costs`); docs/scale.md tells how well this foretells a build that was left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from longwave.checks import check_counts

# Core-seconds for each operation of a kind, of one core of an AVX-512 Xeon of 2.5 GHz or so; fitted, see docs/scale.md.
RATES = {
    "cells": 1.0e-10,  # multiplications with the means of cells
    "neighbours": 1.0e-10,  # multiplications between vectors
    "graph": 1.0e-6,  # entries of the lists
    "sparse": 1.0e-9,  # entries of 𝒲 times columns
    "dense": 1.0e-10,  # rows times columns squared
    "writing": 1.0e-9,  # bytes
}
# Cells as `cluster.partition` makes them, those that each is compared with, and blocks as `cluster.build` makes them.
_CELL, _MOST_CELLS, _REACHED = 1000, 8192, 32
_BLOCK_ROWS, _MOST_BLOCKS = 65_536, 4096
# Rounds of the filter, in degrees: two, the second half locked, of the largest degree there is where the rank is far
# below the number of vertices.
_DEGREES = 96
# Rows that a block asks of others in a product, for each row of its own.
_HALO = 0.5
# Share of the entries of the lists that both sides have.
_MUTUAL = 0.5
_PANEL = 256
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
        return min(_MOST_BLOCKS, max(4, -(-self.n // _BLOCK_ROWS)))

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
    formula: str


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
    work: Collection, *, degrees: float = _DEGREES, reached: float = _REACHED, halo: float = _HALO
) -> list[Stage]:
    """Every stage of a build. degrees: of all rounds of the filter; reached: cells compared with each, 0 for all.

    halo: rows asked of other blocks in a product, for each row.
    """
    n, d, k, c = work.n, work.dimension, work.k, work.width
    cells, entries = work.cells, work.nonzeros
    near = n if not reached else min(n, reached * n / cells)
    panels = -(-c // _PANEL)
    sparse = entries * (c * (degrees + 2) + 16 * 60)
    small = 8.0 * c * c * work.blocks
    rows = [
        ("cells", 2.0 * n * cells * d, "cells", 4.0 * n * d, 4.0 * n * d, "2 n C d"),
        ("neighbours", n * near * d, "neighbours", 4.0 * n * d * min(8.0, work.blocks), 8.0 * n * k, "n (R n / C) d"),
        ("graph", float(n * k), "graph", 24.0 * n * k, 8 * entries, "n k"),
        ("basis: products", sparse, "sparse", 4.0 * halo * n * c * (degrees + 2 + panels), 0.0, "m (ĉ (g + 2) + 960)"),
        ("basis: dense", 2 * 8.0 * n * c * c, "dense", 2 * 8 * small, 2 * 4.0 * n * c, "16 n ĉ²"),
        (
            "writing",
            4.0 * n * (d + work.rank) + 8 * entries,
            "writing",
            0.0,
            4.0 * n * (d + work.rank) + 8 * entries,
            "4 n (d + r) + 8 m",
        ),
    ]
    return [Stage(name, count, count * RATES[rate], net, disk, text) for name, count, rate, net, disk, text in rows]


def memory_of(work: Collection) -> float:
    """Bytes of all machines at the peak: the largest of the stages; every block is one share of it."""
    n, c = work.n, work.width
    lists = 4.0 * n * work.dimension + 12 * n * work.k
    graph = 60.0 * n * work.k
    basis = 12 * work.nonzeros * (1 + _HALO) + 4.0 * n * (2 * c + 3 * min(c, _PANEL))
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


def scaled(work: Collection, **changes: int) -> Collection:
    """The same with other numbers."""
    return replace(work, **changes)
