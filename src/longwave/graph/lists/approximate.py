"""Approximate k-NN lists for large collections: a rough start, then neighbours of neighbours.

Two rounds make rough lists, group by group, on a few principal directions (`rounds`). Passes better them, vertex by
vertex (`descent`), on codes of a byte a number. After every pass the recall is measured on a sample, on the vectors
themselves, and when it is as wanted the best of every list are kept by the vectors, too.

Where passes find nothing new and that is not enough, codes may be too coarse, so the same is done on the vectors. Then
further rounds follow, which reach further and further, at last to all.
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
from longwave.graph.lists.descent import Compared, consider, descend, meet
from longwave.graph.lists.exact import tiles
from longwave.graph.lists.rounds import GROUP, LEAST_WIDTH, Lists, reach_of, rough_round
from longwave.graph.lists.sampled import recall, true_neighbors
from longwave.graph.lists.trees import principal_directions, tree_order
from longwave.rows.encoded import Compact, compact, plain, stored_rows
from longwave.types import Checkpoint, Neighbors, Progress

# Lists are longer than wanted while they are made: codes put some in the wrong order, and more paths lead on.
_WIDER = 8 / 5
# Rounds before the first pass.
_ROUNDS = 2
# Principal directions that rounds multiply, and that trees look at. Vectors of no more dimensions need no codes.
_COARSE_DIMENSIONS, _TREE_DIMENSIONS = 128, 32
# Fresh entries of a list, on average and for each of its places, below which passes end.
_FEW = 0.0005
_TILE = 4096


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

    Time O(n d log n) for the trees, O(n · candidates · d) for rounds and passes; memory of about 40 n k bytes, n d for
    codes, and a few tiles for each thread. checkpoint: where rounds and passes are kept.
    """
    if not 0 < target <= 1:
        raise InputError(f"recall must be above 0 and at most 1, got {target}")
    width = max(k, LEAST_WIDTH)
    if reach_of(1, width) <= len(vectors) // 2:
        with threads.side_by_side() as pool:
            work = _Work(vectors, int(_WIDER * width), width, seed, pool, progress)
            found = work.until(target, k, *true_neighbors(vectors, k=k, seed=seed), checkpoint)
        if found is not None:
            return found
    return exact.nearest_others(vectors, k=k, progress=progress), 1.0


