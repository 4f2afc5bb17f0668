"""Better k-NN lists, vertex by vertex: neighbours of neighbours are neighbours (NN-descent).

A pass compares every vertex with those that paths of two steps lead to. Paths go to whom a vertex lists, and back to
those that list it. Only paths with a fresh step are followed, one that came in since the pass before. So passes soon
cost little, and when nothing new comes in, they end.

Each vertex betters its own list. What it reads of the others was gathered before the pass: any number of threads gives
the same lists. Vertices are numbered along a tree, so that those near to each other are near in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave import threads
from longwave.graph.lists.exact import tiles
from longwave.graph.lists.rounds import Lists
from longwave.types import Array

#: What vertices are compared by, as in `row_loops`: numbers (n, d), scales or (0,), the row of each vertex or (0,).
Compared: TypeAlias = tuple[Array, NDArray[np.float32], NDArray[np.int32]]
# For each place of a list: others that list the vertex and are known to it; half of what a step leads to; and how many
# a vertex is compared with in a pass. Fewer of each take less time and end at a lower recall. Of long lists, not more
# than this: paths grow with the square.
_FURTHER, _WAYS, _COMPARED = 4 / 5, 2 / 5, 12.5
_LONG = 120
# Vertices that a thread takes at a time; parts at the most, as each takes an array of length n.
_PART, _PARTS = 4096, 256


@dataclass(frozen=True, eq=False)
class Further:
    """For each vertex, others that list it, best first. ids: (n, m), −1 behind the last; fresh: (n, m)."""

    ids: NDArray[np.int32]
    fresh: NDArray[np.bool_]


def consider(lists: Lists, others: Lists, rows: Compared, pool: Executor) -> None:
    """Offer each vertex what it has in other lists."""
    from longwave.rows import descent_loops

    own = lists.ids, lists.similarities, lists.fresh

    def work(part: slice) -> None:
        descent_loops.consider(part.start, part.stop, rows, others.ids, *own)

    threads.run(pool, work, tiles(len(lists.ids), _PART))


def meet(lists: Lists, pool: Executor) -> Further:
    """What one has found serves both: those who list a vertex come into its own list, or are its further ones."""
    from longwave.rows import descent_loops, list_loops

    n, width = lists.ids.shape
    own = lists.ids, lists.similarities, lists.fresh
    listed_by = list_loops.reverse_lists(*own)
    shape = n, int(_FURTHER * min(width, _LONG))
    further = Further(np.empty(shape, dtype=np.int32), np.zeros(shape, dtype=np.bool_))

    def work(part: slice) -> None:
        descent_loops.meet(part.start, part.stop, listed_by, *own, further.ids, further.fresh)

    threads.run(pool, work, tiles(n, _PART))
    return further


def descend(
    lists: Lists,
    further: Further | None,
    rows: Compared,
    pool: Executor,
    progress: Callable[[int, int], None] | None,
) -> None:
    """One pass. further: of `meet`; without them, paths go to whom vertices list alone."""
    from longwave.rows import descent_loops

    n, width = len(lists.ids), min(lists.ids.shape[1], _LONG)
    further = further or Further(np.empty((n, 0), dtype=np.int32), np.empty((n, 0), dtype=np.bool_))
    ways, ends = np.empty((n, 2 * int(_WAYS * width)), dtype=np.int32), np.empty((n, 2), dtype=np.int16)

    def find(part: slice) -> None:
        arrays = lists.ids, lists.fresh, further.ids, further.fresh, ways, ends
        descent_loops.find_ways(part.start, part.stop, *arrays)

    def work(part: slice) -> None:
        votes = np.zeros(n, dtype=np.int16)
        gathered = rows, ways, ends, further.ids, further.fresh, int(_COMPARED * width), votes
        descent_loops.descend(part.start, part.stop, *gathered, lists.ids, lists.similarities, lists.fresh)

    threads.run(pool, find, tiles(n, _PART))
    threads.run(pool, work, tiles(n, max(_PART, n // _PARTS)), progress)
