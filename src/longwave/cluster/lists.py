"""Neighbour lists, block against block: every cell is compared with the cells where its neighbours may be.

With all cells the lists are exact. With some of them they are where rounds of neighbours' neighbours begin
(`cluster.rounds`), until the recall on a sample, whose true neighbours are computed, is as wanted. A worker holds its
own block, its lists, and some cells of one other block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.cluster import rounds
from longwave.cluster.engine import Cluster
from longwave.cluster.partition import Partition, read_vectors_of
from longwave.cluster.pieces import load, save
from longwave.graph.lists import EXACT_VERTICES
from longwave.graph.lists.exact import Heaps, tiles
from longwave.graph.lists.rounds import LEAST_WIDTH, reach_of
from longwave.graph.lists.sampled import recall as share_found
from longwave.rows.vectors import top_k
from longwave.types import Array, Checkpoint, Neighbors, Sparse

# Cells that a cell is compared with before the rounds: those that most of its vectors are near to.
_FIRST_CELLS = 3
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
    n, n_cells = int(partition.starts[-1]), len(partition.cell_starts) - 1
    k = max(1, min(k, n - 1))
    exact = n <= EXACT_VERTICES if recall is None else recall == 1
    width = max(k, LEAST_WIDTH)
    if exact or reach_of(1, width) > n // 2 or n > np.iinfo(np.int32).max:
        _search(cluster, partition, k, n_cells, "neighbours", progress)
        return Lists(partition, k, 1.0)
    sample, truth = _truth(cluster, partition, k, seed)
    blocks, measured = range(partition.count), [0.0]
    saved = None if checkpoint is None else checkpoint.latest("lists-round")
    if saved is None:
        _search(cluster, partition, width, _FIRST_CELLS, "neighbours: cells", progress)
        rounds.make_files(partition, 0, width)
        cluster.gather([cluster.submit(first_round, partition, block) for block in blocks])

    def good(number: int) -> bool:
        if checkpoint is not None:
            checkpoint.save_round("lists-round", number, {"width": np.array([width])})
        found = [cluster.submit(rows_of_round, partition, number, block, sample) for block in blocks]
        measured.append(share_found(np.concatenate(cluster.gather(found))[:, :k], truth))
        return measured[-1] >= (0.99 if recall is None else recall)

    begun = 0 if saved is None else saved[0]
    last = rounds.improve(cluster, partition, width, good, done=begun, seed=seed, progress=progress)
    if last is None:
        _search(cluster, partition, k, n_cells, "neighbours", progress)
        return Lists(partition, k, 1.0)
    cluster.gather([cluster.submit(last_round, partition, last, block, k) for block in blocks])
    return Lists(partition, k, measured[-1])


def _search(
    cluster: Cluster, partition: Partition, k: int, reach: int, name: str, progress: Callable[[str, int, int], None]
) -> None:
    """Lists by cells, of every block."""
    near, cells = near_cells(partition.votes, reach), partition.cells
    handles = [
        cluster.submit(searched, partition, block, k, sp.csr_array(near[cells[block] : cells[block + 1]]))
        for block in range(partition.count)
    ]
    for done, handle in enumerate(handles):
        cluster.gather([handle])
        progress(name, done + 1, len(handles))


def first_round(partition: Partition, block: int) -> None:
    """The lists of a block, as they are, as round 0."""
    own = [load(list_file(partition, block, what)) for what in ("ids", "similarities")]
    rounds.write_round(partition, 0, block, *own)


def last_round(partition: Partition, number: int, block: int, k: int) -> None:
    """The first k of every list of a round as the lists of a block."""
    for what in ("ids", "similarities"):
        save(list_file(partition, block, what), rounds.read_round(partition, number, block, what)[:, :k])


def rows_of_round(partition: Partition, number: int, block: int, sample: NDArray[np.int64]) -> Array:
    """The similarities of those of a sample that are in a block."""
    first, last = np.searchsorted(sample, partition.starts[block : block + 2])
    rows = sample[first:last] - partition.starts[block]
    return np.asarray(rounds.read_round(partition, number, block, "similarities")[rows])


def near_cells(votes: Sparse, count: int) -> Sparse:
    """The cells that each is compared with, both ways: itself and those with most votes. CSR (cells, cells) of ones."""
    n = votes.shape[0]
    if count >= n:
        return sp.csr_array(np.ones((n, n), dtype=np.int8))
    rows, columns = [np.arange(n)], [np.arange(n)]
    for cell in range(n):
        own = slice(votes.indptr[cell], votes.indptr[cell + 1])
        best = np.argsort(-votes.data[own], kind="stable")[:count]
        rows.append(np.full(len(best), cell))
        columns.append(votes.indices[own][best])
    pairs = np.concatenate(rows), np.concatenate(columns)
    one_way = sp.csr_array((np.ones(len(pairs[0]), dtype=np.int8), pairs), shape=(n, n))
    both = sp.csr_array(one_way + one_way.T)
    both.sort_indices()
    return both


def searched(partition: Partition, block: int, k: int, near: Sparse) -> None:
    """Write the lists of a block. near: of its cells, those that they are compared with. CSR (own cells, cells)"""
    own, first = load(partition.vectors(block)), int(partition.starts[block])
    heaps, starts = Heaps(len(own), k), partition.cell_starts
    mine = [
        slice(int(starts[c] - first), int(starts[c + 1] - first)) for c in range(*partition.cells[block : block + 2])
    ]
    wanted = np.unique(near.indices)
    for other in range(partition.count):
        low, high = partition.cells[other], partition.cells[other + 1]
        if not ((wanted >= low) & (wanted < high)).any():
            continue
        rows = np.load(partition.vectors(other), mmap_mode="r")
        begin = int(partition.starts[other])
        for cell, members in enumerate(mine):
            cells = near.indices[near.indptr[cell] : near.indptr[cell + 1]]
            for span in joined(cells[(cells >= low) & (cells < high)]):
                _compare(heaps, own, members, rows, int(starts[span.start]), int(starts[span.stop]), begin, first)
    found = heaps.lists()
    small = np.int32 if partition.starts[-1] < np.iinfo(np.int32).max else np.int64
    save(list_file(partition, block, "ids"), found.ids.astype(small))
    save(list_file(partition, block, "similarities"), found.similarities)


def joined(numbers: NDArray[np.integer]) -> list[slice]:
    """Ascending numbers as runs. [2, 3, 4, 7] -> 2 to 5, 7 to 8"""
    if not len(numbers):
        return []
    ends = np.flatnonzero(np.diff(numbers) > 1)
    firsts, lasts = numbers[np.append(0, ends + 1)], numbers[np.append(ends, len(numbers) - 1)]
    return [slice(int(a), int(b) + 1) for a, b in zip(firsts, lasts, strict=True)]


def _compare(
    heaps: Heaps, own: Array, members: slice, rows: Array, start: int, stop: int, begin: int, first: int
) -> None:
    """Push the products of some own rows with the vertices from start to stop. begin: of rows; first: of own rows."""
    for part in tiles(members.stop - members.start, _TILE // 2):
        inside = slice(members.start + part.start, members.start + part.stop)
        for tile in tiles(stop - start, _TILE):
            low, high = start + tile.start, start + tile.stop
            products = own[inside] @ rows[low - begin : high - begin].T
            heaps.update(inside, products, first_column=low, self_row=first + inside.start)


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
