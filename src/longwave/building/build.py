"""Vectors to a snapshot: checked, made unit length, copies merged, graph and basis computed, the plan chosen."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.advice import memory as resources
from longwave.advice.fidelity import fidelity
from longwave.advice.memory import Work
from longwave.building import speed, stages
from longwave.building.options import Options
from longwave.building.stages import Stages
from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.graph.edges import read_graph
from longwave.graph.lists import check_lists
from longwave.items import copies
from longwave.items.items import Items
from longwave.items.pooling import pooling_matrix
from longwave.plan import Plan, wants_approximate, wants_codes, wants_links
from longwave.progress import shown
from longwave.rows import ahead
from longwave.rows.vectors import check_vectors, unit_vectors
from longwave.search.defaults import own_solver
from longwave.search.snapshot import Snapshot
from longwave.solvers import BestFirst
from longwave.spectrum import Advised
from longwave.spectrum.basis import Basis
from longwave.storage.settings import Settings
from longwave.stores import codes, links
from longwave.stores.links import Links
from longwave.stores.memory import Memory
from longwave.types import Array, Neighbors, Progress, Sparse

# Numbers of a basis beyond which it is kept in a byte each: 64 MB as float32.
_MANY = 1 << 24
# Of n times the largest rank, what large parts of the basis usually have: some vertices stand apart, as do their ranks.
_USUAL_SHARE = 0.7
# Of the mean degree, added to every degree where scores are balanced (`Snapshot.gains`).
_LEAST_DEGREE = 0.01


@dataclass(frozen=True, eq=False)
class Given:
    """What a user gives besides the options: vectors, what belongs together, ids, known neighbours, edges."""

    vectors: ArrayLike | None
    groups: ArrayLike | None = None
    ids: ArrayLike | None = None
    lists: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    graph: Any = None


def build(
    given: Given,
    options: Options,
    *,
    start: Snapshot | None = None,
    workdir: str | Path | None = None,
    memory: int | str | None = None,
    fast: bool | None = None,
    progress: Progress | bool | None = None,
) -> Snapshot:
    """The offline stage. Parameters as for `Index.build`."""
    options = options.settled(regional=given.groups is not None)
    defaults = options.search_defaults  # checked before the work
    if start is not None and not isinstance(start, Snapshot):
        raise InputError(f"start must be an Index, got {type(start).__name__}; open one with Index.load(path)")
    given, array, items, edges = _read(given)
    limit = None if memory is None else resources.parse_size(memory)
    work = _work(array, given, items, options)
    resources.check(work, limit)
    prepared = _prepare(array, given, items, options)
    edges = None if edges is None else _between_vertices(edges, prepared, options)
    _compile_ahead(options, prepared, fast)
    with shown(progress) as report:
        made = stages.make(
            options,
            prepared.unit,
            given=prepared.lists,
            edges=edges,
            item_of=prepared.items.first_item_of_rows() if options.across_items else None,
            earlier=None if start is None else _basis_of_first(start, prepared.unit),
            linked=prepared.pooling is None and wants_links(len(prepared.unit), prepared.unit.shape[1], fast),
            workdir=None if workdir is None else Path(workdir),
            check=lambda sizes: resources.check(work, limit, component=int(sizes.max())),
            progress=report,
        )
        count = 0 if edges is None else max(1, edges.nnz // 2)
        settings = replace(settings_of(options, made), search=defaults, given_edges=count)
        snapshot = Snapshot(
            Memory(prepared.unit),
            made.graph,
            made.spectrum,
            prepared.items,
            settings,
            similarity=made.kernel,
            pooling=prepared.pooling,
        )
        snapshot = _with_plan(speed.with_pooled(snapshot), options, fast, made.links)
        snapshot = _stored(snapshot, options)
        ahead.finish("float32" if snapshot.settings.basis_as is None else snapshot.settings.basis_as.kind)
        measured = fidelity(snapshot.system, options.filter, own_solver(snapshot), seed=options.seed)
        return replace(snapshot, settings=replace(snapshot.settings, fidelity=measured))


def _read(given: Given) -> tuple[Given, Array, Items, Sparse | None]:
    """Vectors, none of any dimension where there is a graph alone; items; the edges between them. All checked."""
    if given.graph is None:
        if given.vectors is None:
            raise InputError("give vectors, or a graph of your own with graph=")
        array = check_vectors(given.vectors)
        return given, array, Items.make(len(array), groups=given.groups, ids=given.ids), None
    if given.groups is not None:
        raise InputError("a graph joins items of one vector each; leave out groups, or graph")
    if given.vectors is None:
        if given.lists is not None:
            raise InputError("lists are neighbours of vectors; give vectors too, or leave out lists")
        edges, ids = read_graph(given.graph, given.ids)
        nothing = np.zeros((len(ids), 0), dtype=np.float32)
        return replace(given, ids=ids), nothing, Items.make(len(ids), groups=None, ids=ids), edges
    array = check_vectors(given.vectors)
    items = Items.make(len(array), groups=None, ids=given.ids)
    return given, array, items, read_graph(given.graph, items.ids)[0]


def _between_vertices(edges: Sparse, prepared: _Prepared, options: Options) -> Sparse:
    """The edges, weighed, where copies are one vertex. CSR (N, N) -> CSR (n, n)"""
    weight = options.edge_weight if prepared.unit.shape[1] else 1.0
    row_of = prepared.items.row_of
    if row_of is None:
        return sp.csr_array(weight * edges, dtype=np.float32)
    n = len(prepared.unit)
    merge = sp.csr_array((np.ones(len(row_of), dtype=np.float32), (row_of, np.arange(len(row_of)))), (n, len(row_of)))
    joined = sp.csr_array(weight * (merge @ edges @ merge.T))
    return sp.csr_array(joined - sp.diags_array(joined.diagonal()), dtype=np.float32)


def _compile_ahead(options: Options, prepared: _Prepared, fast: bool | None) -> None:
    """On a fresh install, let the loops of a walk be compiled while the build goes on, where there will be walks."""
    (n, dimension), spectrum = prepared.unit.shape, options.spectrum
    walked = bool(options.balanced and dimension) and fast is not False and prepared.pooling is None
    if walked and isinstance(spectrum, Advised) and not spectrum.computes_all(n):
        kind = options.store_basis or ("int8" if _USUAL_SHARE * n * spectrum.rank > _MANY else "float32")
        ahead.begin(codes.KIND if fast is None and wants_codes(n, dimension) else "", kind)


def _with_plan(snapshot: Snapshot, options: Options, fast: bool | None, ways: Links | None) -> Snapshot:
    """The way its searches will go: a walk, where the graph chose the basis and scores are balanced, as by default.

    Balanced scores have no peak but in y, so that a walk finds the best first. A basis that was asked for, and the
    paper's own setting, are answered by eq. (4). ways: links for the first search, where they pay.
    """
    walked = isinstance(options.spectrum, Advised) and bool(options.balanced) and fast is not False
    walked = walked and BestFirst().serves(snapshot.system)
    n, dimension = len(snapshot.vertices), snapshot.vertices.dimension
    first = ways or links.KIND
    if fast is None:
        largest = max((part.values.size for part in snapshot.coordinates.basis.parts), default=0)
        fast = wants_approximate(n * dimension, largest)
        first = codes.KIND if wants_codes(n, dimension) else first
    if fast or (walked and first != links.KIND):
        return speed.accelerate(snapshot, first=first, second=speed.WALK if walked else speed.SEARCH)
    return replace(snapshot, settings=replace(snapshot.settings, plan=Plan("sublinear"))) if walked else snapshot


def _stored(snapshot: Snapshot, options: Options) -> Snapshot:
    """The basis in as many bytes as it shall have."""
    kind = options.store_basis
    if kind is None and snapshot.spectrum is not None:
        parts, plan = snapshot.spectrum.eigenvectors.parts, snapshot.settings.plan
        walked = plan.route == "sublinear" and plan.coordinates is None and snapshot.pooling is None
        kind = "int8" if walked and sum(part.values.size for part in parts) > _MANY else None
    return speed.compress(snapshot, basis=kind)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Unit vectors with copies merged, and everything else numbered like them."""

    unit: NDArray[np.float32]
    items: Items
    lists: Neighbors | None
    pooling: Sparse | None


