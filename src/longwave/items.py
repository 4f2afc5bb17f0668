"""Items: what is searched. A vector is an item of its own, or one of several regions of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError, plural
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Items:
    """ids: (N,) of ints or strings, distinct. item_of: (m,) item number of each vector; None where it is its own."""

    ids: Array
    item_of: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def make(cls, n_vectors: int, *, groups: ArrayLike | None, ids: ArrayLike | None) -> Items:
        """From what a user gives: a group label per vector, an id per item; with both, labels are places in ids."""
        if groups is None:
            labels, item_of = np.arange(n_vectors), None
        else:
            given = _labels(groups, "groups")
            if len(given) != n_vectors:
                raise InputError(f"groups must have one entry per vector, {n_vectors}, got {len(given)}")
            labels, item_of = np.unique(given, return_inverse=True)
        if ids is None:
            return cls(labels, item_of)
        if groups is not None and (labels.dtype.kind != "i" or labels[0] != 0 or labels[-1] != len(labels) - 1):
            raise InputError(
                f"with ids, groups must be item numbers 0 … {len(labels) - 1}, places in ids; "
                "or leave ids out: the group labels are then the ids"
            )
        names = _labels(ids, "ids")
        if len(names) != len(labels):
            what = "vector" if groups is None else "distinct group"
            raise InputError(f"ids must have one entry per {what}, {len(labels)}, got {len(names)}")
        return cls(_distinct(names), item_of)

    def places(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The item number of each id; an unknown one is an error. (m,)"""
        given = np.atleast_1d(np.asarray(ids))
        if not given.size:
            raise InputError("ids is empty; give at least one id of the index")
        wanted = _labels(given, "ids")
        if (wanted.dtype.kind == "U") != (self.ids.dtype.kind == "U"):
            kinds = {"U": "strings", "i": "whole numbers"}
            raise InputError(f"ids of this index are {kinds[self.ids.dtype.kind]}, got {wanted[0].item()!r}")
        order = self._order
        found = order[np.minimum(np.searchsorted(self.ids, wanted, sorter=order), len(order) - 1)]
        unknown = np.flatnonzero(self.ids[found] != wanted)
        if unknown.size:
            raise InputError(
                f"there is no item with id {wanted[unknown[0]].item()!r} ({unknown.size} of {len(wanted)} ids are "
                "unknown); index.ids lists them all"
            )
        return found

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.ids, kind="stable")

    def rows_of(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The vectors of some items, and which of the items each belongs to: 0 … len(places) − 1. (m,), (m,)"""
        if self.item_of is None:
            return places, np.arange(len(places))
        rows = [np.flatnonzero(self.item_of == place) for place in places]
        return np.concatenate(rows), np.repeat(np.arange(len(places)), [len(part) for part in rows])

    def allowed(self, where: ArrayLike, *, k: int) -> NDArray[np.int64]:
        """The items that a mask (N,) or a list of ids leaves, ascending; fewer than k is an error."""
        given = np.asarray(where)
        if given.dtype == bool:
            if given.shape != (len(self),):
                raise InputError(f"a mask for where must have one entry per item, {len(self)}, got shape {given.shape}")
            left = np.flatnonzero(given)
        else:
            left = np.unique(self.places(given)) if given.size else np.zeros(0, dtype=np.int64)
        if len(left) < k:
            raise InputError(
                f"where leaves {plural(len(left), 'item')} but k is {k}; lower k to at most {len(left)}, or widen where"
            )
        return left

    def extend(self, others: Items, *, default: bool) -> Items:
        """These items, then the others. default: the others have no ids of their own; numbers go on after the last."""
        fresh = others.ids
        if default:
            if self.ids.dtype.kind not in "iu":
                raise InputError("this index has ids of its own; give ids for the new items too")
            fresh = fresh + int(self.ids.max()) + 1
        elif fresh.dtype.kind != self.ids.dtype.kind:
            raise InputError(f"ids must be of the kind the index has, {self.ids.dtype}, got {fresh.dtype}")
        ids = _distinct(np.concatenate([self.ids, fresh]))
        if self.item_of is None and others.item_of is None:
            return Items(ids, None)
        first = np.arange(len(self.ids)) if self.item_of is None else self.item_of
        second = np.arange(len(others.ids)) if others.item_of is None else others.item_of
        return Items(ids, np.concatenate([first, second + len(self.ids)]))


def _labels(labels: ArrayLike, name: str) -> Array:
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise InputError(f"{name} must be a flat list of ints or of strings: {error}") from error
    if array.dtype.kind == "O" and all(isinstance(label, str) for label in array.ravel()):
        array = array.astype(str)  # a pandas column
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise InputError(f"{name} must be a flat list of ints or of strings, got shape {array.shape}, {array.dtype}")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{name} must fit in 64-bit integers, got {array.max()}; give them as strings")
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def _distinct(ids: Array) -> Array:
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(
            f"ids must be distinct, but {values[counts > 1][0].item()!r} occurs {counts[counts > 1][0]} times"
        )
    return ids
