"""A toy set that can be checked by hand, for examples and doctests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def arcs() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two arcs on the sphere, six vectors each, and a query at the start of the first. (12, 3), (1, 3)

    Vectors 0 … 5 run along the equator in steps of 15°; vectors 6 … 11 run in parallel, 31° to the north. The query
    lies 6° before vector 0, so the start of the second arc is nearer to it than vectors 2 … 5 of the first: only along
    the arc do these come before it.
    """
    longitude = np.radians(np.arange(6) * 15.0)

    def arc(latitude: float) -> NDArray[np.float64]:
        flat = np.cos(latitude)
        height = np.full(6, np.sin(latitude))
        return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), height], axis=1)

    vectors = np.vstack([arc(0.0), arc(np.radians(31.0))]).astype(np.float32)
    query = np.array([[np.cos(np.radians(-6.0)), np.sin(np.radians(-6.0)), 0.0]], dtype=np.float32)
    return vectors, query
