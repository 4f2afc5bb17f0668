"""Neighbour lists, block against block, exact; or from the cells around every vector on, in rounds (`cluster.rounds`).

Rounds go on until the recall on a sample, whose true neighbours are computed, is as wanted. A worker holds its own
block, its lists, and a tile or a cell of another block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longwave.cluster import rounds
from longwave.cluster.engine import Cluster, Handle
from longwave.cluster.partition import Partition, read_vectors_of
from longwave.cluster.pieces import load, save
from longwave.graph.lists import EXACT_VERTICES
from longwave.graph.lists.exact import Heaps, tiles
from longwave.graph.lists.rounds import LEAST_WIDTH, NOBODY, reach_of
from longwave.graph.lists.sampled import recall as share_found
from longwave.rows.vectors import top_k
from longwave.types import Array, Checkpoint, Neighbors

# Cells that every vector is compared with before the rounds: those whose means are nearest to it. Were they chosen for
# a whole cell, its vectors would all miss the same neighbours, and rounds would find these late.
# Where cells are large there are fewer of them, so that it is about as many vectors.
_FIRST_CELLS, _FIRST_REACH = 8, 8192
# Vertices whose true neighbours are computed.
_SAMPLE = 500
_TILE = 4096


@dataclass(frozen=True)
class Lists:
    """The lists of all blocks, as files. k: their length. recall: measured, 1 where they are exact."""

    partition: Partition
    k: int
    recall: float

    def file(self, block: int, what: str) -> str:
        """The file of a block's "ids", numbers of vertices, or "similarities". (m, k)"""
        return list_file(self.partition, block, what)


def list_file(partition: Partition, block: int, what: str) -> str:
    """Where the lists of a block are."""
    return str(partition.folder / f"lists-{block}-{what}.npy")


def build_lists(
    cluster: Cluster,
    partition: Partition,
    *,
    k: int,
    recall: float | None,
    seed: int,
    progress: Callable[[str, int, int], None],
    checkpoint: Checkpoint | None = None,
) -> Lists:
    """Lists of a recall of at least that wanted: exact up to 30,000 vectors or where it is 1, else 0.99 by default.

    checkpoint: where it is said which rounds are done; their lists are files beside the blocks.
    """
    n = int(partition.starts[-1])
    k = max(1, min(k, n - 1))
    exact = n <= EXACT_VERTICES if recall is None else recall == 1
    width = max(k, LEAST_WIDTH)
    if exact or reach_of(1, width) > n // 2 or n > np.iinfo(np.int32).max:
        _search(cluster, partition, k, progress)
        return Lists(partition, k, 1.0)
    sample, truth = _truth(cluster, partition, k, seed)
    blocks, measured = range(partition.count), [0.0]
    saved = None if checkpoint is None else checkpoint.latest("lists-round")
    if saved is None:
        rounds.make_files(partition, 0, width)
        _each(cluster, "neighbours: cells", [cluster.submit(first_round, partition, b) for b in blocks], progress)

    def good(number: int) -> bool:
        if checkpoint is not None:
            checkpoint.save_round("lists-round", number, {"width": np.array([width])})
        found = [cluster.submit(rows_of_round, partition, number, block, sample) for block in blocks]
        measured.append(share_found(np.concatenate(cluster.gather(found))[:, :k], truth))
        return measured[-1] >= (0.99 if recall is None else recall)

    begun = 0 if saved is None else saved[0]
    last = rounds.improve(cluster, partition, width, good, done=begun, seed=seed, progress=progress)
    if last is None:
        _search(cluster, partition, k, progress)
        return Lists(partition, k, 1.0)
    cluster.gather([cluster.submit(last_round, partition, last, block, k) for block in blocks])
    return Lists(partition, k, measured[-1])


def _search(cluster: Cluster, partition: Partition, k: int, progress: Callable[[str, int, int], None]) -> None:
    """Exact lists of every block."""
    asked = [cluster.submit(searched, partition, block, k) for block in range(partition.count)]
    _each(cluster, "neighbours", asked, progress)


def _each(cluster: Cluster, name: str, handles: Sequence[Handle], progress: Callable[[str, int, int], None]) -> None:
    """Wait for one after the other."""
    for done, handle in enumerate(handles):
        cluster.gather([handle])
        progress(name, done + 1, len(handles))


