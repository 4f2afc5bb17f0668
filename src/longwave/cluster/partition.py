"""The collection in blocks of similar vectors: a vertex has its neighbours in its own block, or in few others.

A sample is cut into cells by a random tree. Every vector belongs to the cell whose mean is nearest. Cells next to each
other in the tree make a block. Vertices are numbered through, block after block and cell after cell. So copies of a
vector meet in one block and become one vertex, a block needs little of the others in a product, and the nearest
neighbours of a vector lie in few cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.cluster.engine import Cluster
from longwave.cluster.pieces import load, save
from longwave.cluster.source import Piece, Source
from longwave.graph.lists.trees import tree_order
from longwave.items.copies import find_copies
from longwave.types import Array

# Vectors of a cell, and the most cells there are: all means are held by every worker.
_CELL, _MOST_CELLS = 1000, 8192
# Rows of the sample for each cell.
_SAMPLED = 24
_TILE = 4096


@dataclass(frozen=True, eq=False)
class Partition:
    """Blocks in a folder. starts: (blocks + 1,) the first vertex of each. cells: (blocks + 1,) its first cell.

    cell_starts: (cells + 1,) the first vertex of each cell. dimension: of the vectors.
    """

    folder: Path
    starts: NDArray[np.int64]
    cells: NDArray[np.int64]
    cell_starts: NDArray[np.int64]
    dimension: int

    @property
    def count(self) -> int:
        """Blocks."""
        return len(self.starts) - 1

    def vectors(self, block: int) -> str:
        """The file of a block's unit vectors, (m, d)."""
        return str(self.folder / f"vectors-{block}.npy")

    @property
    def means(self) -> str:
        """The file of the means of all cells, (cells, d)."""
        return str(self.folder / "means.npy")

    def rows(self, block: int) -> str:
        """The file that says which vectors a block was given: their number, and the vertex of each. (2, given)"""
        return str(self.folder / f"rows-{block}.npy")

    def pack(self) -> dict[str, Array]:
        """Its arrays, for a checkpoint."""
        own = {"starts": self.starts, "cells": self.cells, "cell_starts": self.cell_starts}
        return {**own, "dimension": np.array([self.dimension])}

    @classmethod
    def unpack(cls, folder: Path, arrays: dict[str, Array]) -> Partition:
        """The one that `pack` took apart."""
        own = arrays["starts"], arrays["cells"], arrays["cell_starts"]
        return cls(folder, *own, int(arrays["dimension"][0]))


