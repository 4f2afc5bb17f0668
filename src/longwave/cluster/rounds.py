"""Approximate lists on a cluster: the rounds of `graph.lists.rounds`, block by block.

Neighbours of neighbours are neighbours. In a round every block compares groups of its vertices with candidates: whom
they list, who lists them, and those of their neighbours' neighbours that most paths lead to. The lists of all vertices
are one file that every worker maps: it reads the rows that its paths lead to, and writes its own into the next file.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.cluster.engine import Cluster
from longwave.cluster.partition import Partition, by_block
from longwave.cluster.pieces import load
from longwave.graph.lists.exact import tiles
from longwave.graph.lists.rounds import GROUP, NOBODY, TREE_SHARE, reach_of
from longwave.graph.lists.trees import tree_order
from longwave.rows.encoded import plain
from longwave.types import Array

_TILE = 4096
#: Entries of lists: from, to (numbers of vertices), similarity.
Entries = tuple[Array, Array, Array]


def round_file(folder: Path, number: int, what: str) -> Path:
    """The "ids" or "similarities" of all vertices after a round. (n, width)"""
    return folder / f"round-{number}-{what}.npy"


def make_files(partition: Partition, number: int, width: int) -> None:
    """Files for the lists of a round, of the right size; blocks write their rows."""
    n = int(partition.starts[-1])
    for what, dtype in (("ids", np.int32), ("similarities", np.float32)):
        path = round_file(partition.folder, number, what)
        path.unlink(missing_ok=True)
        np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n, width)).flush()


def improve(
    cluster: Cluster,
    partition: Partition,
    width: int,
    good: Callable[[int], bool],
    *,
    done: int,
    seed: int,
    progress: Callable[[str, int, int], None],
) -> int | None:
    """Rounds after number `done` until one is good enough; its number, or None where exact lists would cost less.

    good: asked after every round; the files of the one before are removed only then.
    """
    n, blocks = int(partition.starts[-1]), range(partition.count)
    if done and good(done):
        return done
    for number in count(done + 1):
        reach = reach_of(number, width)
        if reach > n // 2:
            return None
        make_files(partition, number, width)
        asked = [cluster.submit(pointing, partition, number - 1, block, parts=len(blocks)) for block in blocks]
        made = [
            cluster.submit(improved, partition, number, block, reach, seed, *(own[block] for own in asked))
            for block in blocks
        ]
        del asked
        for block, handle in enumerate(made):
            cluster.gather([handle])
            progress(f"neighbours: round {number}", block + 1, len(blocks))
        _mirror(cluster, partition, number)
        enough = good(number)
        for what in ("ids", "similarities"):
            round_file(partition.folder, number - 1, what).unlink(missing_ok=True)
        if enough:
            return number
    return None


def _mirror(cluster: Cluster, partition: Partition, number: int) -> None:
    """Put whoever lists a vertex into its own list too, where they belong there: what is found once serves both."""
    blocks = range(partition.count)
    found = [cluster.submit(pointing, partition, number, block, parts=len(blocks)) for block in blocks]
    cluster.gather([cluster.submit(mirrored, partition, number, b, *(own[b] for own in found)) for b in blocks])


def write_round(partition: Partition, number: int, block: int, ids: Array, similarities: Array) -> None:
    """Write the lists of a block into the files of a round."""
    own = slice(int(partition.starts[block]), int(partition.starts[block + 1]))
    for what, rows in (("ids", ids), ("similarities", similarities)):
        file = np.lib.format.open_memmap(round_file(partition.folder, number, what), mode="r+")
        file[own] = rows
        file.flush()


def read_round(partition: Partition, number: int, block: int, what: str) -> Array:
    """The rows of a block in a round."""
    own = slice(int(partition.starts[block]), int(partition.starts[block + 1]))
    return np.array(np.load(round_file(partition.folder, number, what), mmap_mode="r")[own])


def pointing(partition: Partition, number: int, block: int) -> list[Entries]:
    """The entries of a block's lists by the block that they point to."""
    ids, similarities = (read_round(partition, number, block, what) for what in ("ids", "similarities"))
    rows = np.repeat(np.arange(len(ids), dtype=np.int32) + np.int32(partition.starts[block]), ids.shape[1])
    present = ids.ravel() >= 0
    entries = rows[present], ids.ravel()[present], similarities.ravel()[present]
    order, ends = by_block(partition.starts, entries[1])
    rows, columns, shared = (part[order] for part in entries)
    return [(rows[a:b], columns[a:b], shared[a:b]) for a, b in pairwise(ends)]


