"""The mutual neighbour graph (§2.3, §2.1) in blocks of rows, and its components.

As `graph.mutual` has it, entry by entry: every block weighs its own lists, hands each entry to the block that it points
to, and keeps what both sides have. This process holds a few numbers for each vertex: degree, scale, reach, component.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.cluster.engine import Cluster, Handle
from longwave.cluster.lists import Lists
from longwave.cluster.partition import by_block
from longwave.cluster.pieces import load, save
from longwave.cluster.sparse import Blocks, spread
from longwave.graph import weights as kernels
from longwave.graph.mutual import SMALLEST
from longwave.graph.weights import Kernel
from longwave.types import Array, Sparse


@dataclass(frozen=True, eq=False)
class SpreadGraph:
    """The graph as files in a folder, and what is known of every vertex: as `graph.mutual.Graph` has it.

    starts: (blocks + 1,) the first vertex of each block. nonzeros: (blocks,) entries of its rows.
    """

    folder: Path
    starts: NDArray[np.int64]
    nonzeros: NDArray[np.int64]
    degrees: NDArray[np.float64]
    labels: NDArray[np.int64]
    reach: NDArray[np.float32]
    scales: NDArray[np.float32] | None

    @property
    def n_vertices(self) -> int:
        """How many vertices there are."""
        return int(self.starts[-1])

    @property
    def component_sizes(self) -> NDArray[np.int64]:
        """Vertices per component, largest first."""
        return np.bincount(self.labels)

    def file(self, block: int, what: str) -> str:
        """The file of a block's "data", "indices" (numbers of vertices) or "indptr"."""
        return str(self.folder / f"graph-{block}-{what}.npy")

    def blocks_of(self, cluster: Cluster, chosen: NDArray[np.bool_]) -> Blocks:
        """The rows and columns of some whole components, spread. chosen: (n,)"""
        numbers = np.cumsum(chosen) - 1
        inside = np.add.reduceat(chosen.astype(np.int64), self.starts[:-1])
        shared = cluster.put(np.where(chosen, numbers, -1).astype(np.int32 if numbers[-1] < 2**31 - 1 else np.int64))
        touched = np.flatnonzero(inside)
        rows = [self.rows_of(cluster, int(block), shared) for block in touched]
        return spread(cluster, rows, np.concatenate([[0], np.cumsum(inside[touched])]))

    def rows_of(self, cluster: Cluster, block: int, numbers: Handle) -> Handle:
        """The chosen rows of a block. numbers: (n,) new numbers, −1 for what is left out. CSR (rows, new n)"""
        return cluster.submit(
            restricted, self.folder, block, int(self.starts[block]), int(self.starts[block + 1]), numbers
        )

    def pack(self) -> dict[str, Array]:
        """Its arrays, for a checkpoint."""
        own = {"starts": self.starts, "nonzeros": self.nonzeros, "degrees": self.degrees, "labels": self.labels}
        scales = {} if self.scales is None else {"scales": self.scales}
        return {**own, "reach": self.reach, **scales}

    @classmethod
    def unpack(cls, folder: Path, arrays: dict[str, Array]) -> SpreadGraph:
        """The one that `pack` took apart."""
        starts, nonzeros, degrees = (arrays[name] for name in ("starts", "nonzeros", "degrees"))
        return cls(folder, starts, nonzeros, degrees, arrays["labels"], arrays["reach"], arrays.get("scales"))


def build_graph(
    cluster: Cluster, lists: Lists, kernel: Kernel, *, progress: Callable[[str, int, int], None]
) -> SpreadGraph:
    """Weights, edges that both sides have, degrees, 𝒲, components."""
    partition = lists.partition
    starts, folder, count = partition.starts, partition.folder, partition.count
    neighbor = kernels.scale_neighbor(kernel)
    facts = [cluster.submit(scales_and_reach, lists.file(block, "similarities"), neighbor) for block in range(count)]
    scales, reach = (np.concatenate(own) for own in zip(*cluster.gather(facts), strict=True))
    shared = cluster.put(None if neighbor is None else scales)
    entries = [cluster.submit(directed, lists, block, kernel, shared, parts=count) for block in range(count)]
    made = [
        cluster.submit(mutual_rows, starts, b, *entries[b], *(own[b] for own in entries), parts=2) for b in range(count)
    ]
    del entries
    degrees = []
    for done, (_, own) in enumerate(made):
        degrees += cluster.gather([own])
        progress("graph", done + 1, 2 * count)
    shared = cluster.put(np.concatenate(degrees))
    written = [cluster.submit(normalized, folder, b, starts, rows, shared) for b, (rows, _) in enumerate(made)]
    del made
    nonzeros, labels, pairs, total = [], [], [], 0
    for done, handle in enumerate(written):
        ((entries_of, own, links),) = cluster.gather([handle])
        nonzeros.append(entries_of)
        labels.append(own + total)
        pairs.append(np.stack([links[0] + total, links[1]]))
        total += int(own.max(initial=-1)) + 1
        progress("graph", count + done + 1, 2 * count)
    joined = joined_labels(np.concatenate(labels), np.concatenate(pairs, axis=1), total)
    known = np.concatenate(degrees), joined, reach, None if neighbor is None else scales
    return SpreadGraph(folder, starts, np.array(nonzeros, dtype=np.int64), *known)