def first_round(partition: Partition, block: int) -> None:
    """Write the lists of a block as round 0: every vector with those of the cells around it."""
    from longwave.rows import list_loops

    own, first, starts = load(partition.vectors(block)), int(partition.starts[block]), partition.cell_starts
    n, means = int(partition.starts[-1]), load(partition.means)
    order, ends = by_cell(own, means, min(_FIRST_CELLS, max(2, _FIRST_REACH * len(means) // n)))
    shape = rounds.read_round(partition, 0, block, "ids").shape
    values, ids = np.full(shape, -np.inf, dtype=np.float32), np.full(shape, NOBODY, dtype=np.int32)
    for other in range(partition.count):
        rows = np.load(partition.vectors(other), mmap_mode="r")
        for cell in range(*partition.cells[other : other + 2]):
            inside, numbers = order[ends[cell] : ends[cell + 1]], np.arange(starts[cell], starts[cell + 1])
            there = np.asarray(rows[numbers - partition.starts[other]])
            for part in (inside[tile] for tile in tiles(len(inside), _TILE)):
                near, who = values[part], ids[part]
                list_loops.push_candidates(own[part] @ there.T, numbers.astype(np.int32), part + first, near, who)
                values[part], ids[part] = near, who
    list_loops.sort_lists(values, ids)
    rounds.write_round(partition, 0, block, np.where(ids == NOBODY, -1, ids), values)


def by_cell(vectors: Array, means: NDArray[np.float32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The vectors that each cell is among the nearest of: order[ends[c] : ends[c + 1]]. (t,), (cells + 1,)"""
    count = min(count, len(means))
    near = np.empty((len(vectors), count), dtype=np.int32)
    for tile in tiles(len(vectors), _TILE):
        near[tile] = np.argpartition(-(vectors[tile] @ means.T), count - 1, axis=1)[:, :count]
    order = np.argsort(near.ravel(), kind="stable")
    return order // count, np.searchsorted(near.ravel()[order], np.arange(len(means) + 1))


def last_round(partition: Partition, number: int, block: int, k: int) -> None:
    """The first k of every list of a round as the lists of a block."""
    for what in ("ids", "similarities"):
        save(list_file(partition, block, what), rounds.read_round(partition, number, block, what)[:, :k])


def rows_of_round(partition: Partition, number: int, block: int, sample: NDArray[np.int64]) -> Array:
    """The similarities of those of a sample that are in a block."""
    first, last = np.searchsorted(sample, partition.starts[block : block + 2])
    rows = sample[first:last] - partition.starts[block]
    return np.asarray(rounds.read_round(partition, number, block, "similarities")[rows])


def searched(partition: Partition, block: int, k: int) -> None:
    """Write the exact lists of a block, from those of all blocks."""
    own, first = load(partition.vectors(block)), int(partition.starts[block])
    heaps = Heaps(len(own), k)
    for other in range(partition.count):
        rows, begin = np.load(partition.vectors(other), mmap_mode="r"), int(partition.starts[other])
        for inside in tiles(len(own), _TILE // 2):
            for tile in tiles(len(rows), _TILE):
                place = {"first_column": begin + tile.start, "self_row": first + inside.start}
                heaps.update(inside, own[inside] @ rows[tile].T, **place)
    found = heaps.lists()
    small = np.int32 if partition.starts[-1] < np.iinfo(np.int32).max else np.int64
    save(list_file(partition, block, "ids"), found.ids.astype(small))
    save(list_file(partition, block, "similarities"), found.similarities)


def _truth(cluster: Cluster, partition: Partition, k: int, seed: int) -> tuple[NDArray[np.int64], Neighbors]:
    """A sample of vertices, and the similarities of their true neighbours. (s,), (s, k)"""
    n = int(partition.starts[-1])
    sample = np.sort(np.random.default_rng(seed).choice(n, size=min(_SAMPLE, n), replace=False))
    ends = np.searchsorted(sample, partition.starts)
    inside = [sample[a:b] - s for a, b, s in zip(ends, ends[1:], partition.starts, strict=False)]
    read = [cluster.submit(read_vectors_of, partition.vectors(block), rows) for block, rows in enumerate(inside)]
    asked = cluster.put(np.concatenate(cluster.gather(read)))
    found = [
        cluster.submit(best_products, partition.vectors(block), asked, sample - partition.starts[block], k)
        for block in range(partition.count)
    ]
    every = np.concatenate(cluster.gather(found), axis=1)
    best = -np.sort(-every, axis=1)[:, :k]
    return sample, Neighbors(np.zeros(best.shape, dtype=np.int64), best)


def best_products(path: str, asked: Array, own: NDArray[np.int64], k: int) -> Array:
    """The largest k products of some vectors with those of a block. own: their own rows in it, elsewhere outside."""
    rows = load(path)
    products = asked @ rows.T
    here = np.flatnonzero((own >= 0) & (own < len(rows)))
    products[here, own[here]] = -np.inf
    return np.asarray(top_k(products, min(k, len(rows)))[1])
