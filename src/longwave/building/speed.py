"""What makes a finished snapshot faster or smaller: approximate searches, fewer bytes, stored rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave import spectrum as spectra
from longwave.building.stages import SPARSE_FILTER
from longwave.errors import DataWarning, InputError
from longwave.filters import fingerprint
from longwave.plan import Plan
from longwave.rows.encoded import Quantized, check_basis_kind, relative_error
from longwave.rows.encoded import compress as encode
from longwave.search.defaults import default_filter, own_solver, solver_within
from longwave.search.snapshot import Snapshot
from longwave.solvers import BestFirst, ChebyshevFilter, Solver, Spectral
from longwave.solvers.graph_walk import WALK_BYTES
from longwave.solvers.precomputed import largest_entries
from longwave.solvers.system import StoredRows
from longwave.storage.packing import pack_sparse
from longwave.storage.settings import Stored
from longwave.stores import codes, faiss, links
from longwave.stores.approximate import Approximate
from longwave.stores.codes import Codes
from longwave.stores.coordinates import searched_rows
from longwave.stores.faiss import Faiss
from longwave.stores.links import Links
from longwave.stores.memory import Memory
from longwave.stores.store import ScannedStore
from longwave.stores.strange import strange_queries
from longwave.types import Filter, Progress

_S = TypeVar("_S", bound=Snapshot)
#: As the index does it now: a walk where it walks, else a search.
OWN = "own"
#: The second search that needs no structure but the graph (`BestFirst`).
WALK = "walk"
#: The search over the rows of Ū where nothing is said: clusters, rows as float16.
SEARCH = "IVF,SQfp16"
# Rows of a part of Ū that are scanned rather than searched: 40 MB at rank 1,000.
_SCANNED = 10_000
# Vectors that the recall of a search is measured with.
_SAMPLE = 200


def accelerate(
    snapshot: _S,
    *,
    first: str | Links | None = links.KIND,
    second: str | None = OWN,
    recall: float | None = None,
    overlap: float | None = None,
    filter: Filter | None = None,
) -> _S:
    """Approximate searches over the vectors and over Ū. Parameters as for `Index.accelerate`; first: or links."""
    for name, value in (("recall", recall), ("overlap", overlap)):
        if value is not None and not 0 < value <= 1:
            raise InputError(f"{name} must be above 0 and at most 1, got {value}")
    filter = default_filter(snapshot) if filter is None else filter
    if not snapshot.has_vectors:
        first = None
    if second == OWN:
        second = WALK if isinstance(own_solver(snapshot), BestFirst) else SEARCH
    rows = exact_store(snapshot)
    one = None if first is None or not rows.dimension else _first_search(rows, first, recall, snapshot.settings.seed)
    two = None
    if second == WALK and snapshot.pooling is not None:
        raise InputError("items of several vectors are not walked to; give second='IVF,SQfp16', or leave it out")
    parts = snapshot.coordinates.basis.parts if snapshot.spectrum is not None else ()
    if second not in (None, WALK) and not parts:
        warnings.warn(
            "the second search stays exact: this basis has no dense part (it was made sparse, or there is none)",
            DataWarning,
            stacklevel=3,
        )
    elif second is not None and second != WALK:
        two = tuple(_part_search(snapshot, number, second, overlap, filter) for number in range(len(parts)))
    plan = Plan(
        "basis" if two is None and (second != WALK or snapshot.spectrum is None) else "sublinear",
        vectors=None if one is None else one.facts,
        coordinates=None if two is None else tuple(None if own is None else own.facts for own in two),
    )
    return replace(
        snapshot,
        vertices=rows if one is None else Approximate(rows, one),
        searches=two,
        settings=replace(snapshot.settings, plan=plan),
    )


def _first_search(rows: Memory, kind: str | Links, recall: float | None, seed: int) -> Faiss | Links | Codes:
    """A search over the vectors. Links that do not lead everywhere give way to clusters."""
    if kind == codes.KIND:
        if not codes.serves(rows.values):
            raise InputError("the vectors are stored as codes already, which a scan reads; give first=None")
        return Codes(rows.values)
    vertices, wanted = np.asarray(rows.rows(slice(None))), links.TARGET if recall is None else recall
    if kind == links.KIND and len(vertices) > 1 and not isinstance(rows.values, Quantized):
        kind = links.build(vertices, seed=seed, target=recall)
    if isinstance(kind, Links) and kind.facts.recall >= wanted:
        return kind.over(rows.values)
    queries = strange_queries(vertices, min(_SAMPLE, len(vertices)), np.random.default_rng(seed))
    kind = SEARCH if isinstance(kind, Links) or kind == links.KIND else kind
    return faiss.build(vertices, kind, queries=queries, k=min(10, len(vertices)), target=recall)


def exact_store(snapshot: Snapshot) -> Memory:
    """The vectors of the graph themselves, without a search over them."""
    store = snapshot.vertices.over if isinstance(snapshot.vertices, Approximate) else snapshot.vertices
    if not isinstance(store, Memory):
        raise InputError(
            f"the vectors of this index are held by {type(store).__name__}, which cannot be read as a whole"
        )
    return store


def _part_search(snapshot: Snapshot, number: int, kind: str, overlap: float | None, filter: Filter) -> Faiss | None:
    """An approximate search over one part of Ū; None where a scan is as fast."""
    part = snapshot.coordinates.basis.parts[number]
    if len(part.rows) < _SCANNED and number > 0:
        return None
    waves = sample_waves(snapshot, number, filter, count=_SAMPLE)
    rows = searched_rows(snapshot.coordinates, number)
    return faiss.build(rows, kind, queries=waves, k=min(100, len(part.rows)), target=overlap)


def sample_waves(snapshot: Snapshot, number: int, filter: Filter, *, count: int) -> NDArray[np.float32]:
    """What the second search will be asked of one part: h(Λ)Uᵀy, y the graph's rows of some vertices. (count, r_l)"""
    spectrum = snapshot.system.require_spectrum("the second search")
    part, columns = list(spectrum.eigenvectors.spans())[number]
    rng = np.random.default_rng(snapshot.settings.seed)
    sample = np.sort(rng.choice(len(part.rows), size=min(count, len(part.rows)), replace=False))
    near = sp.csr_array(snapshot.graph.normalized[part.rows[sample]][:, part.rows])
    near += sp.csr_array((np.ones(len(sample), dtype=np.float32), (np.arange(len(sample)), sample)), shape=near.shape)
    touched = np.unique(near.indices)
    gains, _ = Spectral().gains(spectrum, filter)
    waves = np.asarray((near[:, touched] @ part.values[touched]) * gains[columns], dtype=np.float32)
    return waves[waves.any(axis=1)]