@dataclass(eq=False)
class _Work:
    """Lists that get better step by step. Vertices are numbered along a tree: `order` has the vector of each.

    width: of the lists, and of rough ones. rounds, passes: made so far. went: whether the last step was a pass.
    measured: the recall before it. exactly: whether vertices are compared by the vectors themselves.
    """

    vectors: NDArray[np.float32]
    width: int
    rough_width: int
    seed: int
    pool: Executor
    progress: Progress | None
    rounds: int = 0
    passes: int = 0
    went: bool = False
    measured: float = 0.0
    exactly: bool = False

    def __post_init__(self) -> None:
        n, dimension = self.vectors.shape
        trunk = _principal(self.vectors, _TREE_DIMENSIONS, self.seed, self.pool)
        order = tree_order(trunk, leaf=GROUP, rng=np.random.default_rng((self.seed, 0)))
        self.order: NDArray[np.int32] = plain(order, np.int32)
        self.lists = Lists.empty(n, self.width)
        self.exactly = dimension <= _COARSE_DIMENSIONS
        self.rows = self._compared()

    def until(
        self, target: float, k: int, sample: NDArray[np.int64], truth: Neighbors, checkpoint: Checkpoint | None
    ) -> tuple[Neighbors, float] | None:
        """Lists of the wanted recall, and that recall; None where exact lists would cost less."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(place))
        for step in count(self._resume(checkpoint) + 1):
            further, better = None, True  # the first pass goes to neighbours' neighbours alone
            if self.went:
                further = meet(self.lists, self.pool)
                measured = recall(self._settled(place[sample], k).similarities, truth)
                if measured >= target:
                    del self.rows, further
                    return self._all_settled(k), measured
                better = self.lists.fresh.mean() > _FEW and measured > self.measured
                self.measured = measured
            started = self.rounds >= _ROUNDS
            go_on = started and better
            if go_on:
                self.passes += 1
                descend(self.lists, further, self.rows, self.pool, self._told(f"pass {self.passes}"))
            elif started and not self.exactly:
                self.exactly = True
                self.rows, by_codes = self._compared(), self.lists
                self.lists = Lists.empty(*by_codes.ids.shape)
                consider(self.lists, by_codes, self.rows, self.pool)
            elif not self._rough():
                return None
            self.went = go_on
            self._keep(checkpoint, step)
        return None

    def _compared(self) -> Compared:
        """What vertices are compared by: codes, numbered as these are, or the vectors."""
        if self.exactly:
            return (*stored_rows(self.vectors), self.order)
        n, dimension = self.vectors.shape
        codes = Compact(np.empty((n, dimension), dtype=np.int8), np.empty(n, dtype=np.float32))

        def encode(part: slice) -> None:
            some = compact(self.vectors[self.order[part]], "int8")
            codes.codes[part], codes.scales[part] = some.codes, some.scales

        threads.run(self.pool, encode, tiles(n, _TILE))
        return (*stored_rows(codes), plain(np.empty(0, dtype=np.int32)))

    def _rough(self) -> bool:
        """The first rounds, or one more that starts from the lists; False where it would reach half of all."""
        coarse = _principal(self.vectors, _COARSE_DIMENSIONS, self.seed, self.pool)[self.order]
        trunk = np.ascontiguousarray(coarse[:, :_TREE_DIMENSIONS])
        rough = self.lists
        while True:
            reach = reach_of(self.rounds, self.rough_width)
            if reach > len(coarse) // 2:
                return False
            order = np.arange(len(coarse))  # the tree that vertices are numbered along
            if self.rounds:
                order = tree_order(trunk, leaf=GROUP, rng=np.random.default_rng((self.seed, self.rounds)))
            self.rounds += 1
            told = self._told(f"round {self.rounds}")
            rough = rough_round(
                coarse, order, rough, width=self.rough_width, reach=reach, pool=self.pool, progress=told
            )
            if self.rounds >= _ROUNDS:
                break
        consider(self.lists, rough, self.rows, self.pool)
        return True

    def _settled(self, places: NDArray[np.int64], k: int) -> Neighbors:
        """The best k of some lists by the vectors themselves."""
        from longwave.rows import descent_loops

        found = Neighbors(np.empty((len(places), k), np.int64), np.empty((len(places), k), np.float32))
        arrays = plain(self.vectors), self.order, self.lists.ids
        descent_loops.settle(places, *arrays, found.ids, found.similarities)
        return found

    def _all_settled(self, k: int) -> Neighbors:
        """The same of all lists, in the order of the vectors."""
        n = len(self.order)
        found = Neighbors(np.empty((n, k), np.int64), np.empty((n, k), np.float32))

        def work(part: slice) -> None:  # along the tree: those near to each other have neighbours in common
            some, rows = self._settled(np.arange(part.start, part.stop), k), self.order[part]
            found.ids[rows], found.similarities[rows] = some.ids, some.similarities

        threads.run(self.pool, work, tiles(n, _TILE))
        return found

    def _told(self, what: str) -> Callable[[int, int], None] | None:
        return partial(self.progress, f"neighbours: {what}") if self.progress else None

    def _keep(self, checkpoint: Checkpoint | None, step: int) -> None:
        """Save what a run that goes on needs."""
        if checkpoint is not None:
            done = np.array([self.rounds, self.passes, self.went, self.exactly, self.measured])
            own = {"ids": self.lists.ids, "similarities": self.lists.similarities, "fresh": self.lists.fresh}
            checkpoint.save_round("lists", step, {"done": done, **own})

    def _resume(self, checkpoint: Checkpoint | None) -> int:
        """Go on from what was kept. -> steps done"""
        saved = None if checkpoint is None else checkpoint.latest("lists")
        if saved is None:
            return 0
        step, arrays = saved
        self.lists = Lists(arrays["ids"], arrays["similarities"], arrays["fresh"])
        self.rounds, self.passes, went, exactly = (int(number) for number in arrays["done"][:-1])
        self.went, self.measured = bool(went), float(arrays["done"][-1])
        if exactly and not self.exactly:
            self.exactly = True
            self.rows = self._compared()
        return step


def _principal(vectors: NDArray[np.float32], count: int, seed: int, pool: Executor) -> NDArray[np.float32]:
    """The vectors along their first principal directions. (n, d) -> (n, count)"""
    directions = principal_directions(vectors, count=count, rng=np.random.default_rng(seed))
    out = np.empty((len(vectors), directions.shape[1]), dtype=np.float32)

    def project(rows: slice) -> None:
        np.matmul(vectors[rows], directions, out=out[rows])

    threads.run(pool, project, tiles(len(vectors), _TILE))
    return out
