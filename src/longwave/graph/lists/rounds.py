"""Rough k-NN lists, group by group: what the passes of `descent` begin with.

Another random tree in every round puts similar vertices into groups of a few hundred. A group is compared with one set
of candidates: those around it in the tree, its members' neighbours, and those of their neighbours that most paths
lead to. So all work is dense products at full speed. They need not be exact, since only neighbourhoods are wanted:
rounds run on a few principal directions.

A group's lists depend on the lists of the round before alone, not on the order of the groups: any number of threads
gives the same lists.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave import threads
from longwave.graph.lists.exact import tiles

#: Vertices of a group: many enough for fast products, few enough to have neighbours in common.
GROUP = 256
# Candidates of a group: in the first round its part of the tree, then neighbours of neighbours; for 50 neighbours.
_FIRST_REACH, _REACH, _USUAL_K = 2048, 8192, 50
#: Part of the candidates that is taken from the tree in later rounds too, whatever the lists say.
TREE_SHARE = 1 / 8
#: Shorter lists are as long as this while they are made: too few paths lead from one neighbour to the next.
LEAST_WIDTH = 32
# Rounds after which they reach twice as far each time.
_USUAL_ROUNDS = 4
# Candidates that are multiplied at a time, and groups that a thread takes at a time.
_TILE, _TURN = 4096, 16
#: In place of a number, in lists that are not full yet.
NOBODY = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Lists:
    """As `Neighbors`, in fewer bytes while they are made. All are (n, width), best first.

    fresh: whether an entry came in since the pass before.
    """

    ids: NDArray[np.int32]
    similarities: NDArray[np.float32]
    fresh: NDArray[np.bool_]

    @classmethod
    def empty(cls, n: int, width: int) -> Lists:
        """Lists of nobody."""
        shape = n, width
        numbers = np.full(shape, -1, dtype=np.int32), np.full(shape, -np.inf, dtype=np.float32)
        return cls(*numbers, np.zeros(shape, dtype=np.bool_))


def reach_of(number: int, width: int) -> int:
    """Candidates of a group in a round; beyond half of all vertices, exact lists cost less."""
    usual = (_REACH if number else _FIRST_REACH) * max(width, _USUAL_K) // _USUAL_K
    return usual << max(0, number - _USUAL_ROUNDS + 1)


def rough_round(
    rows: NDArray[np.float32],
    order: NDArray[np.int64],
    old: Lists,
    *,
    width: int,
    reach: int,
    pool: Executor,
    progress: Callable[[int, int], None] | None,
) -> Lists:
    """New lists, of a width of their own, from old ones. rows: (n, d) what is multiplied; order: (n,) of a tree."""
    from longwave.rows import list_loops

    n = len(old.ids)
    new = Lists.empty(n, width)
    starts, sources = list_loops.reverse_lists(old.ids, old.similarities, old.fresh)[:2]
    share = max(GROUP, int(reach * TREE_SHARE)) if len(sources) else reach

    def work(groups: list[slice]) -> None:
        votes, found = np.zeros(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        for group in groups:
            members = order[group]
            begin = max(0, min(n - share, (group.start + group.stop - share) // 2))
            near = order[begin : begin + share]  # around the group, in the tree
            candidates = list_loops.candidates(members, near, old.ids, starts, sources, reach, votes, found)
            values = np.full((len(members), width), -np.inf, dtype=np.float32)
            ids = np.full(values.shape, NOBODY, dtype=np.int32)
            own = rows[members]
            for tile in tiles(len(candidates), _TILE):
                others = candidates[tile]
                products = own @ rows[others].T
                if tile.start == 0:
                    list_loops.raise_floors(products, values)
                list_loops.push_candidates(products, others, members, values, ids)
            list_loops.sort_lists(values, ids)
            empty = ids == NOBODY
            new.ids[members] = np.where(empty, -1, ids)
            new.similarities[members] = np.where(empty, -np.inf, values)

    groups = tiles(n, GROUP)
    threads.run(pool, work, [groups[turn] for turn in tiles(len(groups), _TURN)], progress)
    return new
