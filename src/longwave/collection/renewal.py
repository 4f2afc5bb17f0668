"""A new graph and basis over everything that is there, built as the old ones were."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave import filters
from longwave.building import speed
from longwave.building.build import Given, build
from longwave.building.options import Options
from longwave.collection.batches import make_segment, without
from longwave.collection.living import Living
from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.graph.weights import Kernel
from longwave.index import Index
from longwave.items.items import Items
from longwave.metadata.described import Described, Sheet
from longwave.search.segments import Segment
from longwave.search.snapshot import Snapshot, fields_of
from longwave.spectrum import Chebyshev, Exact, Lanczos, Method, Simultaneous
from longwave.spectrum.advised import Advised
from longwave.storage.settings import Settings
from longwave.types import Progress

_METHODS: Mapping[str, Any] = {kind.__name__: kind for kind in (Chebyshev, Exact, Lanczos, Simultaneous)}


def rebuilt(
    index: Index, kernel: Kernel | None, progress: Progress | bool | None, given: Mapping[str, Any], fast: bool | None
) -> Index:
    """An index of what is there. given: options that are to change. Rows stored for one filter are not made again."""
    settings = index.settings
    if settings.given_edges:
        raise InputError(
            f"this index has {settings.given_edges:,} edges of a graph of your own, which it does not keep apart: "
            "build it again with graph="
        )
    options = replace(options_of(settings, kernel), **given)
    rows, owner, ids = everything(index)
    groups = owner if index.pooling is not None else None
    plan = settings.plan
    walks = plan.route == "sublinear" and plan.coordinates is None  # the first search is then chosen by the size
    quick = (plan.vectors is not None or plan.coordinates is not None) and not walks
    if quick and fast is None:
        fast = plan.route == "sublinear"
    made = build(Given(index.vectors.rows(rows), groups, ids), options, fast=fast, progress=progress)
    if quick and not fast:  # a quick first search alone
        made = speed.accelerate(made, second=None)
    if settings.vectors_as is not None:
        made = speed.compress(made, vectors=settings.vectors_as.kind)
    known = None
    if index.metadata is not None:
        known = Described((Sheet.of_table(index.metadata.table.take(index.items.live_numbers())),))
    return Index(**fields_of(replace(made, metadata=known)))


def everything(index: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.int64], Any]:
    """Rows of all vectors of items that are there, the item of each from 0, and the ids of these items."""
    items = index.items
    live = items.live_numbers()
    if items.item_of is None:
        given, owner = live, np.arange(len(live))
    else:
        place = np.full(len(items), -1)
        place[live] = np.arange(len(live))
        given = np.flatnonzero(place[items.item_of] >= 0)
        owner = place[items.item_of[given]]
    return given if items.row_of is None else items.row_of[given], owner, items.ids[live]


def caught_up(made: Index, before: Living, now: Living) -> Index:
    """The new base with the ids that its items have now, and with what is kept beside them now."""
    ids = now.index.items.ids[before.index.items.live_numbers()]
    items = replace(made.items, ids=ids)
    return replace(made, items=items, about=now.base.about, attached=now.base.attached)


def carried_over(base: Index, before: Living, now: Living) -> list[Segment]:
    """What was committed while the new base was built, as segments on it."""
    known, items = before.index.items, now.index.items
    gone = np.zeros(0, dtype=np.int64)
    if items.removed is not None:
        place = np.cumsum(np.ones(len(known)) if known.live is None else known.live).astype(np.int64) - 1
        since = items.removed[items.removed < len(known)]
        gone = place[since if known.live is None else since[known.live[since]]]
    fresh = items.live_numbers()
    fresh = fresh[fresh >= len(known)]
    number = now.next_segment
    if not len(fresh):
        return [without(base, number, gone)] if len(gone) else []
    rows, owner = items.rows_of(fresh)
    sheet = Sheet(len(fresh))
    if now.index.metadata is not None:
        sheet = Sheet.of_table(now.index.metadata.table.take(fresh))
    own = Items(items.ids[fresh], None if items.item_of is None else owner)
    return [make_segment(base, number, now.index.vectors.rows(rows), own, sheet=sheet, removed=gone)]


def options_of(settings: Settings, kernel: Kernel | None) -> Options:
    """The options that an index was built with."""
    if kernel is None and "kernel" not in settings.automatic:
        if settings.kernel.startswith("own:"):
            raise InputError("this collection was built with a kernel of your own; give it: open(path, kernel=...)")
        kernel = kernels.parse(settings.kernel)
    return Options(
        k=settings.k,
        kernel=kernel,
        balanced=settings.balanced,
        merge_copies=settings.merge_copies,
        across_items=settings.across_items,
        spectrum=Advised() if "spectrum" in settings.automatic else method_of(settings.spectrum),
        components=settings.components,
        min_rank=settings.min_rank,
        sparsity=settings.sparsity,
        store_basis=None if settings.basis_as is None else settings.basis_as.kind,
        pooling=settings.pooling,
        filter=filters.parse(settings.search.filter),
        neighbors=settings.search.neighbors,
        blend=settings.search.blend,
        seed=settings.seed,
    )


def method_of(text: str) -> Method | None:
    """How a basis was computed, from its text in the settings. Nothing is evaluated but numbers.

    >>> method_of("Lanczos(rank=40)").rank
    40
    """
    if text == "None":
        return None
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        method: Method = _METHODS[call.func.id](**{str(k.arg): ast.literal_eval(k.value) for k in call.keywords})
    except (SyntaxError, ValueError, TypeError, KeyError, AssertionError) as error:
        raise InputError(
            f"this collection was built with {text[:80]}, which is not known here; give refresh(spectrum=...)"
        ) from error
    return method