def partition(
    cluster: Cluster,
    source: Source,
    folder: Path,
    *,
    blocks: int,
    merge_copies: bool,
    seed: int,
    progress: Callable[[str, int, int], None],
) -> Partition:
    """Cut the collection, and write every block to the folder. Every vector is read three times, and moved once."""
    n, dimension = source.shape
    wanted = max(1, min(_MOST_CELLS, max(n // _CELL, 4 * blocks), n))
    share = min(1.0, _SAMPLED * wanted / n)
    drawn = [cluster.submit(sampled, piece, share, (seed, i)) for i, piece in enumerate(source.pieces)]
    found = cell_means(np.concatenate(cluster.gather(drawn)), wanted, seed)
    means, counts = cluster.put(found), np.zeros(len(found), dtype=np.int64)
    for done, handle in enumerate([cluster.submit(counted, piece, means) for piece in source.pieces]):
        counts += cluster.gather([handle])[0]
        progress("cells", done + 1, len(source.pieces))
    cells = cut(counts, blocks)
    count = len(cells) - 1
    parts = [cluster.submit(scattered, piece, means, cells, parts=count) for piece in source.pieces]
    empty = np.zeros(0, dtype=np.int64)
    made = Partition(folder, empty, cells, empty, dimension)
    save(made.means, found)
    sizes = []
    for block in range(count):
        own = cells[block : block + 2].tolist()
        paths = made.vectors(block), made.rows(block)
        sizes.append(cluster.submit(collected, *paths, *own, merge_copies, *(part[block] for part in parts)))
    del parts
    in_cells = []
    for block, handle in enumerate(sizes):
        in_cells += cluster.gather([handle])
        progress("blocks", block + 1, count)
    cell_starts = np.concatenate([[0], np.cumsum(np.concatenate(in_cells))])
    return Partition(folder, cell_starts[cells], cells, cell_starts, dimension)


def cut(counts: NDArray[np.int64], blocks: int) -> NDArray[np.int64]:
    """Cells to blocks of about equal size: the first cell of each, and the end. counts: (cells,); no block is empty."""
    ends = np.cumsum(counts)
    cells = np.searchsorted(ends, np.arange(1, blocks) * ends[-1] / blocks) + 1
    return np.unique([0, *cells[ends[cells - 1] < ends[-1]], len(counts)]).astype(np.int64)


def cell_means(sample: NDArray[np.float32], count: int, seed: int) -> NDArray[np.float32]:
    """The means of the leaves of a tree, in its order, of unit length. (s, d) -> (about count, d)"""
    leaf = max(1, -(-len(sample) // count))
    order = tree_order(sample, leaf=leaf, rng=np.random.default_rng(seed))
    means = np.stack([sample[order[a:b]].mean(axis=0) for a, b in leaves(len(sample), leaf)])
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.where(norms > 0, norms, 1), dtype=np.float32)


def leaves(n: int, leaf: int) -> list[tuple[int, int]]:
    """Where the leaves of `tree_order` begin and end."""
    nodes, found = [(0, n)], []
    while nodes:
        start, stop = nodes.pop()
        middle = start + (stop - start) // 2
        if stop - start <= leaf:
            found.append((start, stop))
        else:
            nodes += [(middle, stop), (start, middle)]
    return found


def sampled(piece: Piece, share: float, seed: tuple[int, int]) -> NDArray[np.float32]:
    """Some rows of a piece, unit length."""
    rows = piece.unit()
    count = max(1, round(share * len(rows)))
    return rows[np.sort(np.random.default_rng(seed).choice(len(rows), size=min(count, len(rows)), replace=False))]


def counted(piece: Piece, means: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many rows each cell gets. (cells,)"""
    return np.bincount(cells_of(piece.unit(), means), minlength=len(means))


def cells_of(rows: NDArray[np.float32], means: NDArray[np.float32]) -> NDArray[np.int64]:
    """The cell of every row: the one whose mean is nearest. (m,)"""
    parts = [(rows[a : a + _TILE] @ means.T).argmax(axis=1) for a in range(0, len(rows), _TILE)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def scattered(piece: Piece, means: NDArray[np.float32], cells: NDArray[np.int64]) -> list[tuple[Array, Array, Array]]:
    """The rows of a piece for every block: unit vectors, their numbers in the collection, their cells."""
    rows = piece.unit()
    own = cells_of(rows, means)
    block = np.searchsorted(cells, own, side="right") - 1
    chosen = [np.flatnonzero(block == number) for number in range(len(cells) - 1)]
    return [(rows[which], which + piece.first, own[which]) for which in chosen]


def collected(
    vectors: str, rows: str, first: int, last: int, merge_copies: bool, *parts: tuple[Array, Array, Array]
) -> NDArray[np.int64]:
    """Write a block, cell by cell; the vertices of each of its cells. first, last: of its cells."""
    unit, numbers, cells = (np.concatenate(own) for own in zip(*parts, strict=True))
    order = np.lexsort((numbers, cells))
    unit, numbers, cells = unit[order], numbers[order], cells[order]
    same = find_copies(unit) if merge_copies and len(unit) else None
    firsts, vertex = (np.arange(len(unit)),) * 2 if same is None else same
    save(vectors, unit[firsts])
    save(rows, np.stack([numbers, vertex]))
    return np.bincount(cells[firsts] - first, minlength=last - first)


def read_vectors_of(path: str, rows: NDArray[np.int64]) -> Array:
    """Some rows of a block."""
    return load(path)[rows]


def by_block(starts: NDArray[np.int64], vertices: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of vertices, block after block, and where each block begins in it, and the end. (t,), (blocks + 1,)"""
    block = np.searchsorted(starts, vertices, side="right") - 1
    order = np.argsort(block, kind="stable")
    return order, np.searchsorted(block[order], np.arange(len(starts)))
