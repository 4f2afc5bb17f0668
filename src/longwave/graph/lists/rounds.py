"""Approximate k-NN lists for large collections: neighbours of neighbours are neighbours, group by group.

In every round a new random tree puts similar vertices into groups of a few hundred. A group is compared with one set of
candidates: its members' neighbours and those of their neighbours that most paths lead to. So all work is dense products
at full speed, and lists never get worse. The first rounds run on a few principal directions, the others on the vectors
themselves, until the recall measured on a sample is as wanted. Behind each of these, every vertex is compared with
those that most paths lead to. Rounds reach further and further, at last to all.

A group's lists depend on the lists of the round before alone, not on the order of the groups: any number of threads
gives the same lists.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from longwave import threads
from longwave.errors import InputError
from longwave.graph.lists import exact
from longwave.graph.lists.exact import tiles
from longwave.graph.lists.sampled import recall, true_neighbors
from longwave.graph.lists.trees import principal_directions, tree_order
from longwave.types import Checkpoint, Neighbors, Progress

# Vertices of a group: many enough for fast products, few enough to have neighbours in common.
GROUP = 256
# Candidates of a group: in the first round its part of the tree, then neighbours of neighbours; for 50 neighbours.
_FIRST_REACH, _REACH, _USUAL_K = 2048, 8192, 50
# Part of the candidates that is taken from the tree in later rounds too, whatever the lists say.
TREE_SHARE = 1 / 8
# Shorter lists are as long as this while they are made: too few paths lead from one neighbour to the next.
LEAST_WIDTH = 32
# Vectors of more dimensions spend the first rounds on their principal directions.
_COARSE_DIMENSIONS, _COARSE_ROUNDS = 128, 2
# Principal directions that trees look at.
_TREE_DIMENSIONS = 32
# Rounds after which they reach twice as far each time.
_USUAL_ROUNDS = 4
# Vertices that a vertex is compared with along paths, for each neighbour that it lists.
_PATHS = 4
# Candidates that are multiplied at a time, and groups that a thread takes at a time.
_TILE, _TURN = 4096, 16
NOBODY = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class _Lists:
    """As `Neighbors`, in fewer bytes while rounds go on. ids, similarities: (n, width), best first."""

    ids: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def first(self, k: int) -> Neighbors:
        return Neighbors(self.ids[:, :k].astype(np.int64), self.similarities[:, :k].copy())


def nearest_others(
    vectors: NDArray[np.float32],
    *,
    k: int,
    target: float = 0.99,
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Neighbors, float]:
    """Approximate lists of a recall of at least `target`, and that recall, measured on a sample.

    Time O(n d log n) for the trees and O(n · candidates · d) for every round; memory 28 n k bytes, 640 n for principal
    directions, and a few tiles for each thread. checkpoint: where rounds are kept.
    """
    if not 0 < target <= 1:
        raise InputError(f"recall must be above 0 and at most 1, got {target}")
    n, dimension = vectors.shape
    width = max(k, LEAST_WIDTH)
    if reach_of(1, width) > n // 2:
        return exact.nearest_others(vectors, k=k, progress=progress), 1.0
    coarse_rounds = _COARSE_ROUNDS if dimension > _COARSE_DIMENSIONS else 0
    sample, truth = true_neighbors(vectors, k=k, seed=seed)
    lists, first = None, 0
    saved = None if checkpoint is None else checkpoint.latest("round")
    if saved is not None:
        first, lists = saved[0], _Lists(saved[1]["ids"], saved[1]["similarities"])

    def told(number: int, more: str = "") -> Callable[[int, int], None] | None:
        return partial(progress, f"neighbours: round {number}{more}") if progress else None

    with threads.side_by_side() as pool:
        coarse = _principal(vectors, _COARSE_DIMENSIONS if coarse_rounds else _TREE_DIMENSIONS, seed, pool)
        trunk = np.ascontiguousarray(coarse[:, :_TREE_DIMENSIONS])
        order = np.arange(n)  # a run that goes on has no tree yet
        for number in count(first):
            if lists is not None and number > coarse_rounds:
                measured = recall(lists.similarities[sample, :k], truth)
                if measured < target:  # once: a second time finds a tenth of what the first has found
                    lists = _along_paths(vectors, lists, order, pool, told(number, ", along paths"))
                    measured = recall(lists.similarities[sample, :k], truth)
                if measured >= target:
                    return lists.first(k), measured
            reach = reach_of(number, width)
            if reach > n // 2:
                break
            order = tree_order(trunk, leaf=GROUP, rng=np.random.default_rng((seed, number)))
            lists = _round(
                vectors if number >= coarse_rounds else coarse,
                order,
                lists or _nothing(n, width),
                reach=reach,
                comparable=number != coarse_rounds,
                pool=pool,
                progress=told(number + 1),
            )
            if checkpoint is not None:
                checkpoint.save_round("round", number + 1, {"ids": lists.ids, "similarities": lists.similarities})
    return exact.nearest_others(vectors, k=k, progress=progress), 1.0


def reach_of(number: int, width: int) -> int:
    """Candidates of a group in a round; beyond half of all vertices, exact lists cost less."""
    usual = (_REACH if number else _FIRST_REACH) * max(width, _USUAL_K) // _USUAL_K
    return usual << max(0, number - _USUAL_ROUNDS + 1)


def _nothing(n: int, width: int) -> _Lists:
    return _Lists(np.full((n, width), -1, dtype=np.int32), np.full((n, width), -np.inf, dtype=np.float32))


def _principal(vectors: NDArray[np.float32], count: int, seed: int, pool: Executor) -> NDArray[np.float32]:
    """The vectors along their first principal directions. (n, d) -> (n, count)"""
    directions = principal_directions(vectors, count=count, rng=np.random.default_rng(seed))
    out = np.empty((len(vectors), directions.shape[1]), dtype=np.float32)

    def project(rows: slice) -> None:
        np.matmul(vectors[rows], directions, out=out[rows])

    threads.run(pool, project, tiles(len(vectors), _TILE))
    return out


def _round(
    rows: NDArray[np.float32],
    order: NDArray[np.int64],
    old: _Lists,
    *,
    reach: int,
    comparable: bool,
    pool: Executor,
    progress: Callable[[int, int], None] | None,
) -> _Lists:
    """New lists from old ones. rows: (n, d) what is multiplied; order: (n,) of a tree.

    comparable: whether the similarities of the old lists are products of the same rows. Then what is below the end of
    the old list need not enter the new one.
    """
    from longwave.rows import list_loops

    n, width = old.ids.shape
    new = _nothing(n, width)
    # Products of the same rows in tiles of other shapes may be rounded otherwise.
    floor = old.similarities[:, -1] - np.float32(1e-6) if comparable else np.full(n, -np.inf, dtype=np.float32)
    starts, sources, _ = list_loops.reverse_lists(old.ids, old.similarities)
    share = max(GROUP, int(reach * TREE_SHARE)) if len(sources) else reach

    def work(groups: list[slice]) -> None:
        votes, found = np.zeros(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        for group in groups:
            members = order[group]
            begin = max(0, min(n - share, (group.start + group.stop - share) // 2))
            near = order[begin : begin + share]  # around the group, in the tree
            candidates = list_loops.candidates(members, near, old.ids, starts, sources, reach, votes, found)
            values = np.repeat(floor[members, None], width, axis=1)
            ids = np.full(values.shape, NOBODY, dtype=np.int32)
            own = rows[members]
            for tile in tiles(len(candidates), _TILE):
                others = candidates[tile]
                list_loops.push_candidates(own @ rows[others].T, others, members, values, ids)
            list_loops.sort_lists(values, ids)
            empty = ids == NOBODY
            new.ids[members] = np.where(empty, -1, ids)
            new.similarities[members] = np.where(empty, -np.inf, values)

    groups = tiles(n, GROUP)
    threads.run(pool, work, [groups[turn] for turn in tiles(len(groups), _TURN)], progress)
    _mirror(new, pool)
    return new


def _along_paths(
    rows: NDArray[np.float32],
    old: _Lists,
    order: NDArray[np.int64],
    pool: Executor,
    progress: Callable[[int, int], None] | None,
) -> _Lists:
    """New lists from old ones: each vertex is compared with those that most paths of two steps lead to.

    Where lists are nearly right this finds most of what they lack, for a tenth of the products of a round. What no path
    leads to it does not find. order: of a tree; who is near in it has paths in common, which are then at hand.
    """
    from longwave.rows import list_loops

    n, width = old.ids.shape
    new = _Lists(old.ids.copy(), old.similarities.copy())
    starts, sources, _ = list_loops.reverse_lists(old.ids, old.similarities)

    def work(part: slice) -> None:
        votes = np.zeros(n, dtype=np.int32)
        members = (rows, old.ids, starts, sources, votes, new.ids, new.similarities)
        list_loops.follow_paths(order[part], *members, _PATHS * width)

    threads.run(pool, work, tiles(n, GROUP * _TURN), progress)
    _mirror(new, pool)
    return new


def _mirror(lists: _Lists, pool: Executor) -> None:
    """What one has found serves both."""
    from longwave.rows import list_loops

    listed_by = list_loops.reverse_lists(lists.ids, lists.similarities)

    def mirror(part: slice) -> None:
        list_loops.take_back(lists.ids[part], lists.similarities[part], *listed_by, part.start)

    threads.run(pool, mirror, tiles(len(lists.ids), _TILE))
