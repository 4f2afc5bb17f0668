"""Approximate k-NN lists for large collections: a rough start, then neighbours of neighbours.

Two rounds make rough lists, group by group, on a few principal directions (`rounds`). Passes better them, vertex by
vertex (`descent`), on codes of a byte a number. After every pass the recall is measured on a sample, on the vectors
themselves, and when it is as wanted the best of every list are kept by the vectors, too.

Vectors may be so near to each other that codes cannot tell them apart. Then passes on codes would make good lists
worse, so they go on with the vectors. Where passes find nothing new and that is not enough, further rounds follow,
which reach further and further, at last to all.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

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
#: For longer lists, exact ones are made: votes are counted in 16 bits.
MOST_NEIGHBORS = 4000
# Rounds before the first pass.
_ROUNDS = 2
# Principal directions that rounds multiply, and that trees look at. Vectors of no more dimensions need no codes.
_COARSE_DIMENSIONS, _TREE_DIMENSIONS = 128, 32
# Passes end below this share of fresh entries; where the recall is as wanted, below so many times what it may lack. The
# next pass after one that brings in many finds much for little: on pictures from a turntable .9994 after .996, which
# mAP is the better for.
_NONE, _FEW = 0.0005, 2
# Of products that are made on two ways.
_ROUNDING = 1e-6
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

    Time O(n d log n) for the trees, O(n · candidates · d) for rounds and passes. Memory of n times 41 bytes for each
    neighbour, 32 at least, and the larger of 1,152 and d; and a few tiles for each thread. checkpoint: where rounds and
    passes are kept.
    """
    if not 0 < target <= 1:
        raise InputError(f"recall must be above 0 and at most 1, got {target}")
    width = max(k, LEAST_WIDTH)
    if k <= MOST_NEIGHBORS and reach_of(1, width) <= len(vectors) // 2:
        sample, truth = true_neighbors(vectors, k=k, seed=seed)
        with threads.side_by_side() as pool:
            work = _Work(plain(vectors), int(_WIDER * width), width, seed, pool, progress)
            found = work.until(target, k, sample, truth, checkpoint)
        if found is not None:
            return found
    return exact.nearest_others(vectors, k=k, progress=progress), 1.0


@dataclass(eq=False)
class _Work:
    """Lists that get better step by step. Vertices are numbered along a tree: `order` has the vector of each.

    width: of the lists, and of rough ones. rounds, passes: made so far. went: whether the last step was a pass.
    exactly: whether vertices are compared by the vectors themselves.
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
    exactly: bool = False

    def __post_init__(self) -> None:
        n, dimension = self.vectors.shape
        trunk = _principal(self.vectors, _TREE_DIMENSIONS, self.seed, self.pool)
        order = tree_order(trunk, leaf=GROUP, rng=np.random.default_rng((self.seed, 0)))
        self.order: NDArray[np.int32] = plain(order, np.int32)
        self.exactly = dimension <= _COARSE_DIMENSIONS
        self.lists = Lists.empty(n, 0)  # none before the first rounds, which need the memory

    def until(
        self, target: float, k: int, sample: NDArray[np.int64], truth: Neighbors, checkpoint: Checkpoint | None
    ) -> tuple[Neighbors, float] | None:
        """Lists of the wanted recall, and that recall; None where exact lists would cost less."""
        place = np.empty(len(self.order), dtype=np.int64)
        place[self.order] = np.arange(len(place))
        step = self._resume(checkpoint)
        while True:
            further, go_on, codes_do = None, self.rounds >= _ROUNDS, True
            if self.went:
                further = meet(self.lists, self.pool)
                measured = recall(self._settled(place[sample], k).similarities, truth)
                news = float(self.lists.fresh.mean())
                if measured >= target and news <= max(_NONE, _FEW * (1 - target)):
                    del self.rows, further
                    return self._all_settled(k), measured
                codes_do = self.exactly or self._room_for(place[sample], place[truth.ids]) >= target
                go_on = codes_do and news > _NONE
            if go_on:
                self.passes += 1
                descend(self.lists, further, self.rows, self.pool, self._told(f"pass {self.passes}"))
            else:
                further = None
                if not codes_do:
                    self._turn_to_vectors()
                elif not self._rough():
                    return None
            self.went, step = go_on, step + 1
            self._keep(checkpoint, step)

    def _room_for(self, places: NDArray[np.int64], neighbors: NDArray[np.int64]) -> float:
        """The share of true neighbours that lists have room for, going by codes. places: (m,); neighbors: (m, k)

        Where a list is full of others that are nearer by their codes, a neighbour can never come in.
        """
        values, scales, _ = self.rows
        codes = Compact(values, scales)
        products = np.einsum("md,mkd->mk", codes[places], codes[neighbors])
        return float((products >= self.lists.similarities[places, -1:] - _ROUNDING).mean())

    def _turn_to_vectors(self) -> None:
        """Compare by the vectors themselves from now on."""
        self.exactly = True
        self.rows, by_codes = self._compared(), self.lists
        self.lists = Lists.empty(*by_codes.ids.shape)
        consider(self.lists, by_codes, self.rows, self.pool)

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
        if not self.lists.ids.shape[1]:
            del coarse, trunk
            self.lists, self.rows = Lists.empty(len(self.order), self.width), self._compared()
        consider(self.lists, rough, self.rows, self.pool)
        return True

    def _settled(self, places: NDArray[np.int64], k: int) -> Neighbors:
        """The best k of some lists by the vectors themselves."""
        from longwave.rows import descent_loops

        found = Neighbors(np.empty((len(places), k), np.int64), np.empty((len(places), k), np.float32))
        descent_loops.settle(places, self.vectors, self.order, self.lists.ids, found.ids, found.similarities)
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
            state = np.array([self.rounds, self.passes, self.went, self.exactly])
            own = {"ids": self.lists.ids, "similarities": self.lists.similarities, "fresh": self.lists.fresh}
            checkpoint.save_round("lists", step, {"state": state, **own})

    def _resume(self, checkpoint: Checkpoint | None) -> int:
        """Go on from what was kept. -> steps done"""
        saved = None if checkpoint is None else checkpoint.latest("lists")
        if saved is None:
            return 0
        step, arrays = saved
        self.lists = Lists(arrays["ids"], arrays["similarities"], arrays["fresh"])
        self.rounds, self.passes, went, exactly = (int(number) for number in arrays["state"])
        self.went, self.exactly = bool(went), bool(exactly)
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