def mirrored(partition: Partition, number: int, block: int, *asked: Entries) -> None:
    """Put those who list a vertex of a block into its own list. asked: entries of all lists that point to it."""
    from longwave.rows import list_loops

    first = int(partition.starts[block])
    ids, similarities = (read_round(partition, number, block, what) for what in ("ids", "similarities"))
    starts, sources, shared = _by_target(asked, first, len(ids))
    list_loops.take_back(ids, similarities, starts, sources, shared, 0)
    write_round(partition, number, block, ids, similarities)


def improved(partition: Partition, number: int, block: int, reach: int, seed: int, *asked: Entries) -> None:
    """A round of one block. asked: entries of all lists that point to it."""
    from longwave.rows import list_loops

    n, first = int(partition.starts[-1]), int(partition.starts[block])
    own = load(partition.vectors(block))
    every = plain(np.load(round_file(partition.folder, number - 1, "ids"), mmap_mode="r"))
    old = read_round(partition, number - 1, block, "similarities")
    width = old.shape[1]
    own_starts, sources, _ = _by_target(asked, first, len(own))
    starts = np.zeros(n + 1, dtype=np.int64)  # of all vertices; those of other blocks are not looked up
    starts[first : first + len(own_starts)] = own_starts
    order = tree_order(own, leaf=GROUP, rng=np.random.default_rng((seed, number, block)))
    share = min(len(own), max(GROUP, int(reach * TREE_SHARE)))
    ids, values = np.full(old.shape, -1, dtype=np.int32), np.full(old.shape, -np.inf, dtype=np.float32)
    votes, found = np.zeros(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    read = _Reader(partition)
    for group in tiles(len(own), GROUP):
        inside = order[group]
        members = inside + first
        begin = max(0, min(len(own) - share, (group.start + group.stop - share) // 2))
        near = order[begin : begin + share] + first
        chosen = np.sort(list_loops.candidates(members, near, every, starts, sources, reach, votes, found))
        best = np.repeat(old[inside, -1:] - np.float32(1e-6), width, axis=1)  # products may be rounded otherwise
        who = np.full(best.shape, NOBODY, dtype=np.int32)
        for tile in tiles(len(chosen), _TILE):
            others = chosen[tile]
            list_loops.push_candidates(own[inside] @ read(others).T, others, members, best, who)
        list_loops.sort_lists(best, who)
        empty = who == NOBODY
        ids[inside], values[inside] = np.where(empty, -1, who), np.where(empty, -np.inf, best)
    write_round(partition, number, block, ids, values)


def _by_target(
    asked: tuple[Entries, ...], first: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Who lists each vertex of a block, and how similar they are: sources, shared[starts[j] : starts[j + 1]].

    first, count: of the block's vertices. (count + 1,), (entries,), (entries,)
    """
    sources, targets, shared = (np.concatenate(own) for own in zip(*asked, strict=True))
    order = np.argsort(targets, kind="stable")
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(targets - first, minlength=count), out=starts[1:])
    return starts, sources[order].astype(np.int32), shared[order]


class _Reader:
    """Vectors by their numbers, from the files of all blocks."""

    def __init__(self, partition: Partition) -> None:
        self._starts = partition.starts
        self._files = [np.load(partition.vectors(block), mmap_mode="r") for block in range(partition.count)]

    def __call__(self, numbers: NDArray[np.int32]) -> Array:
        """numbers: ascending. (t,) -> (t, d)"""
        ends = np.searchsorted(numbers, self._starts)
        touched = np.flatnonzero(np.diff(ends))
        return np.concatenate([self._files[b][numbers[ends[b] : ends[b + 1]] - self._starts[b]] for b in touched])
