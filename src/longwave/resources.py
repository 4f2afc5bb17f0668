"""What a build takes and what the machine has: asked before the work, so that nobody waits for an hour to run out."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from longwave.errors import InputError, ResourceError
from longwave.spectrum import Method

_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# Bytes per entry of the lists while they become a graph: numbers, weights and two sparse matrices. Measured: 66.
_GRAPH_ENTRY = 70
# Tiles of products, compiled code, libraries.
_OVERHEAD = 512 * 2**20


@dataclass(frozen=True)
class Plan:
    """Bytes at the peak of each stage, everything that is held at that time included."""

    lists: int
    graph: int
    basis: int

    @property
    def peak(self) -> int:
        """The largest of them."""
        return max(self.lists, self.graph, self.basis)


def plan(n: int, dimension: int, *, k: int, method: Method | None) -> Plan:
    """What a build of n vectors takes at most: as if the graph were connected. The caller's own copy is not counted."""
    vectors = 4 * n * dimension + _OVERHEAD
    lists = 12 * n * k
    matrix = 8 * n * k
    return Plan(
        lists=vectors + lists,
        graph=vectors + _GRAPH_ENTRY * n * k,
        basis=vectors + 2 * matrix + (0 if method is None else method.memory(n)),
    )


def check(n: int, dimension: int, *, k: int, method: Method | None, memory: int | None) -> None:
    """Raise `ResourceError` if a build needs more than `memory` bytes (None: than the machine has), with what fits."""
    limit = machine_memory() if memory is None else memory
    needed = plan(n, dimension, k=k, method=method).peak
    if limit is None or needed <= limit:
        return
    source = "this machine has" if memory is None else "memory= allows"
    message = f"the build needs up to {show(needed)} but {source} {show(limit)}"
    fits = None if method is None else largest_rank(n, dimension, k=k, method=method, memory=limit)
    if fits is not None:
        remedy = f"rank {fits:,} fits (instead of {'all' if method is None else method.rank or 'all'})"
    elif plan(n, dimension, k=k, method=None).peak <= limit:
        remedy = "no basis fits; spectrum=None does, for the solvers that need none"
    else:
        remedy = f"{n:,} vectors with k {k} do not fit at all; use fewer vectors, fewer dimensions or a smaller k"
    if memory is not None:
        remedy += ", or allow more"
    raise ResourceError(f"{message}; {remedy}")


def largest_rank(n: int, dimension: int, *, k: int, method: Method, memory: int) -> int | None:
    """The largest rank of this method whose build fits, or None."""
    if method.rank is None:
        return None
    low, high = 0, min(method.rank, n)
    while low < high:  # the peak grows with the rank
        middle = (low + high + 1) // 2
        fits = plan(n, dimension, k=k, method=replace(method, rank=middle)).peak <= memory  # type: ignore[type-var]
        low, high = (middle, high) if fits else (low, middle - 1)
    return low or None


def machine_memory() -> int | None:
    """Bytes of main memory that this process may use: the machine's, or less where a container says so."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text("utf-8")))
    except (OSError, ValueError):  # no such file, or "max"
        return total


def parse_size(text: str) -> int:
    """'20G', '1500M' or bytes, to bytes; units are powers of 1024."""
    number, unit = text.strip().upper().removesuffix("B").removesuffix("I"), ""
    if number and number[-1] in _UNITS:
        number, unit = number[:-1], number[-1]
    try:
        size = float(number) * _UNITS[unit]
    except ValueError:
        size = -1
    if not 0 < size < 2**60:
        raise InputError(f"a size is a number and a unit, such as 20G or 1500M, got '{text}'")
    return int(size)


def show(n_bytes: float) -> str:
    """A human size."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:,.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:,.1f} GiB"