def _prepare(array: Array, given: Given, items: Items, options: Options) -> _Prepared:
    unit, lists, pooling = unit_vectors(array, checked=True) if array.shape[1] else array, None, None
    if given.lists is not None:
        lists = check_lists(unit, *(given.lists if isinstance(given.lists, tuple) else (given.lists,)))
    if items.item_of is not None:
        pooling = pooling_matrix(unit, items.item_of, pooling=options.pooling)
    same = copies.find_copies(unit) if options.merge_copies and array.shape[1] else None
    if same is None:
        return _Prepared(unit, items, lists, pooling)
    firsts, row_of = same
    if lists is not None:
        lists = copies.lists_of_firsts(lists, firsts, row_of, k=lists.ids.shape[1])
    if pooling is not None:
        pooling = copies.columns_of_firsts(pooling, row_of)
    return _Prepared(unit[firsts], replace(items, row_of=row_of), lists, pooling)


def _work(array: Array, given: Given, items: Items, options: Options) -> Work:
    """What the build will take, before it begins."""
    n, dimension = array.shape
    lists = given.lists
    width = options.k if lists is None else np.shape(lists[0] if isinstance(lists, tuple) else lists)[-1]
    pooled = 0 if items.item_of is None else len(items)
    return Work(n, dimension, min(width, n - 1), options.spectrum, pooled, options.sparsity is not None)


def settings_of(options: Options, made: Stages) -> Settings:
    """What the index keeps of how it was made."""
    kept = {own.name for own in fields(Settings)} & {own.name for own in fields(Options)}
    facts: dict[str, Any] = {name: getattr(options, name) for name in kept}
    facts |= {
        "k_used": made.k_used,
        "recall": made.recall,
        "kernel": kernels.text_of(made.kernel),
        "balanced": bool(options.balanced),
        "least_degree": _LEAST_DEGREE if options.balanced else 0.0,
        "spectrum": repr(made.method),
        "rank": None if made.method is None else made.method.rank,
        "automatic": tuple(
            name
            for name, left in (("kernel", options.kernel is None), ("spectrum", isinstance(options.spectrum, Advised)))
            if left
        ),
    }
    return Settings(**facts)


def _basis_of_first(start: Snapshot, unit: NDArray[np.float32]) -> Basis | None:
    """U as the start of a build of these vectors, whose first rows should be those of the earlier index."""
    if start.vertices.dimension != unit.shape[1] or start.n_vertices > len(unit):
        raise InputError(
            f"start has {start.n_vertices:,} × {start.vertices.dimension} vectors, which cannot be the first rows of "
            f"{len(unit):,} × {unit.shape[1]}; leave it out, or give the index that was built from them"
        )
    return None if start.spectrum is None else start.spectrum.eigenvectors
