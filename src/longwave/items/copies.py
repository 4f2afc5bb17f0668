"""Copies: vectors that are the same to the last bit are stored once, and are one vertex of the graph.

Fifty copies of a vector would fill each other's neighbour lists and fall out of the graph together.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.rows.vectors import row_blocks
from longwave.types import Neighbors, Sparse


def find_copies(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The first of every set of equal rows, and the place in that list of each row; None where all rows differ.

    vectors: (n, d) -> firsts (m,) ascending, row_of (n,). Time O(n d).
    """
    sums = _fingerprints(vectors)
    _, firsts, number, counts = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    if len(firsts) == len(vectors):
        return None
    same = firsts[number]  # of each row: the first row with its fingerprint
    suspects = np.flatnonzero((counts > 1)[number] & (same != np.arange(len(vectors))))
    for block in row_blocks(len(suspects), vectors.shape[1]):
        rows = suspects[block]
        other = (vectors[rows] != vectors[same[rows]]).any(axis=1)  # a collision of fingerprints: not a copy
        same[rows[other]] = rows[other]
    firsts, row_of = np.unique(same, return_inverse=True)
    return None if len(firsts) == len(vectors) else (firsts, row_of)


def _fingerprints(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """A number for each row that depends on all of its bits. (n, d) -> (n,)"""
    factors = np.random.default_rng(0).integers(1, 2**63, size=vectors.shape[1], dtype=np.uint64) | np.uint64(1)
    sums = np.empty(len(vectors), dtype=np.uint64)
    for block in row_blocks(*vectors.shape):
        bits = (vectors[block] + np.float32(0)).view(np.uint32).astype(np.uint64)  # -0 becomes 0
        sums[block] = (bits * factors).sum(axis=1, dtype=np.uint64)
    return sums


def lists_of_firsts(lists: Neighbors, firsts: NDArray[np.int64], row_of: NDArray[np.int64], *, k: int) -> Neighbors:
    """Lists over all rows to lists over the rows that are stored: those of copies are joined.

    lists: (n, c), −1 where empty -> (m, k), numbered by stored rows; nothing is its own neighbour.
    """
    owner = np.repeat(row_of, lists.ids.shape[1])
    near, similar = lists.ids.ravel(), lists.similarities.ravel()
    kept = near >= 0
    owner, near, similar = owner[kept], row_of[near[kept]], similar[kept]
    kept = owner != near
    owner, near, similar = owner[kept], near[kept], similar[kept]
    order = np.lexsort((-similar, near, owner))
    owner, near, similar = owner[order], near[order], similar[order]
    fresh = np.ones(len(owner), dtype=bool)  # each pair once, by its largest product
    fresh[1:] = (owner[1:] != owner[:-1]) | (near[1:] != near[:-1])
    owner, near, similar = owner[fresh], near[fresh], similar[fresh]
    order = np.lexsort((near, -similar, owner))
    owner, near, similar = owner[order], near[order], similar[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    kept = place < k
    ids = np.full((len(firsts), k), -1, dtype=np.int64)
    products = np.full((len(firsts), k), -np.inf, dtype=np.float32)
    ids[owner[kept], place[kept]] = near[kept]
    products[owner[kept], place[kept]] = similar[kept]
    return Neighbors(ids, products)


def columns_of_firsts(pooling: Sparse, row_of: NDArray[np.int64]) -> Sparse:
    """Σ from all rows to Σ from the rows that are stored. CSR (N, n) -> (N, m)"""
    moved = sp.csr_array(
        (pooling.data, row_of[pooling.indices], pooling.indptr), shape=(pooling.shape[0], int(row_of.max()) + 1)
    )
    moved.sum_duplicates()
    return moved
