"""`Index`: build, search, save, load. It composes the modules below it and computes nothing itself."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave import filters, plan
from longwave.advice import memory as resources
from longwave.advice.fidelity import fidelity
from longwave.advice.memory import Work
from longwave.building import Recipe
from longwave.checks import check_counts, check_value
from longwave.errors import CorruptIndexError, DataWarning, InputError
from longwave.filters import LowPass, fingerprint
from longwave.graph import weights as kernels
from longwave.graph.lists import check_lists
from longwave.graph.mutual import Graph
from longwave.graph.weights import Kernel, Local, Power
from longwave.items import copies
from longwave.items.items import Items
from longwave.items.pooling import check_pooling, pooling_matrix
from longwave.progress import shown
from longwave.rows.encoded import check_basis_kind, compress, relative_error
from longwave.rows.vectors import check_vectors, unit_queries, unit_vectors
from longwave.search import blending, explanation, extension, online
from longwave.search.blending import REGIONAL, Anchor, Blending
from longwave.search.candidates import ranked_rows, sample_waves
from longwave.search.explanation import Explanation
from longwave.search.observation import Queries
from longwave.search.online import Online
from longwave.search.ranking import Euclidean, without_self
from longwave.solvers import ChebyshevFilter, ConjugateGradient, Hybrid, Solver, Spectral, System
from longwave.solvers.precomputed import largest_entries
from longwave.spectrum import Method
from longwave.spectrum.advised import Advised
from longwave.spectrum.basis import Basis, Part
from longwave.spectrum.spectrum import Spectrum
from longwave.storage import folder as storage
from longwave.storage.packing import (
    FLOATS,
    PLACES,
    pack_basis,
    pack_rows,
    pack_sparse,
    pack_spectrum,
    take,
    take_places,
    unpack_basis,
    unpack_rows,
    unpack_search,
    unpack_sparse,
    unpack_spectrum,
)
from longwave.storage.settings import Defaults, Settings, Stored, Structure
from longwave.stores import faiss as ann
from longwave.stores.faiss import Ann
from longwave.types import Array, Filter, Hits, Progress, Sparse

# Frozen values: safe as defaults.
_SOLVER, _SPECTRUM, _FILTER = Spectral(), Advised(), LowPass(0.99)
# Rows of a part of Ū that are scanned rather than searched: 40 MB at rank 1,000.
_SCANNED = 10_000
#: The paper's own setting: `Index.build(vectors, **PAPER)`.
PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "k": 50,
        "kernel": Power(3.0),
        "balanced": False,
        "merge_copies": False,
        "across_items": False,
        "filter": LowPass(0.99),
        "neighbors": 10,
        "blend": 0,
    }
)
# Before the names of arrays that the user keeps with the index.
_ATTACHED = "attached-"


@dataclass(frozen=True, eq=False)
class Index:
    """A collection of vectors, its graph and the graph's Fourier basis, ready to be searched along the manifold.

    vectors: (m, d) unit float32, or in fewer bytes (`compress`); the first n are the vertices of the graph, the others
    were added by `extend`. items: which item each vector belongs to. extension: ψ of the others, CSR (m − n, n), or
    None. pooling: Σ from all vectors to items, None where every vector is an item. pooled: Ū. first, second:
    approximate searches over the vectors and over Ū, where `accelerate` has made them. rows: of h(𝒲) for one h, where
    `precompute` has. about, attached: what the user keeps with it, see `attach`.

    >>> import longwave as lw
    >>> vectors, query = lw.datasets.arcs()
    >>> index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    >>> index.search(query, k=6, solver=lw.Euclidean()).ids
    array([[0, 1, 6, 2, 7, 8]])
    >>> index.search(query, k=6, neighbors=1, filter=lw.LowPass(0.8)).ids
    array([[0, 1, 2, 3, 4, 5]])
    """

    vectors: Any
    graph: Graph
    spectrum: Spectrum | None
    items: Items
    settings: Settings
    similarity: Kernel = field(default_factory=Local, repr=False)
    extension: Sparse | None = None
    pooling: Sparse | None = field(default=None, repr=False)
    pooled: Basis | None = field(default=None, repr=False)
    first: Ann | None = field(default=None, repr=False)
    second: tuple[Ann | None, ...] | None = field(default=None, repr=False)
    rows: Sparse | None = field(default=None, repr=False)
    rows_filter: Array | None = field(default=None, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    attached: Mapping[str, Array] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        vectors: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        lists: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        k: int = 50,
        kernel: Kernel | None = None,
        gamma: float | None = None,
        balanced: bool = True,
        merge_copies: bool = True,
        across_items: bool = True,
        spectrum: Method | None = _SPECTRUM,
        components: str = "blocks",
        min_rank: int = 5,
        pooling: str = "gmp",
        sparsity: float | None = None,
        recall: float | None = None,
        filter: Filter = _FILTER,
        neighbors: int = 5,
        blend: float | str | Blending | None = None,
        seed: int = 0,
        start: Index | None = None,
        workdir: str | Path | None = None,
        memory: int | str | None = None,
        auto: bool = True,
        fast: bool | None = None,
        progress: Progress | bool | None = None,
    ) -> Index:
        """Build the graph and its basis: the offline stage. Without any option this is the best setting known.

        What is searched:

        - vectors: (n, d), any real type and layout. Copies of a vector are one vertex of the graph.
        - groups: (n,) the item each vector belongs to, for items of several vectors (regional search).
        - ids: one int or string per item; row numbers (or the group labels) by default.

        The graph:

        - k: neighbours of each vector, itself not counted; a k above n − 1 is clipped.
        - kernel: how neighbours weigh, `Local()` by default (a gentler one for large collections whose long waves would
          not fit a basis), `Power(3)` with groups; gamma is short for `Power(gamma)`.
        - lists: neighbours from elsewhere, row numbers (n, k) or a pair of these and their dot products; k is theirs.
        - recall: of the neighbour lists; None is exact but for large n, where it is 0.95.
        - balanced: divide the score of every vertex by the root of its degree, so that popular ones do not win.
        - merge_copies: equal vectors are one vertex. across_items: with groups, neighbours are those of other items.

        The basis:

        - spectrum: `Chebyshev`, `Lanczos`, `Simultaneous`, `Exact`, or None for no basis. A rank above n is clipped.
        - components: "blocks" (every component by itself, at least `min_rank` pairs each), "giant" (the largest only,
          as in the paper's experiments) or "whole".
        - sparsity: fraction of the basis's entries to drop.
        - start: an earlier index of the same vectors but for those after its last row; `Chebyshev` begins with its
          basis, which saves time only where hardly anything is new.

        What `search` does unless told otherwise: filter (h), neighbors (how many vectors a query observes), blend (what
        Euclidean similarity adds: `Anchor()` by default, 0 for nothing). pooling: how the scores of an item's vectors
        become one, "gmp" or "sum".

        The work: workdir is a folder for finished stages; after a crash the same call goes on from there. memory:
        bytes, or text such as "20G", that the build may take, what the machine has by default; `ResourceError` before
        the work if it takes more. fast: add approximate searches (`accelerate`); None where one query would otherwise
        read more than a quarter of a gigabyte. progress: a function told (stage, done, total); False for silence; by
        default bars in a terminal or notebook, and a line per stage in the log "longwave".

        `Index.build(vectors, **longwave.PAPER)` is the paper's own setting. auto is accepted and changes nothing.
        """
        check_pooling(pooling)
        chosen = _kernel_from(kernel, gamma, regional=groups is not None)
        if blend is None:
            blend = Anchor() if groups is None else REGIONAL
        defaults = Defaults(filters.text_of(filter), neighbors, blending.text_of(blending.parse(blend)))
        check_counts(neighbors=neighbors)
        recipe = Recipe(k, chosen, spectrum, components, min_rank, sparsity, recall, seed)
        if start is not None and not isinstance(start, Index):
            raise InputError(f"start must be an Index, got {type(start).__name__}; open one with Index.load(path)")
        array = check_vectors(vectors)
        items = Items.make(len(array), groups=groups, ids=ids)
        width = np.shape(lists[0] if isinstance(lists, tuple) else lists)[-1] if lists is not None else k
        n_pooled = 0 if items.item_of is None else len(items)
        n, dimension = array.shape
        work = Work(n, dimension, min(width, n - 1), spectrum, n_pooled, sparsity is not None)
        limit = None if memory is None else resources.parse_size(memory)
        resources.check(work, limit)
        unit = unit_vectors(array, checked=True)
        given = None
        if lists is not None:
            given = check_lists(unit, *(lists if isinstance(lists, tuple) else (lists,)))
        pooled = None if items.item_of is None else pooling_matrix(unit, items.item_of, pooling=pooling)
        same = copies.find_copies(unit) if merge_copies else None
        if same is not None:
            firsts, row_of = same
            items = replace(items, row_of=row_of)
            unit = unit[firsts]
            if given is not None:
                given = copies.lists_of_firsts(given, firsts, row_of, k=width)
            if pooled is not None:
                pooled = copies.columns_of_firsts(pooled, row_of)
        with shown(progress) as report:
            made = recipe.make(
                unit,
                given=given,
                item_of=items.first_item_of_rows() if across_items else None,
                earlier=None if start is None else start._basis_of_first(unit),
                workdir=None if workdir is None else Path(workdir),
                check=lambda sizes: resources.check(work, limit, component=int(sizes.max())),
                progress=report,
            )
            settings = Settings(
                k=recipe.k,
                k_used=made.k_used,
                recall=made.recall,
                kernel=kernels.text_of(made.kernel),
                balanced=bool(balanced),
                spectrum=repr(made.method),
                rank=None if made.method is None else made.method.rank,
                components=components,
                min_rank=min_rank,
                pooling=pooling,
                sparsity=sparsity,
                seed=seed,
                search=defaults,
            )
            index = cls(unit, made.graph, made.spectrum, items, settings, similarity=made.kernel, pooling=pooled)
            index = index._with_pooled()
            measured = fidelity(index.system, filter, seed=seed)
            index = replace(index, settings=replace(settings, fidelity=measured))
            if fast is None:
                fast = index.spectrum is not None and plan.wants_approximate(unit.size, index.system.pooled_basis)
            return index.accelerate() if fast else index

    def search(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        filter: Filter | None = None,
        neighbors: int | None = None,
        cut: int | None = None,
        query_groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        region_sum: str = "similarities",
        where: ArrayLike | None = None,
        tolerance: float | None = None,
        solver: Solver | Euclidean | None = None,
        blend: float | str | Blending | None = None,
        on_error: str = "raise",
    ) -> Hits:
        """Rank the items along the manifold: the online stage. Returns `Hits`, (queries, k), or as many as there are.

        queries: (q, d), or one vector (d,). filter: h, any callable; no rebuild. neighbors: vertices that each query
        vector observes. blend: what Euclidean similarity adds to the scores: `Anchor()`, a weight or `Blend` for FSRw,
        0 for nothing. Where these three are not given, the index's own are taken (`settings.search`). cut: entries of y
        kept, all by default. query_groups: the query of each row, 0 … Q−1, for queries of several regions or examples.
        weights: of each row in its query, below 0 for what is not wanted.
        region_sum: "similarities" as in the paper, "products" as in its published scripts. where: only these items, a
        mask (N,) or a list of ids; scores are those of the search without it. tolerance: relative error that the answer
        may have, by iteration on the graph where the basis is not enough; `hits.errors` and `hits.steps` tell. solver:
        how h(𝒲)y is evaluated; `Euclidean()` ranks without the graph. on_error: "raise", or "skip" to leave out queries
        with NaN, infinite or all-zero rows; `hits.queries` are then those answered. `hits.confidence` tells how far the
        graph can be trusted with each.
        """
        filter, neighbors = self._defaults(filter, neighbors)
        if blend is not None and blending.parse(blend) is not None and isinstance(solver, Euclidean):
            raise InputError(
                "blend adds Euclidean similarity to a manifold search; leave it out with solver=Euclidean()"
            )
        mixed = blending.parse(self.settings.search.blend if blend is None else blend)
        check_counts(k=k, neighbors=neighbors, **({} if cut is None else {"cut": cut}))
        check_value(filter, "filter", "a value such as LowPass(0.99), or a function of the eigenvalues")
        solver = _SOLVER if solver is None else solver
        if not isinstance(solver, Euclidean):
            check_value(solver, "solver", "a value such as Spectral() or Euclidean()")
        if tolerance is not None:
            solver = self._solver_within(tolerance, filter, solver)
        allowed = None if where is None else self.items.allowed(where)
        asked = Queries.make(queries, dimension=self.dimension, groups=query_groups, weights=weights, on_error=on_error)
        hits = online.search(
            self.online,
            asked,
            k,
            filter=filter,
            neighbors=neighbors,
            cut=cut,
            region_sum=region_sum,
            solver=solver,
            blend=mixed,
            allowed=allowed,
        )
        return replace(hits, queries=asked.numbers)

    def search_by_id(self, ids: ArrayLike, k: int = 10, *, include_self: bool = False, **options: Any) -> Hits:
        """More like these: the vectors of known items are the queries, one query for each id.

        The item itself is left out of its hits unless `include_self`. options: as for `search`.
        """
        check_counts(k=k)
        places = self.items.places(ids)
        rows, groups = self.items.rows_of(places)
        seen = self.vectors[rows].any(axis=1)  # a zero vector has no direction; the item may have others
        missing = np.setdiff1d(np.arange(len(places)), groups[seen])
        if missing.size:
            raise InputError(f"item {self.items.ids[places[missing[0]]].item()!r} is a zero vector: nothing is like it")
        rows, groups = rows[seen], groups[seen]
        taken = [name for name in ("query_groups", "weights", "on_error") if name in options]
        if taken:
            raise InputError(f"search_by_id takes its queries from the index; leave out {', '.join(taken)}")
        vectors = self.vectors[rows]
        own_places = places
        if options.get("where") is not None:
            own_places = places[np.isin(places, self.items.allowed(options["where"]))]
        if include_self or not len(own_places):
            return self.search(vectors, k, query_groups=groups, **options)
        hits = self.search(vectors, k + 1, query_groups=groups, **options)
        return without_self(hits, self.items.ids[places])

    def explain(
        self,
        query: ArrayLike,
        item: Any,
        *,
        filter: Filter | None = None,
        neighbors: int | None = None,
        weights: ArrayLike | None = None,
    ) -> Explanation:
        """Why this item: what each neighbour of the query contributes to its score, and the way through the graph.

        query: one vector (d,), or the rows (m, d) of one query. item: an id of the index. The score is that of `search`
        with the same filter and neighbours; `Explanation` tells what it consists of.
        """
        filter, neighbors = self._defaults(filter, neighbors)
        check_counts(neighbors=neighbors)
        asked = Queries.make(query, dimension=self.dimension, weights=weights)
        asked = replace(asked, query_of=np.zeros_like(asked.query_of))  # all rows are one query
        place = int(self.items.places([item])[0])
        options: dict[str, Any] = {"where": [item], "query_groups": asked.query_of, "weights": asked.weights}
        solver = ChebyshevFilter() if self.spectrum is None else None
        score = self.search(asked.regions, 1, filter=filter, neighbors=neighbors, solver=solver, **options)
        similar = self.search(asked.regions, 1, solver=Euclidean(), **options)
        y = self.observe(asked, neighbors=neighbors)
        way = explanation.route(self.system, y, int(self.items.target_of(np.array([place]))[0]), filter)
        return Explanation(
            float(score.scores[0, 0]),
            float(way.contributions.sum()),
            float(similar.scores[0, 0]),
            self.ids[self.items.first_items(way.vertices)],
            way.observed,
            way.contributions,
            self._named_path(way.path, place),
        )

    def _named_path(self, vertices: NDArray[np.int64], place: int) -> list[object]:
        """A path of vertices as ids of items, each once, that ends with the item itself."""
        if not len(vertices):
            return []
        steps = self.items.first_items(vertices)
        names = self.ids[steps[np.concatenate([[True], np.diff(steps) != 0])]].tolist()
        own = self.ids[place].item()
        if int(self.items.target_of(np.array([place]))[0]) == vertices[-1] and self.items.item_of is None:
            names[-1] = own  # a copy of it stands for it in the graph
        return names if names[-1] == own else [*names, own]  # one outside of the graph hangs on its neighbours in it

    def observe(
        self,
        queries: Queries,
        *,
        neighbors: int | None = None,
        cut: int | None = None,
        region_sum: str = "similarities",
    ) -> Sparse:
        """The first search: query vectors to y, CSR (queries, n). neighbors: the index's own by default."""
        _, neighbors = self._defaults(None, neighbors)
        found = online.first_search(self.online, queries.regions, online.lists_needed(self.online, neighbors))
        return online.observe(self.online, queries, found, neighbors=neighbors, cut=cut, region_sum=region_sum)

    def embed(self, vectors: ArrayLike, *, filter: Filter | None = None, neighbors: int | None = None) -> Array:
        """φ̂(z) of unseen vectors (§5.4): points in ℝʳ whose dot product is the manifold kernel κ̂. (m, d) -> (m, r)."""
        filter, neighbors = self._defaults(filter, neighbors)
        basis = self.system.require_spectrum("embed")
        return extension.embed(basis, self._psi(unit_queries(vectors, dimension=self.dimension), neighbors), filter)

    def kernel(
        self, first: ArrayLike, second: ArrayLike, *, filter: Filter | None = None, neighbors: int | None = None
    ) -> Array:
        """κ̂(z₁, z₂), eq. (12), between unseen vectors. (m₁, d), (m₂, d) -> (m₁, m₂)."""
        filter, neighbors = self._defaults(filter, neighbors)
        basis = self.system.require_spectrum("kernel")
        one, two = (self._psi(unit_queries(v, dimension=self.dimension), neighbors) for v in (first, second))
        return extension.kernel(basis, one, two, filter)

    def extend(
        self,
        vectors: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        neighbors: int | None = None,
        normalized: bool = True,
    ) -> Index:
        """An index that also ranks items outside of the graph, expressed by their neighbours in it (§5.4).

        The score of a new vector z is ψ(z)ᵀx; `normalized` divides ψ by its sum, which puts new and old items on one
        scale (False: as printed). neighbors: of every new vector, twice as many as a query observes by default. Nothing
        is rebuilt: one search per new vector. Rebuild when most items are new.
        """
        neighbors = 2 * self.settings.search.neighbors if neighbors is None else neighbors
        check_counts(neighbors=neighbors)
        unit = unit_vectors(vectors)
        if unit.shape[1] != self.dimension:
            raise InputError(f"vectors has {unit.shape[1]} dimensions but the index has {self.dimension}")
        rows = self._psi(unit, neighbors, normalized=normalized)
        fresh = Items.make(len(unit), groups=groups, ids=ids)
        items = self.items.extend(fresh, default=ids is None and groups is None, n_rows=len(self.vectors))
        stacked = rows if self.extension is None else sp.csr_array(sp.vstack([self.extension, rows]))
        vectors_now = (
            np.vstack([self.vectors, unit]) if isinstance(self.vectors, np.ndarray) else self.vectors.with_rows(unit)
        )
        pooling = _extended_pooling(self, unit, fresh) if items.item_of is not None else None
        changed: dict[str, Any] = {"vectors": vectors_now, "items": items, "extension": stacked, "pooling": pooling}
        settings = replace(self.settings, rows=None)
        if pooling is not None:  # Ū has new rows, and the second search knows nothing of them
            changed |= {"pooled": None, "second": None}
            settings = replace(settings, second=None)
        whole = replace(self, **changed, rows=None, rows_filter=None, settings=settings)
        return whole._with_pooled()

    def accelerate(
        self,
        *,
        first: str | None = "IVF,SQfp16",
        second: str | None = "IVF,SQfp16",
        recall: float | None = None,
        overlap: float | None = None,
        filter: Filter | None = None,
    ) -> Index:
        """An index whose searches take sublinear time: one query at a time is then answered approximately.

        first, second: kinds of search over the vectors and over Ū, any faiss factory string; None for an exact scan.
        recall: of the first search's 10 neighbours; overlap: of the 100 best of the second, both 0.995 by default and
        measured on 200 vectors of the collection to choose the effort; `settings` has what was reached, and a warning
        says if it is less than you asked for. Batches of more than 16 queries, `where=` and other solvers than
        `Spectral` stay exact in the second search. `extend`, `embed` and `kernel` use the first search too.
        """
        for name, value in (("recall", recall), ("overlap", overlap)):
            if value is not None and not 0 < value <= 1:
                raise InputError(f"{name} must be above 0 and at most 1, got {value}")
        filter, _ = self._defaults(filter, None)
        vertices = self.vectors[: self.graph.n_vertices]
        rng = np.random.default_rng(self.settings.seed)
        sample = np.sort(rng.choice(len(vertices), size=min(200, len(vertices)), replace=False))
        one = two = None
        if first is not None:
            one = ann.build(vertices, first, queries=vertices[sample], k=min(10, len(vertices)), target=recall)
        parts = () if self.spectrum is None else self.system.pooled_basis.parts
        if second is not None and not parts:
            warnings.warn(
                "the second search stays exact: this basis has no dense part (it was made sparse, or there is none)",
                DataWarning,
                stacklevel=2,
            )
        elif second is not None:
            two = tuple(self._part_search(number, second, overlap, filter) for number in range(len(parts)))
        structures = None if two is None else tuple(_structure(search) for search in two)
        settings = replace(self.settings, first=_structure(one), second=structures)
        return replace(self, first=one, second=two, settings=settings)

    def _part_search(self, number: int, kind: str, overlap: float | None, filter: Filter) -> Ann | None:
        """An approximate search over one part of Ū; None where a scan is as fast."""
        part = self.system.pooled_basis.parts[number]
        if len(part.rows) < _SCANNED and number > 0:
            return None
        waves = sample_waves(self.system, number, filter, count=200, seed=self.settings.seed)
        rows = ranked_rows(self.system, number)
        return ann.build(rows, kind, queries=waves, k=min(100, len(part.rows)), target=overlap)

    def compress(self, *, basis: str | None = None, vectors: str | None = None) -> Index:
        """An index that takes less memory: the dense part of U and Ū, and the vectors, in fewer bytes.

        basis: "float16" or "int8". vectors: "float16", "int8", or a faiss quantiser: "PQ64" is 64 bytes a vector. None
        leaves them as they are. Searches are then those of the numbers as stored; `settings` has their relative error.
        Call `accelerate` before, if at all. What was stored exactly is gone from the index that this returns.
        """
        changed: dict[str, Any] = {}
        stored: dict[str, Any] = {}
        if basis is not None:
            check_basis_kind(basis)
            spectrum = self.system.require_spectrum("compress(basis=...)")
            whole = spectrum.eigenvectors
            if not whole.parts:
                raise InputError("this basis has no dense part: it was made sparse, and is small already")
            if not all(isinstance(part.values, np.ndarray) for part in whole.parts):
                raise InputError("the basis of this index is stored in fewer bytes already; compress the original")
            small = whole.compress(basis)
            changed["spectrum"] = replace(spectrum, eigenvectors=small)
            changed["pooled"] = None if self.pooled is None else self.pooled.compress(basis)
            pairs = zip(whole.parts, small.parts, strict=True)
            stored["basis_as"] = Stored(basis, max([relative_error(a.values, b.values) for a, b in pairs], default=0.0))
        if vectors is not None:
            if not isinstance(self.vectors, np.ndarray):
                raise InputError("the vectors of this index are stored in fewer bytes already; compress the original")
            changed["vectors"] = compress(self.vectors, vectors)
            stored["vectors_as"] = Stored(vectors, relative_error(self.vectors, changed["vectors"]))
        return replace(self, settings=replace(self.settings, **stored), **changed)

    def precompute(
        self,
        *,
        filter: Filter | None = None,
        top: int = 500,
        tolerance: float | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """An index that holds the `top` largest entries of every row of h(𝒲) for one h, for `solver=Precomputed()`.

        tolerance: relative error of the rows, by iteration on the graph; None for the spectral answer. Time that of n
        queries, memory 8 bytes an entry.
        """
        check_counts(top=top)
        filter, _ = self._defaults(filter, None)
        solver: Solver = _SOLVER if self.spectrum is not None else ChebyshevFilter()
        if tolerance is not None:
            solver = self._solver_within(tolerance, filter, _SOLVER)
        rows = largest_entries(self.system, solver, filter, top=top, progress=progress)
        settings = replace(self.settings, rows=repr(filter))
        return replace(self, rows=rows, rows_filter=fingerprint(filter), settings=settings)

    def attach(self, about: Mapping[str, Any], arrays: Mapping[str, ArrayLike] | None = None) -> Index:
        """An index that keeps facts of the user's beside its own: how the vectors were made, where the pictures are.

        about: anything that JSON can hold. arrays: numbers or strings, by name. Both are saved and loaded with the
        index and replace what was attached before; no search reads them.
        """
        try:
            known = json.loads(json.dumps(dict(about)))
        except (TypeError, ValueError) as error:
            raise InputError(f"about must be what JSON can hold (texts, numbers, lists, objects): {error}") from error
        kept = {name: np.asarray(array) for name, array in (arrays or {}).items()}
        wrong = [name for name, array in kept.items() if not name.isidentifier() or array.dtype.kind == "O"]
        if wrong:
            raise InputError(f"attached array {wrong[0]!r} must have a plain name and hold numbers or strings")
        return replace(self, about=known, attached=kept)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the index folder; it appears complete or not at all. `force` replaces an index that is there."""
        facts = {"settings": asdict(self.settings), "about": dict(self.about)}
        facts = json.loads(json.dumps(facts, default=storage.plain))
        try:
            Settings.parse(facts["settings"])
        except ValueError as error:
            raise InputError(f"this index could not be loaded again: {error}; build it with another value") from error
        storage.write(Path(path), facts, self._arrays(), force=force)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = False, kernel: Kernel | None = None) -> Index:
        """Open an index folder, memory-mapped; `verify` reads everything once and compares checksums.

        Without it large arrays of plain numbers are taken as they are: damage to them may show as wrong scores. kernel:
        the function that the index was built with, where it is one of the user's own.
        """
        manifest, arrays = storage.read(Path(path), verify=verify)
        try:
            attached = {n.removeprefix(_ATTACHED): a for n, a in arrays.items() if n.startswith(_ATTACHED)}
            settings = Settings.parse(manifest.get("settings"))
            if kernel is None and settings.kernel.startswith("own:"):
                raise InputError(f"{path} was built with a kernel of your own; give it: Index.load(path, kernel=...)")
            own = kernels.parse(settings.kernel) if kernel is None else kernel
            index = cls._from_arrays(settings, arrays, own)
            return replace(index, about=dict(manifest.get("about", {})), attached=attached)
        except (MemoryError, InputError):
            raise
        except Exception as error:  # whatever the numbers of a damaged folder lead to
            raise CorruptIndexError(f"{path} is damaged ({error}); copy it again, or build the index again") from error

    @property
    def dimension(self) -> int:
        """Dimensions of a vector."""
        return int(self.vectors.shape[1])

    @property
    def ids(self) -> Array:
        """The id of every item. (N,)"""
        return self.items.ids

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        rank = "no basis" if self.spectrum is None else f"rank {self.spectrum.rank}"
        return f"<Index of {len(self)} items, {len(self.vectors)} × {self.dimension} vectors, {rank}>"

    def memory(self) -> dict[str, int]:
        """Bytes of each part: vectors, graph (read by iterative solvers), basis (U), pooled (Ū), search structures."""
        matrix = self.graph.normalized
        return {
            "vectors": self.vectors.nbytes,
            "graph": matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes,
            "basis": 0 if self.spectrum is None else self.spectrum.eigenvectors.nbytes_searched,
            "pooled": 0 if self.pooled is None else self.pooled.nbytes_searched,
            "first search": 0 if self.first is None else self.first.nbytes,
            "second search": sum(search.nbytes for search in self.second or () if search is not None),
            "rows": 0 if self.rows is None else sum(a.nbytes for a in pack_sparse("rows", self.rows).values()),
        }

    @cached_property
    def online(self) -> Online:
        """What the online stage reads."""
        return Online(
            self.vectors,
            self.items,
            self.graph,
            self.system,
            self.similarity,
            self.pooling,
            self.settings.pooling,
            self.extension,
            self.first,
            self.second,
        )

    @cached_property
    def system(self) -> System:
        """What solvers work on: how the scores of vertices become those of items is part of it."""
        pooling = added = None
        if self.pooling is not None:
            pooling = self._vertex_pooling
        elif self.extension is not None:
            added = self._balance(self.extension)
        return System(
            self.graph.normalized,
            self.spectrum,
            pooling,
            self.pooled,
            self._gains,
            added,
            self.rows,
            self.rows_filter,
            self.settings.rows,
        )

    @cached_property
    def _gains(self) -> NDArray[np.float32] | None:
        """d^{−1/2} of every vertex, 1 where it is isolated; None for scores as the paper has them. (n,)"""
        if not self.settings.balanced:
            return None
        degrees = self.graph.degrees
        return np.where(degrees > 0, np.maximum(degrees, 1e-9), 1.0).astype(np.float32) ** np.float32(-0.5)

    def _balance(self, pooling: Sparse) -> Sparse:
        """Σ D^{−1/2}, where scores are balanced. CSR (rows, n)"""
        if self._gains is None:
            return pooling
        data = pooling.data * self._gains[pooling.indices]
        return sp.csr_array((data, pooling.indices, pooling.indptr), pooling.shape)

    @cached_property
    def _vertex_pooling(self) -> Sparse | None:
        """Σ from the vertices of the graph to items of several vectors, those outside of the graph included."""
        if self.pooling is None:
            return None
        if self.extension is None:
            return self._balance(self.pooling)
        n = self.graph.n_vertices
        lift = sp.csr_array(sp.vstack([sp.eye_array(n, dtype=np.float32, format="csr"), self.extension]))
        return self._balance(sp.csr_array(self.pooling @ lift))

    def _basis_of_first(self, vectors: NDArray[np.float32]) -> Basis | None:
        """U as the start of a build of these vectors, whose first rows should be those of this index."""
        if self.dimension != vectors.shape[1] or self.graph.n_vertices > len(vectors):
            raise InputError(
                f"start has {self.graph.n_vertices:,} × {self.dimension} vectors, which cannot be the first rows of "
                f"{len(vectors):,} × {vectors.shape[1]}; leave it out, or give the index that was built from them"
            )
        return None if self.spectrum is None else self.spectrum.eigenvectors

    def _defaults(self, filter: Filter | None, neighbors: int | None) -> tuple[Filter, int]:
        """What was given, or what the index says."""
        known = self.settings.search
        return (
            filters.parse(known.filter) if filter is None else filter,
            known.neighbors if neighbors is None else neighbors,
        )

    def _solver_within(self, tolerance: float, filter: Filter, solver: Solver | Euclidean) -> Solver:
        """The solver that reaches a relative error: the basis and as many steps on the graph as that takes."""
        if solver != _SOLVER:
            raise InputError(f"tolerance chooses the solver; give it to the solver instead, or leave out {solver!r}")
        if not isinstance(filter, LowPass):
            return ChebyshevFilter(tolerance=tolerance, relative=True)
        return ConjugateGradient(tolerance) if self.spectrum is None else Hybrid(tolerance)

    def _with_pooled(self) -> Index:
        """Compute Ū = ΣU offline, so that a query costs the same for global and regional vectors."""
        if self.spectrum is None or self._vertex_pooling is None:
            return self
        pooled = self.spectrum.eigenvectors.pool(self._vertex_pooling)
        kept = self.settings.basis_as
        return replace(self, pooled=pooled if kept is None else pooled.compress(kept.kind))

    def _psi(self, regions: NDArray[np.float32], count: int, *, normalized: bool = False) -> Sparse:
        return extension.psi(
            online.first_search(self.online, regions, online.lists_needed(self.online, count)),
            count=count,
            n_vertices=self.graph.n_vertices,
            kernel=self.similarity,
            scales=self.graph.scales,
            normalized=normalized,
        )

    def _arrays(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {**pack_rows("vectors", self.vectors), "ids": self.items.ids}
        arrays |= {
            "degrees": self.graph.degrees,
            "labels": self.graph.labels,
            "reach": self.graph.reach,
            **pack_sparse("graph", self.graph.normalized),
        }
        if self.graph.scales is not None:
            arrays["scales"] = self.graph.scales
        if self.items.item_of is not None:
            arrays["item_of"] = self.items.item_of
        if self.items.row_of is not None:
            arrays["row_of"] = self.items.row_of
        if self.extension is not None:
            arrays |= pack_sparse("extension", self.extension)
        if self.spectrum is not None:
            arrays |= pack_spectrum(self.spectrum)
        if self.pooling is not None:
            arrays |= pack_sparse("pooling", self.pooling)
        if self.pooled is not None:
            arrays |= pack_basis("pooled", self.pooled)
        searches = {"first": self.first, **{f"second_{i}": search for i, search in enumerate(self.second or ())}}
        arrays |= {name: search.pack() for name, search in searches.items() if search is not None}
        if self.rows is not None:
            arrays |= {**pack_sparse("rows", self.rows), "rows_filter": np.asarray(self.rows_filter)}
        return arrays | {_ATTACHED + name: array for name, array in self.attached.items()}

    @classmethod
    def _from_arrays(cls, settings: Settings, arrays: Mapping[str, Array], similarity: Kernel) -> Index:
        n = len(take(arrays, "labels", PLACES, None))
        ids = take(arrays, "ids", (*PLACES, np.str_), None)
        vectors = unpack_rows("vectors", arrays, settings.vectors_as.kind if settings.vectors_as else "")
        (m, dimension), n_items = vectors.shape, len(ids)
        row_of = take_places(arrays, "row_of", None, m) if "row_of" in arrays else None
        given = m if row_of is None else len(row_of)
        item_of = take_places(arrays, "item_of", given, n_items) if "item_of" in arrays else None
        if not (0 < n <= m and dimension and n_items) or (item_of is None and n_items != given):
            raise ValueError(f"{n} vertices, {m} × {dimension} vectors and {n_items} ids do not fit each other")
        items = Items(ids, item_of, row_of)
        if row_of is not None and len(np.unique(row_of)) != m:
            raise ValueError(f"row_of names {len(np.unique(row_of))} of {m} vectors")
        scaled = kernels.scale_neighbor(similarity) is not None
        spectrum = pooled = second = None
        parts: tuple[Part, ...] = ()
        if "eigenvalues" in arrays:
            spectrum = unpack_spectrum(arrays, n)
            parts = spectrum.eigenvectors.parts
        if spectrum is not None and "pooled_sparse_indptr" in arrays:
            pooled = unpack_basis("pooled", arrays, n_items, spectrum.rank)
            if [part.width for part in pooled.parts] != [part.width for part in parts]:
                raise ValueError("pooled does not have the columns of basis")
            parts = pooled.parts
        if settings.second is not None:
            over = enumerate(zip(settings.second, parts, strict=True))
            second = tuple(unpack_search(f"second_{i}", arrays, s, part.values.shape) for i, (s, part) in over)
        return cls(
            vectors=vectors,
            graph=Graph(
                unpack_sparse("graph", arrays, (n, n)),
                take(arrays, "degrees", FLOATS, n),
                take_places(arrays, "labels", n, n),
                take(arrays, "reach", FLOATS, n),
                take(arrays, "scales", FLOATS, n) if scaled else None,
            ),
            spectrum=spectrum,
            items=items,
            settings=settings,
            similarity=similarity,
            extension=unpack_sparse("extension", arrays, (m - n, n)) if m > n else None,
            pooling=None if item_of is None else unpack_sparse("pooling", arrays, (n_items, m)),
            pooled=pooled,
            first=unpack_search("first", arrays, settings.first, (n, dimension)),
            second=second,
            rows=unpack_sparse("rows", arrays, (n, items.n_targets)) if settings.rows else None,
            rows_filter=take(arrays, "rows_filter", FLOATS, len(fingerprint(LowPass()))) if settings.rows else None,
        )


def _structure(found: Ann | None) -> Structure | None:
    return None if found is None else Structure(found.kind, found.effort, found.recall, found.k)


def _kernel_from(kernel: Kernel | None, gamma: float | None, *, regional: bool) -> Kernel | None:
    if gamma is not None:
        if kernel is not None:
            raise InputError(f"gamma={gamma} is short for kernel=Power({gamma}); give only one of the two")
        return Power(gamma)
    if kernel is None and regional:
        return Power(3.0)
    return kernel


def _extended_pooling(index: Index, added: NDArray[np.float32], fresh: Items) -> Sparse:
    """Σ of the items there were and of the new ones, which never share a vector."""
    rows = len(index.vectors)
    first = index.pooling
    if first is None:
        where = np.arange(len(index)), np.arange(rows) if index.items.row_of is None else index.items.row_of
        first = sp.csr_array((np.ones(len(index), dtype=np.float32), where), shape=(len(index), rows))
    own = np.arange(len(added)) if fresh.item_of is None else fresh.item_of
    second = pooling_matrix(added, own, pooling=index.settings.pooling)
    return sp.csr_array(sp.block_diag([first, second], format="csr"), dtype=np.float32)
