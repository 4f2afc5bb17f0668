"""R-MAC's regions (Tolias, Sicre & Jégou): squares at several scales over a feature map, one vector each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.rows.vectors import normalize

#: One vector for a piece of a map: (C, h, w) -> (C,).
Pool: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.float32]]

# Of the squares at the first scale, and how many more there are at most along the longer side: as published.
_OVERLAP, _MOST_EXTRA = 0.4, 6


def max_pool(piece: NDArray[np.float32]) -> NDArray[np.float32]:
    """MAC: the largest activation of every channel."""
    return np.asarray(piece.max(axis=(1, 2)))


def gem_pool(piece: NDArray[np.float32], *, power: float = 3.0) -> NDArray[np.float32]:
    """Generalised mean (Radenović et al.): (mean x^p)^{1/p}, p = 3; between the mean and the maximum."""
    raised = np.maximum(piece, 1e-6) ** power
    return np.asarray(raised.mean(axis=(1, 2)) ** (1 / power), dtype=np.float32)


def spoc_pool(piece: NDArray[np.float32]) -> NDArray[np.float32]:
    """SPoC (Babenko & Lempitsky), without the centre prior: the mean of every channel."""
    return np.asarray(piece.mean(axis=(1, 2)))


POOLS: dict[str, Pool] = {"max": max_pool, "gem": gem_pool, "spoc": spoc_pool}


def grid(height: int, width: int, *, scales: int = 3) -> NDArray[np.int64]:
    """Squares of R-MAC over a map, rows (top, left, bottom, right); the whole map is the first. (m, 4)

    At scale l a square has the side 2 min(height, width) / (l + 1); there are l of them along the shorter side and as
    many more along the longer as make those of the first scale overlap by about 40 %. A map of 4:3 has
    2 + 6 + 12 = 20 of them at three scales, a square one 1 + 4 + 9 = 14. Squares of no cell are left out.

    >>> len(grid(12, 16)), len(grid(16, 16))
    (21, 15)
    """
    short, long = min(height, width), max(height, width)
    extra = 0
    if long > short:
        steps = (long - short) / np.arange(1, _MOST_EXTRA + 1)  # between squares, with 1, 2, … extra ones
        extra = 1 + int(np.argmin(np.abs(1 - steps / short - _OVERLAP)))
    boxes = [(0, 0, height, width)]
    for scale in range(1, scales + 1):
        side = 2 * short // (scale + 1)
        if side < 1:
            break
        tops = _places(height, side, scale + (extra if height > width else 0))
        lefts = _places(width, side, scale + (extra if width > height else 0))
        boxes += [(top, left, top + side, left + side) for top in tops for left in lefts]
    return np.array(boxes)


def pooled_regions(feature_map: NDArray[np.float32], *, pool: str = "max", scales: int = 3) -> NDArray[np.float32]:
    """A unit vector for every region of a map, the whole first. (C, H, W) -> (m, C); scales 0 gives the whole alone."""
    check_pool(pool)
    boxes = grid(*feature_map.shape[1:], scales=scales)
    return normalize(np.stack([POOLS[pool](feature_map[:, a:c, b:d]) for a, b, c, d in boxes]))


def check_pool(pool: str) -> None:
    """Raise unless the pooling has this name."""
    if pool not in POOLS:
        raise InputError(f"pool must be one of {', '.join(POOLS)}, got '{pool}'")


def _places(length: int, side: int, count: int) -> list[int]:
    """Where `count` squares of a side begin, spread evenly over a length."""
    step = 0.0 if count == 1 else (length - side) / (count - 1)
    # Centres are rounded down, as published, not the beginnings.
    half = side // 2 - 1
    return [int(np.floor(half + i * step)) - half for i in range(count)]
