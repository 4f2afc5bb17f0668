"""An order of vectors in which those next to each other are similar: the leaves of a random tree, from left to right.

Every node is cut in two halves, across the line between two means. So leaves are of equal size, any slice of the order
is a rough cluster, and another seed gives clusters with other borders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows from which the two means of a node are learned, and rounds: the clusters only have to be compact, not optimal.
_TRAINING_ROWS, _ROUNDS = 256, 3
# Rows from which principal directions are learned, and rounds of the power method.
_SAMPLE, _POWER_ROUNDS = 4096, 3


def tree_order(rows: NDArray[np.float32], *, leaf: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers, leaf by leaf; a leaf has at most `leaf` rows. (n, d) -> (n,). Time O(n d log n)."""
    order = np.arange(len(rows))
    nodes = [slice(0, len(rows))]
    while nodes:
        node = nodes.pop()
        size = node.stop - node.start
        if size <= leaf:
            continue
        inside = order[node]
        along = rows[inside] @ _direction(rows[inside[rng.integers(size, size=min(size, _TRAINING_ROWS))]])
        order[node] = inside[np.argpartition(along, size // 2)]
        middle = node.start + size // 2
        nodes += [slice(node.start, middle), slice(middle, node.stop)]
    return order


def _direction(training: NDArray[np.float32]) -> NDArray[np.float32]:
    """From one mean to the other, where each has half of the rows; the first two rows are where the means start."""
    direction: NDArray[np.float32] = training[1] - training[0]
    for _ in range(_ROUNDS):
        halves = np.argsort(training @ direction, kind="stable")
        middle = len(halves) // 2
        direction = training[halves[middle:]].mean(axis=0) - training[halves[:middle]].mean(axis=0)
    return direction


def principal_directions(vectors: NDArray[np.float32], *, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """The directions that keep most of inner products, the best first, by the power method. (n, d) -> (d, count)"""
    n, dimension = vectors.shape
    sample = vectors[np.sort(rng.choice(n, size=min(n, _SAMPLE), replace=False))]
    basis = rng.standard_normal((dimension, min(count, dimension)), dtype=np.float32)
    for _ in range(_POWER_ROUNDS):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    along = sample @ basis
    _, turned = np.linalg.eigh(along.T @ along)
    return np.ascontiguousarray(basis @ turned[:, ::-1])