def compress(snapshot: _S, *, basis: str | None = None, vectors: str | None = None) -> _S:
    """Basis and vectors in fewer bytes. Parameters as for `Index.compress`."""
    changed: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    known = snapshot.settings.basis_as
    if basis is not None:
        check_basis_kind(basis)
    if basis not in (None, "float32" if known is None else known.kind):
        spectrum = snapshot.system.require_spectrum("compress(basis=...)")
        whole = spectrum.eigenvectors
        if not whole.parts:
            raise InputError("this basis has no dense part: it was made sparse, and is small already")
        if not all(isinstance(part.values, np.ndarray) for part in whole.parts):
            raise InputError(
                f"the basis of this index is stored as {known.kind if known else 'codes'} already; build it with "
                f"store_basis='{basis}'"
            )
        small = whole.compress(basis)
        changed["spectrum"] = replace(spectrum, eigenvectors=small)
        changed["pooled"] = None if snapshot.pooled is None else snapshot.pooled.compress(basis)
        pairs = zip(whole.parts, small.parts, strict=True)
        stored["basis_as"] = Stored(basis, max([relative_error(a.values, b.values) for a, b in pairs], default=0.0))
    if vectors is not None:
        snapshot.require_vectors("compress(vectors=...)")
        own = exact_store(snapshot)
        if not isinstance(own.values, np.ndarray):
            raise InputError("the vectors of this index are stored in fewer bytes already; compress the original")
        fewer = Memory(encode(own.values, vectors))
        held = snapshot.vertices
        changed["vertices"] = vertices = _over(held, fewer)
        if not isinstance(vertices, Approximate):
            stored["plan"] = replace(snapshot.settings.plan, vectors=None)
        stored["vectors_as"] = Stored(vectors, relative_error(own.values, fewer.values))
    return replace(snapshot, settings=replace(snapshot.settings, **stored), **changed)


