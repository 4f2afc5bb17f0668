"""Kernels: how much two neighbours weigh, as values like the filters.

A kernel is a symmetric function of the dot product of two unit vectors and, if it wants them, of the scales of both:
kernel(products, one, other) -> weights, element by element. The scale of a vector is its distance to one of its
neighbours; `kernel.neighbor` says which, None for a kernel without scales. Any callable with that signature is a
kernel; without the attribute it is given the scales of the 7th neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave import registry
from longwave.errors import InputError
from longwave.registry import register
from longwave.types import Array

#: Weights of pairs from their products and the scales of both sides; arrays that broadcast.
Kernel: TypeAlias = Callable[[Array, Any, Any], Array]

#: Whose distance is the scale where a kernel does not say.
NEIGHBOR = 7
# Squared distances below this are rounding of float32 products: scales are not smaller, so copies weigh 1.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Power:
    """s(v, z) = [vᵀz]₊^γ, the paper's kernel (§2.3).

    The right γ depends on the collection: pixels, whose products lie between 0.9 and 1, need tens; trained
    descriptors about 3. Choose it for the paper's letter, and for regions of pictures.

    >>> Power(3)(np.array([0.5, -0.2]), None, None)
    array([0.125, 0.   ])
    """

    gamma: float = 3.0

    neighbor = None

    def __post_init__(self) -> None:
        _check_positive("gamma", self.gamma)

    def __call__(self, products: Array, one: Any, other: Any) -> Array:
        return np.asarray(np.maximum(products, 0) ** self.gamma)


@dataclass(frozen=True)
class Local:
    """w = exp(−steepness (d² / σσ')^(exponent / 2)), d² = 2 − 2vᵀz, σ the distance to the `neighbor`-th neighbour.

    Distances count in units of the local spacing, so that dense and sparse regions of a collection, and pixels, sounds
    and trained descriptors, all get a graph of the same sharpness; nothing is left to tune. The default everywhere.
    Scaling after Zelnik-Manor & Perona (2004), who have steepness 1 and exponent 2. query_steepness: that of a query's
    own neighbours, which are weighed more gently, since a query need not lie where the collection does.

    >>> Local()(np.array([1.0, 0.5]), 1.0, 1.0).round(3)
    array([1.   , 0.007])
    """

    neighbor: int = NEIGHBOR
    steepness: float = 5.0
    exponent: float = 4.0
    query_steepness: float = 3.0

    def __post_init__(self) -> None:
        if self.neighbor < 1 or int(self.neighbor) != self.neighbor:
            raise InputError(f"neighbor must be a whole number of at least 1, got {self.neighbor}")
        object.__setattr__(self, "neighbor", int(self.neighbor))
        for name in ("steepness", "exponent", "query_steepness"):
            _check_positive(name, getattr(self, name))

    def __call__(self, products: Array, one: Any, other: Any) -> Array:
        return np.exp(-self.steepness * self._falls(products, one, other))

    def relative(self, products: Array, one: Any, other: Any) -> Array:
        """Weights of a query's neighbours, the largest made 1: far from everything, the weights are all 0. (q, k)"""
        falls = self.query_steepness * self._falls(products, one, other)
        return np.asarray(np.exp(falls.min(axis=-1, keepdims=True) - falls))

    def _falls(self, products: Array, one: Any, other: Any) -> Array:
        ratio = squared_distances(products) / (np.asarray(one, dtype=np.float64) * other)
        return np.asarray(ratio ** (self.exponent / 2))


def squared_distances(products: Array) -> Array:
    """d² = 2 − 2vᵀz of unit vectors, never below 0."""
    return np.maximum(2 - 2 * np.asarray(products, dtype=np.float64), 0)


def scales(similarities: NDArray[np.float32], neighbor: int) -> NDArray[np.float32]:
    """σ of every row: the distance to its `neighbor`-th neighbour, the last one where there are fewer. (n, k) -> (n,)

    similarities: best first, −inf where there is none.
    """
    known = np.isfinite(similarities[:, :neighbor])
    last = np.maximum(known.sum(axis=1) - 1, 0)
    nearest = np.where(known.any(axis=1), similarities[np.arange(len(last)), last], 0.0)
    return np.sqrt(np.maximum(squared_distances(nearest), _ROUNDING)).astype(np.float32)


def scale_neighbor(kernel: Kernel) -> int | None:
    """The neighbour whose distance is the scale; None for a kernel without scales."""
    return getattr(kernel, "neighbor", NEIGHBOR)


def relative_weights(kernel: Kernel, products: Array, one: Any, other: Any) -> Array:
    """Weights of the rows of a table, up to a factor for each row where the kernel knows better (`Local.relative`)."""
    return np.asarray(getattr(kernel, "relative", kernel)(products, one, other))


def weights(kernel: Kernel, products: Array, one: Any, other: Any) -> Array:
    """What the kernel gives, checked: one of the user's may return anything."""
    found = np.asarray(kernel(products, one, other))
    if found.shape != np.shape(products) or not np.isfinite(found).all() or (found < 0).any():
        raise InputError(
            f"the kernel {kernel!r} must return finite weights of at least 0, one for each of the products: "
            f"got shape {found.shape} for {np.shape(products)}"
        )
    return found


def text_of(kernel: Kernel) -> str:
    """A kernel as text, read again by `parse`; ``own:NAME`` for a function that is not registered.

    >>> text_of(Local())
    'local:7,5,4,3'
    """
    text = registry.text_of("kernel", kernel)
    return f"own:{getattr(kernel, '__name__', type(kernel).__name__)}" if text is None else text


def parse(text: str) -> Kernel:
    """Read a kernel from text, as the command line gives it.

    >>> parse("power:3")
    Power(gamma=3.0)
    """
    found: Kernel = registry.parse("kernel", text)
    return found


def _check_positive(name: str, value: object) -> None:
    if not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise InputError(f"{name} must be a number above 0 and finite, got {value!r}")


#: Where the graph of the usual one has more long waves than a basis can hold (`spectrum.Advised.serves`).
GENTLE = Local(steepness=2.0, exponent=2.0, query_steepness=2.0)

register("kernel", "power", Power)
register("kernel", "local", Local)
