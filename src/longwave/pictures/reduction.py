"""Fewer regions per picture: the means of a Gaussian mixture of them."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.rows.vectors import normalize
from longwave.types import Progress


def reduce_regions(
    vectors: NDArray[np.float32],
    item_of: NDArray[np.int64],
    *,
    count: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """At most `count` unit vectors for each item: means of a spherical Gaussian mixture of its regions.

    vectors: (n, d) unit, item_of: (n,). Items of up to `count` distinct regions pass as they are. 21 points are too
    few for more than one variance each. About 10 ms an item.
    """
    check_counts(count=count)
    parts, owners = [], []
    order = np.argsort(item_of, kind="stable")
    items, starts = np.unique(item_of[order], return_index=True)
    for done, (item, rows) in enumerate(zip(items, np.split(order, starts[1:]), strict=True), 1):
        own = vectors[rows]
        means = own if len(own) <= count else _means(own, count, seed)
        parts.append(means)
        owners.append(np.full(len(means), item))
        if progress is not None:
            progress("reducing regions", done, len(items))
    return np.concatenate(parts), np.concatenate(owners)


def _means(own: NDArray[np.float32], count: int, seed: int) -> NDArray[np.float32]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    distinct = np.unique(own, axis=0)
    if len(distinct) <= count:
        return distinct
    mixture = GaussianMixture(count, covariance_type="spherical", random_state=seed)
    with warnings.catch_warnings():
        # A mixture that still moves a little serves as well: its means are descriptors, not estimates.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return normalize(mixture.fit(distinct.astype(np.float64)).means_)