def _over(held: ScannedStore, fewer: Memory) -> ScannedStore:
    """The search that there was, over the same vectors in fewer bytes; links need rows that can be read one by one."""
    if not isinstance(held, Approximate):
        return fewer
    if isinstance(held.by, Faiss):
        return Approximate(fewer, held.by)
    if isinstance(fewer.values, Quantized) or (isinstance(held.by, Codes) and not codes.serves(fewer.values)):
        return fewer
    return Approximate(fewer, held.by.over(fewer.values))


def sparsify(snapshot: _S, sparsity: float, *, printed: bool = False) -> _S:
    """Stage 3 on a finished basis. Parameters as for `Index.sparsify`."""
    if not 0 <= sparsity < 1:
        raise InputError(f"sparsity must be at least 0 and below 1 (the fraction dropped), got {sparsity}")
    spectrum = snapshot.system.require_spectrum("sparsify")
    if not all(isinstance(part.values, np.ndarray) for part in spectrum.eigenvectors.parts):
        raise InputError(
            "the basis of this index is stored in fewer bytes, and sparsify needs it whole; build it with "
            "store_basis='float32'"
        )
    count = round((1 - sparsity) * spectrum.eigenvectors.nonzeros)
    chosen = None if printed else SPARSE_FILTER
    made = spectra.sparsify(spectrum, snapshot.graph.normalized, nonzeros=count, filter=chosen)
    settings = replace(snapshot.settings, sparsity=sparsity, plan=Plan(vectors=snapshot.settings.plan.vectors))
    return with_pooled(replace(snapshot, spectrum=made, searches=None, stored=None, settings=settings))


def precompute(
    snapshot: _S,
    *,
    filter: Filter | None = None,
    top: int = 500,
    tolerance: float | None = None,
    progress: Progress | None = None,
) -> _S:
    """The largest entries of every row of h(𝒲) for one h. Parameters as for `Index.precompute`."""
    filter = default_filter(snapshot) if filter is None else filter
    solver: Solver = ChebyshevFilter() if snapshot.spectrum is None else own_solver(snapshot)
    if tolerance is not None:
        solver = solver_within(tolerance, filter, snapshot.spectrum is not None)
    rows = largest_entries(snapshot.system, solver, filter, top=top, progress=progress)
    stored = StoredRows(rows, fingerprint(filter), repr(filter))
    return replace(snapshot, stored=stored, settings=replace(snapshot.settings, rows=stored.name))


def with_pooled(snapshot: _S) -> _S:
    """Compute Ū = ΣU offline, so that a query costs the same for global and regional vectors."""
    if snapshot.spectrum is None or snapshot.vertex_pooling is None:
        return snapshot
    pooled = snapshot.spectrum.eigenvectors.pool(snapshot.vertex_pooling)
    kept = snapshot.settings.basis_as
    return replace(snapshot, pooled=pooled if kept is None else pooled.compress(kept.kind))


def memory(snapshot: Snapshot) -> dict[str, int]:
    """Bytes of each part. As `Index.memory`."""
    matrix, held, graph, items = snapshot.graph.normalized, snapshot.vertices, snapshot.graph, snapshot.items
    stored = () if snapshot.stored is None else pack_sparse("rows", snapshot.stored.matrix).values()
    basis = None if snapshot.spectrum is None else snapshot.spectrum.eigenvectors
    walks = isinstance(own_solver(snapshot), BestFirst)
    beside = [items.ids, items.item_of, items.row_of, graph.degrees, graph.labels, graph.scales, graph.reach]
    beside += [] if snapshot.spectrum is None else [snapshot.spectrum.row_norms, snapshot.spectrum.kinds]
    return {
        "vectors": snapshot.vectors.nbytes,
        "graph": matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes,
        "basis": 0 if basis is None else basis.nbytes if walks else basis.nbytes_searched,
        "pooled": 0 if snapshot.pooled is None else snapshot.pooled.nbytes_searched,
        "first search": held.by.nbytes if isinstance(held, Approximate) else 0,
        "second search": sum(search.nbytes for search in snapshot.searches or () if search is not None),
        "rows": sum(array.nbytes for array in stored),
        "items": sum(array.nbytes for array in beside if array is not None) + walks * WALK_BYTES * graph.n_vertices,
    }
