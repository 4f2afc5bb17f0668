"""A few labels to labels of everything: y is what is known of a class, x = h(𝒲)y how far each item belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.search.composition import composition
from longwave.search.snapshot import Snapshot
from longwave.signals.carrying import adoption, filtered, is_stray, shares
from longwave.types import Array, Filter, Sparse

#: What classes may weigh against each other: all alike, or as often as they were named.
PRIORS = ("equal", "labels")


@dataclass(frozen=True, eq=False)
class Propagated:
    """What each item is. ids: (N,). classes: (C,), ascending.

    scores: (N, C), how far each item belongs to each class, from 0 to 1: shares that sum to 1 or, where items may have
    several labels, how much speaks for each class against what speaks for its absence. reached: (N,), whether a label
    reaches the item at all. several: whether items may have several labels.
    """

    ids: Array
    classes: Array
    scores: NDArray[np.float32]
    reached: NDArray[np.bool_]
    several: bool = False

    @property
    def labels(self) -> Array:
        """The class of each item; −1, or "" where classes are strings, where nothing reaches it. (N,)

        Where items may have several: (N, C) of bool, the classes that more speaks for than against.
        """
        if self.several:
            return np.asarray((self.scores > 0.5) & self.reached[:, None])
        best = self.classes[self.scores.argmax(axis=1)]
        nothing = "" if self.classes.dtype.kind == "U" else -1
        return np.where(self.reached, best, np.asarray(nothing, dtype=self.classes.dtype))

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The largest share of each item, 0 where nothing reaches it: from 1/C, undecided, to 1. (N,)

        Where items may have several labels: how far the least certain class is from undecided.
        """
        if self.several:
            return np.asarray(2 * np.abs(self.scores - 0.5).min(axis=1) * self.reached, dtype=np.float32)
        return np.asarray(self.scores.max(axis=1) * self.reached, dtype=np.float32)


def propagate(
    snapshot: Snapshot, labels: Mapping[Any, Any] | ArrayLike, *, filter: Filter, prior: str, tolerance: float | None
) -> Propagated:
    """Spread labels along the graph. Parameters as for `Index.propagate`."""
    if prior not in PRIORS:
        raise InputError(f"prior must be one of {', '.join(PRIORS)}, got {prior!r}")
    numbers, named, several = _read(snapshot, labels)
    classes = np.unique(np.concatenate([np.asarray(own) for own in named if len(own)]))
    rows = np.repeat(np.arange(len(named)), [len(own) for own in named])
    columns = np.searchsorted(classes, np.concatenate([np.asarray(own) for own in named if len(own)]))
    known = sp.csr_array((np.ones(len(rows)), (columns, rows)), shape=(len(classes), len(named)))  # (C, labelled)
    made_of = composition(snapshot, numbers)
    y = known @ made_of
    if several:
        y = sp.vstack([y, sp.csr_array(np.ones((len(classes), 1))) @ sp.csr_array(made_of.sum(axis=0)[None, :]) - y])
    carried, strays = shares(snapshot), _strays(snapshot)
    y, made_of = (sp.csr_array(own + own @ strays, dtype=np.float32) for own in (y, made_of))  # as edges would
    x = filtered(snapshot, y, filter, tolerance).T  # (n, C)
    x = np.maximum(carried @ (x + strays @ x), 0)  # (N, C)
    touched = _touched(snapshot, made_of)
    reached = np.asarray(carried @ (touched + strays @ touched)) > 0
    x[~reached] = 0
    mass = np.maximum(x.sum(axis=0), 1e-30)
    if several:
        count = len(classes)
        for_, against = x[:, :count], x[:, count:]
        found = for_ / np.maximum(for_ + against, 1e-30)
    else:
        weight = np.ones(len(classes)) if prior == "equal" else np.asarray(known.sum(axis=1)).ravel()
        x = x * (weight / mass)
        found = x / np.maximum(x.sum(axis=1, keepdims=True), 1e-30)
    ids = snapshot.items.ids[snapshot.items.live_numbers()]
    return Propagated(ids, classes, np.asarray(found, dtype=np.float32), reached, several)


def _strays(snapshot: Snapshot) -> Sparse:
    """Strays as means of their nearest vectors; looked up once. CSR (n, n)"""
    kept = snapshot.system.kept
    if "strays" not in kept:
        kept["strays"] = adoption(snapshot, is_stray(snapshot))
    found: Sparse = kept["strays"]
    return found


def _touched(snapshot: Snapshot, made_of: Sparse) -> NDArray[np.float32]:
    """1 for every vertex whose component has a label. (n,)"""
    labels = snapshot.graph.labels
    with_label = np.zeros(labels.max() + 1, dtype=np.float32)
    with_label[labels[np.unique(made_of.indices)]] = 1
    return with_label[labels]


def _read(snapshot: Snapshot, labels: Mapping[Any, Any] | ArrayLike) -> tuple[NDArray[np.int64], list[list[Any]], bool]:
    """Numbers of the labelled items, the labels of each, and whether there may be several."""
    items = snapshot.items
    if isinstance(labels, Mapping):
        if not labels:
            raise InputError("labels is empty; give the label of at least one item, {id: label}")
        several = any(isinstance(own, list | tuple | set | frozenset) for own in labels.values())
        named = [sorted(own) if isinstance(own, list | tuple | set | frozenset) else [own] for own in labels.values()]
        numbers = items.places(np.array(list(labels)))
    else:
        given = np.asarray(labels)
        if given.shape != (len(snapshot),):
            raise InputError(
                f"labels must be a dict {{id: label}}, or one label for each of {len(snapshot)} items with -1 (or an "
                f"empty string) where it is not known, got shape {given.shape}"
            )
        if given.dtype.kind not in "iuU":
            raise InputError(f"labels must be whole numbers or strings, got {given.dtype}")
        there = np.flatnonzero(given != "" if given.dtype.kind == "U" else given != -1)
        if not there.size:
            raise InputError("no item has a label; give at least one")
        numbers, named, several = items.live_numbers()[there], [[own] for own in given[there].tolist()], False
    kinds = {str if isinstance(name, str) else int for own in named for name in own}
    wrong = [name for own in named for name in own if not isinstance(name, str | int | np.integer)]
    if wrong or len(kinds) != 1:
        raise InputError(f"labels must be whole numbers or strings, all alike, got {(wrong or named[0])[0]!r}")
    return numbers, named, several
