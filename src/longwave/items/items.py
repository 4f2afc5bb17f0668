"""Items: what is searched. A vector is an item of its own, or one of several regions of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.errors import CorruptIndexError, InputError
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Items:
    """ids: (N,) of ints or strings, distinct. item_of: (m,) item of each vector that was given; None: its own number.

    row_of: (m,) where each vector is stored, as copies of a vector are stored once; None where there are no copies.
    removed: numbers of items that are not there any more, ascending; None for none of them. They keep their number, and
    what is theirs is found nowhere. Only the id of an item that was removed may occur again.
    """

    ids: Array
    item_of: NDArray[np.int64] | None
    row_of: NDArray[np.int64] | None = None
    removed: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_live(self) -> int:
        """Items that are there."""
        return len(self.ids) - (0 if self.removed is None else len(self.removed))

    @cached_property
    def live(self) -> NDArray[np.bool_] | None:
        """Whether each item is there; None where all are. (N,)"""
        if self.removed is None or not len(self.removed):
            return None
        live = np.ones(len(self.ids), dtype=bool)
        live[self.removed] = False
        return live

    def live_numbers(self) -> NDArray[np.int64]:
        """The items that are there, ascending."""
        return np.arange(len(self.ids)) if self.live is None else np.flatnonzero(self.live)

    def live_rows(self, n_rows: int) -> NDArray[np.bool_] | None:
        """Whether each stored row has an item that is there; None where all do. (rows,)"""
        if self.live is None:
            return None
        given = self.live if self.item_of is None else self.live[self.item_of]
        if self.row_of is None:
            return given
        rows = np.zeros(n_rows, dtype=bool)
        rows[self.row_of[given]] = True
        return rows

    @classmethod
    def make(cls, n_vectors: int, *, groups: ArrayLike | None, ids: ArrayLike | None) -> Items:
        """From what a user gives: a group label per vector, an id per item; with both, labels are places in ids."""
        if groups is None:
            labels, item_of = np.arange(n_vectors), None
        else:
            given = labels_of(groups, "groups")
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
        names = labels_of(ids, "ids")
        if len(names) != len(labels):
            what = "vector" if groups is None else "distinct group"
            raise InputError(f"ids must have one entry per {what}, {len(labels)}, got {len(names)}")
        return cls(_distinct(names), item_of)

    def places(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The item number of each id; an unknown one is an error. (m,)"""
        given = np.atleast_1d(np.asarray(ids))
        if not given.size:
            raise InputError("ids is empty; give at least one id of the index")
        wanted = labels_of(given, "ids")
        if (wanted.dtype.kind == "U") != (self.ids.dtype.kind == "U"):
            kinds = {"U": "strings", "i": "whole numbers"}
            raise InputError(f"ids of this index are {kinds[self.ids.dtype.kind]}, got {wanted[0].item()!r}")
        order = self._order
        # The last of that id: those before it were removed.
        found = order[np.maximum(np.searchsorted(self.ids, wanted, side="right", sorter=order) - 1, 0)]
        there = self.ids[found] == wanted
        unknown = np.flatnonzero(~there if self.live is None else ~(there & self.live[found]))
        if unknown.size:
            raise InputError(
                f"there is no item with id {wanted[unknown[0]].item()!r} ({unknown.size} of {len(wanted)} ids are "
                "unknown); index.ids lists them all"
            )
        return found

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The items by id; of one id, what was removed before what is there."""
        order = np.argsort(self.ids, kind="stable") if self.live is None else np.lexsort((self.live, self.ids))
        ascending = self.ids[order]
        twice = ascending[1:] == ascending[:-1]
        if self.live is not None:
            twice &= self.live[order[:-1]]
        if twice.any():  # `make` has none: the numbers of a damaged folder
            raise CorruptIndexError(
                "two items have the same id: the index is damaged; check it with Index.load(path, verify=True), or "
                "build it again"
            )
        return order

    def rows_of(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of some items, and which of the items each belongs to: 0 … len(places) − 1. (m,), (m,)"""
        if self.item_of is None:
            given, owner = places, np.arange(len(places))
        else:
            parts = [np.flatnonzero(self.item_of == place) for place in places]
            given, owner = np.concatenate(parts), np.repeat(np.arange(len(places)), [len(part) for part in parts])
        return (given if self.row_of is None else self.row_of[given]), owner

    def items_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """All items that have one of some rows, ascending."""
        if self.row_of is None:
            return np.unique(rows if self.item_of is None else self.item_of[rows])
        given, ends = self._given_by_row
        spans = [given[ends[row] : ends[row + 1]] for row in np.unique(rows)]
        found = np.concatenate([np.zeros(0, dtype=np.int64), *spans])
        return np.unique(found if self.item_of is None else self.item_of[found])

    def first_items(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """One item of each of some rows: the first that is there, or the first there was. (t,) -> (t,)"""
        given = rows
        if self.row_of is not None:
            order, ends = self._given_by_row
            given = order[ends[rows]]
            if self.live is not None:
                there = self.live if self.item_of is None else self.live[self.item_of]
                for place in np.flatnonzero(~there[given]):
                    own = order[ends[rows[place]] : ends[rows[place] + 1]]
                    given[place] = own[np.argmax(there[own])]
        return given if self.item_of is None else self.item_of[given]

    def first_item_of_rows(self) -> NDArray[np.int64] | None:
        """One item of each row, where items have several vectors; else None. (rows,)"""
        if self.item_of is None:
            return None
        return self.first_items(np.arange(self.n_given if self.row_of is None else int(self.row_of.max()) + 1))

    @property
    def n_targets(self) -> int:
        """What is ranked: the items themselves where they have groups of vectors, else the stored rows."""
        if self.item_of is not None or self.row_of is None:
            return len(self.ids)
        return int(self.row_of.max()) + 1

    def target_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """What stands for some items in a ranking."""
        return places if self.item_of is not None or self.row_of is None else self.row_of[places]

    def expand(
        self, targets: NDArray[np.int64], scores: Array, k: int, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], Array]:
        """The first k items of a ranking of targets: copies follow each other with one score.

        targets, scores: (q, t), best first, with at least k items. allowed: whether each item is, (N,); by default all
        that are there. -> (q, k), (q, k)
        """
        if self.item_of is not None or self.row_of is None:
            return targets[:, :k], scores[:, :k]
        given, ends = self._given_by_row
        wanted = self.live if allowed is None else allowed
        out = np.empty((len(targets), k), dtype=np.int64)
        values = np.empty((len(targets), k), dtype=scores.dtype)
        for q, row in enumerate(targets):
            starts, sizes = ends[row], ends[row + 1] - ends[row]
            enough = min(len(row), int(np.searchsorted(np.cumsum(sizes), k)) + 1) if wanted is None else len(row)
            starts, sizes = starts[:enough], sizes[:enough]
            first = np.cumsum(sizes) - sizes
            places = np.arange(sizes.sum()) + np.repeat(starts - first, sizes)
            kept = np.arange(k) if wanted is None else np.flatnonzero(wanted[given[places]])[:k]
            out[q] = given[places[kept]]
            values[q] = np.repeat(scores[q, :enough], sizes)[kept]
        return out, values

    def count_in(self, targets: NDArray[np.int64]) -> int:
        """How many items that are there some distinct targets stand for; with groups, how many of them are there."""
        if self.item_of is not None or self.row_of is None:
            return len(targets) if self.live is None else int(np.count_nonzero(self.live[targets]))
        given, ends = self._given_by_row
        if self.live is None:
            return int((ends[targets + 1] - ends[targets]).sum())
        return sum(int(np.count_nonzero(self.live[given[ends[t] : ends[t + 1]]])) for t in targets)

    @cached_property
    def _given_by_row(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The given vectors in the order of their rows, and where those of each row begin."""
        assert self.row_of is not None
        counts = np.bincount(self.row_of)
        return np.argsort(self.row_of, kind="stable"), np.concatenate([[0], np.cumsum(counts)])

    def allowed(self, where: ArrayLike) -> NDArray[np.bool_]:
        """Whether a mask (of the items that are there) or a list of ids leaves each item; none is an error. (N,)"""
        given = np.asarray(where)
        if given.dtype == bool:
            if given.shape != (self.n_live,):
                raise InputError(
                    f"a mask for where must have one entry per item, {self.n_live}, got shape {given.shape}"
                )
            left = given
            if self.live is not None:
                left = np.zeros(len(self), dtype=bool)
                left[self.live] = given
        else:
            left = np.zeros(len(self), dtype=bool)
            left[self.places(given) if given.size else []] = True
        if not left.any():
            raise InputError("where leaves no item at all; widen it")
        return left

    def extend(self, others: Items, *, default: bool, n_rows: int) -> Items:
        """These items, then the others. default: the others have no ids of their own; numbers go on after the last.

        n_rows: rows that these items have; those of the others follow.
        """
        fresh = others.ids
        if default:
            if self.ids.dtype.kind not in "iu":
                raise InputError("this index has ids of its own; give ids for the new items too")
            fresh = fresh + int(self.ids.max()) + 1
        elif fresh.dtype.kind != self.ids.dtype.kind:
            raise InputError(f"ids must be of the kind the index has, {self.ids.dtype}, got {fresh.dtype}")
        _distinct(np.concatenate([self.ids[self.live_numbers()], fresh]))
        return self.followed_by(np.concatenate([self.ids, fresh]), others, n_rows=n_rows)

    def followed_by(self, ids: Array, others: Items, *, n_rows: int) -> Items:
        """These items, then the others, all of them with these ids; nothing is checked."""
        item_of = row_of = None
        if self.item_of is not None or others.item_of is not None:
            second = np.arange(len(others.ids)) if others.item_of is None else others.item_of
            item_of = np.concatenate([self._given_items(), second + len(self.ids)])
        if self.row_of is not None or others.row_of is not None:
            first = np.arange(n_rows) if self.row_of is None else self.row_of
            second = np.arange(others.n_given) if others.row_of is None else others.row_of
            row_of = np.concatenate([first, second + n_rows])
        return Items(ids, item_of, row_of, self.removed)

    @property
    def n_given(self) -> int:
        """How many vectors were given."""
        return len(self.ids) if self.item_of is None else len(self.item_of)

    def _given_items(self) -> NDArray[np.int64]:
        return np.arange(len(self.ids)) if self.item_of is None else self.item_of


def labels_of(labels: ArrayLike, name: str) -> Array:
    """Ids or groups as a user gives them, checked: int64 or strings. name: for messages."""
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