def scales_and_reach(path: str, neighbor: int | None) -> tuple[Array, Array]:
    """σ of every vertex, and its similarity to the last in its list; a list that is not full has any in reach."""
    similarities = load(path)
    scales = np.zeros(0, np.float32) if neighbor is None else kernels.scales(similarities, neighbor)
    last = similarities[:, -1]
    return scales, np.where(np.isfinite(last), last, -1.0).astype(np.float32)


def directed(lists: Lists, block: int, kernel: Kernel, scales: Array | None) -> list[tuple[Array, Array, Array]]:
    """The entries of a block's lists for every block that they point to: from, to, weight."""
    starts = lists.partition.starts
    ids, similarities = load(lists.file(block, "ids")), load(lists.file(block, "similarities"))
    present = ids.ravel() >= 0
    rows = (np.repeat(np.arange(len(ids)), ids.shape[1]) + starts[block])[present]
    columns = ids.ravel()[present]
    one, other = (None, None) if scales is None else (scales[rows], scales[columns])
    weights = kernels.weights(kernel, similarities.ravel()[present], one, other).astype(np.float32)
    weights[weights < SMALLEST] = 0
    order, ends = by_block(starts, columns)
    small = ids.dtype
    parts = [order[a:b] for a, b in pairwise(ends)]
    return [(rows[own].astype(small), columns[own], weights[own]) for own in parts]


def mutual_rows(starts: NDArray[np.int64], block: int, *entries: tuple[Array, Array, Array]) -> list[Any]:
    """w_ij = min(s(i | j), s(j | i)) of a block's rows, and their sums D. CSR (m, n), (m,)

    entries: those of its own lists by block, then those of all blocks that point here.
    """
    first, shape = starts[block], (int(starts[block + 1] - starts[block]), int(starts[-1]))
    count = len(starts) - 1
    rows, columns, weights = (np.concatenate(own) for own in zip(*entries[:count], strict=True))
    here = sp.csr_array((weights, (rows - first, columns)), shape=shape)
    columns, rows, weights = (np.concatenate(own) for own in zip(*entries[count:], strict=True))
    there = sp.csr_array((weights, (rows - first, columns)), shape=shape)
    both = sp.csr_array(here.minimum(there))
    both.eliminate_zeros()
    both.sort_indices()
    return [both, np.asarray(both.sum(axis=1, dtype=np.float64)).ravel()]


def normalized(
    folder: Path, block: int, starts: NDArray[np.int64], rows: Sparse, degrees: Array
) -> tuple[int, Array, Array]:
    """Write 𝒲 = D^{-1/2} W D^{-1/2} of a block; its entries, and what is known of components (`local_components`)."""
    scale = np.zeros_like(degrees)
    np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
    own = np.repeat(np.arange(starts[block], starts[block + 1]), np.diff(rows.indptr))
    data = (rows.data * (scale[own] * scale[rows.indices])).astype(np.float32)
    small = np.int32 if starts[-1] < np.iinfo(np.int32).max else np.int64
    for what, array in (("data", data), ("indices", rows.indices.astype(small)), ("indptr", rows.indptr)):
        save(str(folder / f"graph-{block}-{what}.npy"), array)
    return rows.nnz, *local_components(rows, starts[block], starts[block + 1])


def local_components(rows: Sparse, first: int, last: int) -> tuple[Array, Array]:
    """Components of a block by itself, (m,), and its links to other blocks: component, vertex there. (2, links)"""
    from scipy.sparse.csgraph import connected_components

    of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    inside = (rows.indices >= first) & (rows.indices < last)
    square = sp.csr_array(
        (np.ones(inside.sum(), dtype=np.int8), (of[inside], rows.indices[inside] - first)), (rows.shape[0],) * 2
    )
    _, labels = connected_components(square, directed=False)
    pairs = np.stack([labels[of[~inside]].astype(np.int64), rows.indices[~inside].astype(np.int64)])
    return labels.astype(np.int64), np.unique(pairs, axis=1)


def joined_labels(local: NDArray[np.int64], links: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Components of the whole graph, numbered by size, from those of the blocks and their links. (n,)"""
    from scipy.sparse.csgraph import connected_components

    pairs = links[0], local[links[1]]
    graph = sp.csr_array((np.ones(links.shape[1], dtype=np.int8), pairs), shape=(total, total))
    _, of = connected_components(graph, directed=False)
    labels = of[local]
    order = np.argsort(-np.bincount(labels), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return np.asarray(rank[labels], dtype=np.int64)


def restricted(folder: Path, block: int, first: int, last: int, numbers: Array) -> Sparse:
    """The chosen rows of a block, columns by their new numbers. numbers: (n,), −1 for what is left out."""
    data, indices, indptr = (load(str(folder / f"graph-{block}-{what}.npy")) for what in ("data", "indices", "indptr"))
    rows = sp.csr_array((data, indices, indptr), shape=(last - first, len(numbers)))
    rows = sp.csr_array(rows[np.flatnonzero(numbers[first:last] >= 0)])
    return sp.csr_array((rows.data, numbers[rows.indices], rows.indptr), shape=(rows.shape[0], int(numbers.max()) + 1))
