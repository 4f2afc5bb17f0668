"""A snapshot as named plain arrays, which is what an index folder holds, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from longwave import filters
from longwave.errors import CorruptIndexError, InputError
from longwave.filters import LowPass, fingerprint
from longwave.graph import weights as kernels
from longwave.graph.mutual import Graph
from longwave.graph.weights import Kernel
from longwave.items.items import Items
from longwave.metadata.described import Sheet, described
from longwave.search import blending, segments
from longwave.search.added import Added, Block
from longwave.search.snapshot import Snapshot
from longwave.search.whereabouts import found_again, seen_from
from longwave.solvers.system import StoredRows
from longwave.spectrum.basis import Basis, Part
from longwave.storage.manifest import plain
from longwave.storage.packing import (
    FLOATS,
    PLACES,
    pack_basis,
    pack_rows,
    pack_search,
    pack_sparse,
    pack_spectrum,
    take,
    take_places,
    unpack_basis,
    unpack_first,
    unpack_rows,
    unpack_search,
    unpack_sparse,
    unpack_spectrum,
)
from longwave.storage.settings import Settings
from longwave.stores.approximate import Approximate
from longwave.stores.memory import Memory
from longwave.stores.store import ScannedStore
from longwave.types import Array

_S = TypeVar("_S", bound=Snapshot)
# Before the names of arrays that the user keeps with the index.
_ATTACHED = "attached-"


def pack(snapshot: Snapshot) -> dict[str, Array]:
    """The arrays of a snapshot, by name; `settings` and `about` are not among them."""
    held, added = snapshot.vertices, snapshot.added
    rows = held.over if isinstance(held, Approximate) else held
    arrays: dict[str, Array] = {**_pack_store("vectors", rows), "ids": snapshot.items.ids}
    graph = snapshot.graph
    arrays |= {"degrees": graph.degrees, "labels": graph.labels, "reach": graph.reach}
    arrays |= pack_sparse("graph", graph.normalized)
    items = snapshot.items
    optional = {"scales": graph.scales, "item_of": items.item_of, "row_of": items.row_of, "removed": items.removed}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    if snapshot.metadata is not None:
        sheets = snapshot.metadata.sheets
        whole = sheets[0] if len(sheets) == 1 else Sheet.of_table(snapshot.metadata.table)
        arrays["metadata"] = np.asarray(whole.data)
    if added is not None:
        arrays |= {"added": added.vectors.rows(slice(None)), **pack_sparse("extension", added.psi)}
    if snapshot.spectrum is not None:
        arrays |= pack_spectrum(snapshot.spectrum)
    if snapshot.whole_pooling is not None:
        arrays |= pack_sparse("pooling", snapshot.whole_pooling)
    if snapshot.pooled is not None:
        arrays |= pack_basis("pooled", snapshot.pooled)
    if isinstance(held, Approximate):
        arrays |= pack_search("first", held.by)
    searches = enumerate(snapshot.searches or ())
    arrays |= {f"second_{number}": search.pack() for number, search in searches if search is not None}
    if snapshot.stored is not None:
        arrays |= {
            **pack_sparse("rows", snapshot.stored.matrix),
            "rows_filter": np.asarray(snapshot.stored.fingerprint),
        }
    return arrays | pack_attached(snapshot.attached)


def pack_attached(attached: Mapping[str, Array]) -> dict[str, Array]:
    """What the user keeps with an index, by the names that it has in the folder."""
    return {_ATTACHED + name: array for name, array in attached.items()}


def unpack_attached(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """What `pack_attached` has named."""
    return {name.removeprefix(_ATTACHED): array for name, array in arrays.items() if name.startswith(_ATTACHED)}


def is_note(name: str) -> bool:
    """Whether an array of this name can change without any other: ids, and what the user keeps."""
    return name == "ids" or name.startswith(_ATTACHED)


def unpack(settings: Settings, about: Mapping[str, Any], arrays: Mapping[str, Array], kernel: Kernel) -> Snapshot:
    """The snapshot that `pack` took apart. ValueError where something does not fit."""
    n = len(take(arrays, "labels", PLACES, None))
    ids = take(arrays, "ids", (*PLACES, np.str_), None)
    values = unpack_rows("vectors", arrays, settings.vectors_as.kind if settings.vectors_as else "")
    dimension = values.shape[1]
    vertices = Memory(values)
    more = None
    if "added" in arrays:
        more = take(arrays, "added", FLOATS, None, dimension)
    elif len(values) > n:  # written by an earlier version: vectors of the graph and others in one array
        if not isinstance(values, np.ndarray):
            raise ValueError("added vectors in fewer bytes; build the index again")
        vertices, more = Memory(values[:n]), values[n:]
    m = len(vertices) + (0 if more is None else len(more))
    items = _unpack_items(arrays, ids, m)
    pooling, sums, inside = None, None, len(ids)
    if items.item_of is not None:
        pooling = unpack_sparse("pooling", arrays, (len(ids), m))
        if more is not None:
            inside = _items_inside(items, n)
            pooling, sums = pooling[:inside, :n], pooling[inside:, n:]
    added = None
    if more is not None:
        added = Added((Block(Memory(more), unpack_sparse("extension", arrays, (len(more), n)), sums),))
    if not 0 < n == len(vertices) or (not dimension and not settings.given_edges):
        raise ValueError(f"{n} vertices and {len(vertices)} × {dimension} vectors do not fit each other")
    scaled = kernels.scale_neighbor(kernel) is not None
    graph = Graph(
        unpack_sparse("graph", arrays, (n, n)),
        take(arrays, "degrees", FLOATS, n),
        take_places(arrays, "labels", n, n),
        take(arrays, "reach", FLOATS, n),
        take(arrays, "scales", FLOATS, n) if scaled else None,
    )
    spectrum = unpack_spectrum(arrays, n) if "eigenvalues" in arrays else None
    parts: tuple[Part, ...] = () if spectrum is None else spectrum.eigenvectors.parts
    pooled = searches = stored = None
    if spectrum is not None and "pooled_sparse_indptr" in arrays:
        rows = inside
        if len(arrays["pooled_sparse_indptr"]) == len(ids) + 1:
            rows = len(ids)  # written by an earlier version: those of added items too
        pooled = _first_rows(unpack_basis("pooled", arrays, rows, spectrum.rank), inside)
        if [part.width for part in pooled.parts] != [part.width for part in parts]:
            raise ValueError("pooled does not have the columns of basis")
        parts = pooled.parts
    plan = settings.plan
    first = unpack_first("first", arrays, plan.vectors, vertices.values)
    if plan.coordinates is not None:
        over = enumerate(zip(plan.coordinates, parts, strict=True))
        searches = tuple(unpack_search(f"second_{i}", arrays, s, part.values.shape) for i, (s, part) in over)
    if settings.rows:
        matrix = unpack_sparse("rows", arrays, (n, items.n_targets))
        stored = StoredRows(matrix, take(arrays, "rows_filter", FLOATS, len(fingerprint(LowPass()))), settings.rows)
    return Snapshot(
        vertices=vertices if first is None else Approximate(vertices, first),
        graph=graph,
        spectrum=spectrum,
        items=items,
        settings=settings,
        similarity=kernel,
        added=added,
        pooling=pooling,
        pooled=pooled,
        searches=searches,
        stored=stored,
        about=dict(about),
        attached=unpack_attached(arrays),
        metadata=described((unpack_sheet("metadata", arrays, len(ids)),)),
    )


def unpack_sheet(name: str, arrays: Mapping[str, Array], count: int) -> Sheet:
    """The metadata of so many items, where there are any. Nothing is read before it is asked for."""
    return Sheet(count, take(arrays, name, (np.uint8,), None) if name in arrays else None, name)


def _items_inside(items: Items, n: int) -> int:
    """Items of the graph: those before the first that was added. n: vertices."""
    assert items.item_of is not None
    rows = np.arange(len(items.item_of)) if items.row_of is None else items.row_of
    outside = items.item_of[rows >= n]
    inside = int(outside.min()) if len(outside) else len(items)
    if (items.item_of[rows < n] >= inside).any():
        raise ValueError("items of the graph and added ones are mixed")
    return inside


def _first_rows(basis: Basis, count: int) -> Basis:
    """The first rows of a basis."""
    if basis.n == count:
        return basis
    ends = [int(np.searchsorted(part.rows, count)) for part in basis.parts]
    parts = tuple(Part(p.rows[:e], p.values[:e]) for p, e in zip(basis.parts, ends, strict=True))
    return Basis(count, parts, basis.sparse[:count])


def _pack_store(name: str, store: ScannedStore) -> dict[str, Array]:
    return pack_rows(name, store.values if isinstance(store, Memory) else store.rows(slice(None)))


def _unpack_items(arrays: Mapping[str, Array], ids: Array, m: int) -> Items:
    """Items of m stored vectors."""
    row_of = take_places(arrays, "row_of", None, m) if "row_of" in arrays else None
    given = m if row_of is None else len(row_of)
    item_of = take_places(arrays, "item_of", given, len(ids)) if "item_of" in arrays else None
    if not len(ids) or (item_of is None and len(ids) != given):
        raise ValueError(f"{given} vectors and {len(ids)} ids do not fit each other")
    if row_of is not None and not (named := np.bincount(row_of, minlength=m) > 0).all():
        raise ValueError(f"row_of names {np.count_nonzero(named)} of {m} vectors")
    removed = take_places(arrays, "removed", None, len(ids)) if "removed" in arrays else None
    if removed is not None and ((removed[1:] <= removed[:-1]).any() or not 0 < len(removed) < len(ids)):
        raise ValueError("removed does not ascend, or names all items")
    return Items(ids, item_of, row_of, removed)


def facts(snapshot: Snapshot, home: str | Path) -> dict[str, Any]:
    """What the manifest says of a snapshot: settings, and what the user keeps with it. home: the index folder."""
    told = {"settings": asdict(snapshot.settings), **facts_about(snapshot.about, home)}
    known: dict[str, Any] = json.loads(json.dumps(told, default=plain))
    try:
        Settings.parse(known["settings"])
    except ValueError as error:
        raise InputError(f"this index could not be loaded again: {error}; build it with another value") from error
    return known


def facts_about(about: Mapping[str, Any], home: str | Path) -> dict[str, Any]:
    """What the user keeps, as the manifest has it: paths also as seen from the index folder."""
    return {"about": dict(about), "beside": seen_from(home, about)}


def about_of(facts: Mapping[str, Any], home: str | Path) -> dict[str, Any]:
    """What `facts_about` has told, with paths as they are now."""
    return found_again(home, facts.get("about", {}), facts.get("beside", {}))


def renoted(base: _S, path: str | Path, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> _S:
    """The same snapshot with the ids of another state, and what the user keeps there (`is_note`)."""
    ids = take(arrays, "ids", (*PLACES, np.str_), len(base.items))
    if ids.dtype.kind != base.items.ids.dtype.kind:
        raise ValueError(f"ids are {ids.dtype}, they were {base.items.ids.dtype}")
    items = replace(base.items, ids=ids)
    return replace(base, items=items, about=about_of(facts, path), attached=unpack_attached(arrays))


def restore(path: str | Path, known: Mapping[str, Any], arrays: Mapping[str, Array], kernel: Kernel | None) -> Snapshot:
    """The snapshot of a folder. kernel: where it is a function of your own."""
    try:
        settings = Settings.parse(known.get("settings"))
        if kernel is None and settings.kernel.startswith("own:"):
            raise InputError(f"{path} was built with a kernel of your own; give it: Index.load(path, kernel=...)")
        own = kernels.parse(settings.kernel) if kernel is None else kernel
        filters.parse(settings.search.filter)  # a plug-in that is missing is told of now
        blending.parse(settings.search.blend)
        base = unpack(settings, about_of(known, path), arrays, own)
        return segments.assemble(base, segments.unpack_segments(known, arrays, base))
    except (MemoryError, InputError):
        raise
    except Exception as error:  # whatever the numbers of a damaged folder lead to
        raise CorruptIndexError(f"{path} is damaged ({error}); copy it again, or build the index again") from error


def check_notes(about: Mapping[str, Any], arrays: Mapping[str, ArrayLike]) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a user wants to keep with an index, as it will come back from the folder."""
    try:
        known = json.loads(json.dumps(dict(about)))
    except (TypeError, ValueError) as error:
        raise InputError(f"about must be what JSON can hold (texts, numbers, lists, objects): {error}") from error
    kept = {name: np.asarray(array) for name, array in arrays.items()}
    wrong = [name for name, array in kept.items() if not name.isidentifier() or array.dtype.kind == "O"]
    if wrong:
        raise InputError(f"attached array {wrong[0]!r} must have a plain name and hold numbers or strings")
    return known, kept
