"""What memory a build takes and what the machine has: compared before a build begins, so that none runs out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from longwave.errors import InputError, ResourceError
from longwave.graph.lists.rounds import LEAST_WIDTH
from longwave.machine import machine_memory
from longwave.spectrum import Exact, Method
from longwave.stores.links import CODED

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
# Bytes per entry of the lists while they become a graph: 67 measured (570,000 × 50), and 12 of the lists themselves.
_GRAPH_ENTRY = 80
# Bytes per entry of approximate lists, the reverse ones and what steps lead to; and per vector for its principal
# directions, or its codes where these take more. Exact lists take less.
_LIST_ENTRY, _COARSE_ROW = 41, 1152
# Two tiles of products.
_TILE_ROWS = 4096


@dataclass(frozen=True)
class Work:
    """What is to be built: n vectors of a dimension, k neighbours, a method, and what comes after the basis.

    items: rows of Ū where they are not the vectors themselves, else 0. sparse: whether the basis is made sparse.
    """

    n: int
    dimension: int
    k: int
    method: Method | None
    items: int = 0
    sparse: bool = False

    def peak(self, *, component: int | None = None) -> int:
        """Bytes at the peak, as if the largest component had so many vertices (all, by default).

        The vectors as the caller holds them are not counted.
        """
        vectors = 4 * self.n * self.dimension
        entries = _LIST_ENTRY * max(self.k, LEAST_WIDTH) + max(_COARSE_ROW, self.dimension)
        lists = vectors + self.n * entries + 8 * min(self.n, _TILE_ROWS) ** 2
        graph = vectors + _GRAPH_ENTRY * self.n * self.k
        basis = 0
        if self.method is not None:
            size = self.n if component is None else component
            kept = 4 * self.n * min(size if self.method.rank is None else self.method.rank, size)
            pooled = 4 * self.items * kept // (4 * self.n)
            basis = (
                vectors
                + (self.n * self.dimension if self.dimension >= CODED else 0)  # codes of links
                + 2 * 8 * self.n * self.k
                + max(self.method.memory(size), kept * (4 if self.sparse else 1) + pooled)
            )
        return max(lists, graph, basis)


def check(work: Work, memory: int | None, *, component: int | None = None) -> None:
    """Raise `ResourceError` if the work needs more than `memory` bytes (None: than the machine has), with what fits.

    component: vertices of the largest component, once it is known. Before, `Exact` passes: it is meant for many small
    components.
    """
    limit = machine_memory() if memory is None else memory
    early = component is None and isinstance(work.method, Exact)
    asked = replace(work, method=None) if early else work
    needed = asked.peak(component=component)
    if limit is None or needed <= limit:
        return
    source = "this machine has" if memory is None else "memory= allows"
    message = f"the build needs up to {show(needed)} but {source} {show(limit)}"
    fits = largest_rank(asked, limit, component=component)
    bare = replace(work, method=None)
    if fits is not None:
        remedy = f"rank {fits:,} fits"
    elif bare.peak() <= limit:
        remedy = "no basis fits; spectrum=None does, for the solvers that need none"
    else:
        remedy = (
            f"{work.n:,} vectors with k {work.k} do not fit at all; use fewer vectors or dimensions, or a smaller k"
        )
    raise ResourceError(f"{message}; {remedy}, or allow more with memory=")


def largest_rank(work: Work, memory: int, *, component: int | None = None) -> int | None:
    """The largest rank of this method whose build fits, or None."""
    method = work.method
    if method is None or method.rank is None:
        return None
    low, high = 0, min(method.rank, work.n)
    while low < high:  # the peak grows with the rank
        middle = (low + high + 1) // 2
        trial = replace(work, method=replace(method, rank=middle))  # type: ignore[type-var]
        low, high = (middle, high) if trial.peak(component=component) <= memory else (low, middle - 1)
    return low or None


def parse_size(text: str | int) -> int:
    """'20G', '1500M' or bytes, to bytes; units are powers of 1024."""
    text = str(text)
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
    """A size as people write it: 1.5 GiB."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:,.0f} {unit}" if unit == "bytes" else f"{n_bytes:,.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:,.1f} GiB"
