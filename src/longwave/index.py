"""`Index`: build, search, save, load. It composes the modules below it and computes nothing itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave import components as blocks
from longwave import explanation, extension, graph, neighbors, observation, resources, storage
from longwave.arrays import check_range, pack_sparse, pack_spectrum, unpack_sparse, unpack_spectrum
from longwave.basis import Basis
from longwave.checkpoint import Checkpoint, fingerprint, open_checkpoint
from longwave.checks import check_counts, check_value
from longwave.errors import CorruptIndexError, DataWarning, InputError
from longwave.explanation import Explanation
from longwave.filters import LowPass
from longwave.items import Items
from longwave.observation import Queries
from longwave.pooling import check_pooling, pooling_matrix
from longwave.ranking import Blend, Euclidean, best_of, blend_scores, euclidean_scores, without_self
from longwave.solvers import ChebyshevFilter, ConjugateGradient, Hybrid, Solver, Spectral, System
from longwave.spectrum import Chebyshev, Method, sparsify
from longwave.spectrum.method import Run
from longwave.types import Array, Filter, Graph, Hits, Neighbors, Progress, Solution, Sparse, Spectrum
from longwave.vectors import unit_queries, unit_vectors

_FILTER, _SOLVER, _SPECTRUM = LowPass(0.99), Spectral(), Chebyshev(rank=1000)  # frozen values: safe as defaults
COMPONENTS = ("blocks", "giant", "whole")
# Scores held at a time: 2^25 float64 are 256 MB, and a solver holds a handful of such arrays.
_SCORE_NUMBERS = 1 << 25


@dataclass(frozen=True)
class Settings:
    """How an index was built: what was asked for, what was possible (`k_used`), the lists' measured recall."""

    k: int
    k_used: int
    recall: float | None
    gamma: float
    spectrum: str
    rank: int | None
    components: str
    min_rank: int
    pooling: str
    sparsity: float | None
    seed: int


@dataclass(frozen=True, eq=False)
class Index:
    """A collection of vectors, its graph and the graph's Fourier basis, ready to be searched along the manifold.

    vectors: (m, d) unit float32; the first n are the vertices of the graph, the others were added by `extend`.
    items: which item each vector belongs to. extension: ψ of the others, CSR (m − n, n), or None.

    >>> import longwave as lw
    >>> vectors, query = lw.datasets.arcs()
    >>> index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    >>> index.search(query, k=6, solver=lw.Euclidean()).ids
    array([[0, 1, 6, 2, 7, 8]])
    >>> index.search(query, k=6, neighbors=1, filter=lw.LowPass(0.8)).ids
    array([[0, 1, 2, 3, 4, 5]])
    """

    vectors: NDArray[np.float32]
    graph: Graph
    spectrum: Spectrum | None
    items: Items
    settings: Settings
    extension: Sparse | None = None
    pooled: Basis | None = field(default=None, repr=False)

    @classmethod
    def build(
        cls,
        vectors: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        lists: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        k: int = 50,
        gamma: float = 3.0,
        spectrum: Method | None = _SPECTRUM,
        components: str = "blocks",
        min_rank: int = 5,
        pooling: str = "gmp",
        sparsity: float | None = None,
        recall: float | None = None,
        seed: int = 0,
        start: Index | None = None,
        workdir: str | Path | None = None,
        memory: int | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Build the graph and its basis: the offline stage.

        vectors: (n, d), any real type and layout. groups: (n,) the item each vector belongs to, for regional search.
        ids: one int or string per item; row numbers (or the group labels) by default. lists: neighbours from elsewhere,
        row numbers (n, k) or a pair of these and their dot products; k is then theirs. k: neighbours in the graph, the
        vector itself not counted. spectrum: `Chebyshev`, `Lanczos`, `Simultaneous`, `Exact`, or None for no basis.
        components: "blocks" (every component by itself, at least `min_rank` pairs each), "giant" (the largest only,
        as in the paper's experiments) or "whole". pooling: "gmp" or "sum". sparsity: fraction of the basis's entries to
        drop. recall: of the neighbour lists; None is exact but for large n, where it is 0.95. start: an earlier index
        of the same vectors but for those after its last row; `Chebyshev` begins with its basis, which saves time.
        workdir: a folder for finished stages and rounds; after a crash the same call goes on from there. memory: bytes
        that the build may take, what the machine has by default; `ResourceError` before the work if it takes more.
        A k above n − 1 and a rank above n are clipped.
        """
        check_pooling(pooling)
        if spectrum is not None:
            check_value(spectrum, "spectrum", "a value such as Chebyshev(rank=1000), or None")
        _check_build(k=k, gamma=gamma, components=components, min_rank=min_rank, sparsity=sparsity, seed=seed)
        unit = unit_vectors(vectors)
        items = Items.make(len(unit), groups=groups, ids=ids)
        k_used = min(k, len(unit) - 1)
        resources.check(*unit.shape, k=k_used, method=spectrum, memory=memory)
        given = None
        if lists is not None:
            given = neighbors.check_lists(unit, *(lists if isinstance(lists, tuple) else (lists,)))
        checkpoint = None
        if workdir is not None:
            asked: dict[str, Any] = {
                "k": k,
                "gamma": gamma,
                "spectrum": repr(spectrum),
                "components": components,
                "min_rank": min_rank,
            }
            known = None if given is None else [fingerprint(given.ids), fingerprint(given.similarities)]
            asked |= {"recall": recall, "seed": seed, "lists": known}
            checkpoint = open_checkpoint(Path(workdir), unit, asked)
        if given is not None:
            found, measured, k_used = given, None, given.ids.shape[1]
        else:
            found, measured = _lists(unit, max(k_used, 1), recall, seed, progress, checkpoint)
        vertex_graph = graph.build(found, gamma=gamma)
        del found, given
        run = Run(seed, progress, checkpoint)
        basis = _decompose(vertex_graph, spectrum, components, min_rank, run, _earlier_basis(start, unit))
        if basis is not None and sparsity is not None:
            count = round((1 - sparsity) * basis.eigenvectors.nonzeros)
            basis = sparsify(basis, vertex_graph.normalized, nonzeros=count)
        rank = None if spectrum is None else spectrum.rank
        settings = Settings(
            k, k_used, measured, gamma, repr(spectrum), rank, components, min_rank, pooling, sparsity, seed
        )
        return cls(unit, vertex_graph, basis, items, settings)._with_pooled()

    def search(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        filter: Filter = _FILTER,
        neighbors: int = 10,
        cut: int | None = None,
        query_groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        region_sum: str = "similarities",
        where: ArrayLike | None = None,
        tolerance: float | None = None,
        solver: Solver | Euclidean = _SOLVER,
        blend: float | Blend | None = None,
        on_error: str = "raise",
    ) -> Hits:
        """Rank the items along the manifold: the online stage. Returns `Hits`, (queries, min(k, items)).

        queries: (q, d), or one vector (d,). filter: h, any callable; no rebuild. neighbors: vertices that each query
        vector observes. cut: entries of y kept, all by default. query_groups: the query of each row, 0 … Q−1, for
        queries of several regions or examples. weights: of each row in its query, below 0 for what is not wanted.
        region_sum: "similarities" as in the paper, "products" as in its published scripts. where: only these items, a
        mask (N,) or a list of ids; scores are those of the search without it. tolerance: relative error that the answer
        may have, by iteration on the graph where the basis is not enough; `hits.errors` and `hits.steps` tell. solver:
        how h(𝒲)y is evaluated. blend: weight of Euclidean similarity where the basis is thin (FSRw). on_error: "raise",
        or "skip" to leave out queries with NaN, infinite or all-zero rows; `hits.queries` are then those answered.
        """
        check_counts(k=k, neighbors=neighbors, **({} if cut is None else {"cut": cut}))
        check_value(filter, "filter", "a value such as LowPass(0.99), or a function of the eigenvalues")
        if not isinstance(solver, Euclidean):
            check_value(solver, "solver", "a value such as Spectral() or Euclidean()")
        mixed = blend if isinstance(blend, Blend) or blend is None else Blend(weight=blend)
        if mixed is not None and isinstance(solver, Euclidean):
            raise InputError(
                "blend adds Euclidean similarity to a manifold search; leave it out with solver=Euclidean()"
            )
        if tolerance is not None:
            solver = self._solver_within(tolerance, filter, solver)
        allowed = None if where is None else self.items.allowed(where, k=k)
        asked = Queries.make(queries, dimension=self.dimension, groups=query_groups, weights=weights, on_error=on_error)
        summed = asked.summed()
        observed = None
        if not isinstance(solver, Euclidean):
            observed = self.observe(asked, neighbors=neighbors, cut=cut, region_sum=region_sum)
            _warn_of_blind_queries(observed)

        answers: list[Hits] = []
        step = max(1, _SCORE_NUMBERS // max(self.graph.n_vertices, len(self.items)))
        for start in range(0, len(asked), step):
            rows = slice(start, start + step)
            if observed is None or isinstance(solver, Euclidean):
                solution = Solution(euclidean_scores(summed[rows], self.vectors, self.item_pooling))
            else:
                solution = solver(self.system, sp.csr_array(observed[rows]), filter)
                if mixed is not None:
                    solution = replace(solution, scores=self._blended(solution.scores, summed[rows], mixed, filter))
            places, scores = best_of(solution.scores, k, allowed)
            answers.append(Hits(self.items.ids[places], scores, solution.errors, solution.steps))
        return replace(_join_hits(answers), queries=asked.numbers)

    def search_by_id(self, ids: ArrayLike, k: int = 10, *, include_self: bool = False, **options: Any) -> Hits:
        """More like these: the vectors of known items are the queries, one query for each id.

        The item itself is left out of its hits unless `include_self`. options: as for `search`.
        """
        check_counts(k=k)
        places = self.items.places(ids)
        rows, groups = self.items.rows_of(places)
        taken = [name for name in ("query_groups", "weights", "on_error") if name in options]
        if taken:
            raise InputError(f"search_by_id takes its queries from the index; leave out {', '.join(taken)}")
        if include_self:
            return self.search(self.vectors[rows], k, query_groups=groups, **options)
        hits = self.search(self.vectors[rows], k + 1, query_groups=groups, **options)
        return without_self(hits, self.items.ids[places])

    def explain(
        self,
        query: ArrayLike,
        item: Any,
        *,
        filter: Filter = _FILTER,
        neighbors: int = 10,
        weights: ArrayLike | None = None,
    ) -> Explanation:
        """Why this item: what each neighbour of the query contributes to its score, and the way through the graph.

        query: one vector (d,), or the rows (m, d) of one query. item: an id of the index. The sum of the contributions
        is the score of `search` with the same filter and neighbours.
        """
        check_counts(neighbors=neighbors)
        rows = np.atleast_2d(np.asarray(query))
        asked = Queries.make(rows, dimension=self.dimension, groups=np.zeros(len(rows), dtype=int), weights=weights)
        place = int(self.items.places([item])[0])
        y = self.observe(asked, neighbors=neighbors)
        return explanation.explain(self.system, y, place, filter, self.items)

    def observe(
        self, queries: Queries, *, neighbors: int = 10, cut: int | None = None, region_sum: str = "similarities"
    ) -> Sparse:
        """The first search: query vectors to y, CSR (queries, n)."""
        return observation.observe(
            self._lists(queries.regions, neighbors),
            queries.query_of,
            n_vertices=self.graph.n_vertices,
            gamma=self.settings.gamma,
            weights=queries.weights,
            cut=cut,
            region_sum=region_sum,
        )

    def embed(self, vectors: ArrayLike, *, filter: Filter = _FILTER, neighbors: int = 10) -> Array:
        """φ̂(z) of unseen vectors (§5.4): points in ℝʳ whose dot product is the manifold kernel κ̂. (m, d) -> (m, r)."""
        basis = self.system.require_spectrum("embed")
        return extension.embed(basis, self._psi(unit_queries(vectors, dimension=self.dimension), neighbors), filter)

    def kernel(self, first: ArrayLike, second: ArrayLike, *, filter: Filter = _FILTER, neighbors: int = 10) -> Array:
        """κ̂(z₁, z₂), eq. (12), between unseen vectors. (m₁, d), (m₂, d) -> (m₁, m₂)."""
        basis = self.system.require_spectrum("kernel")
        one, two = (self._psi(unit_queries(v, dimension=self.dimension), neighbors) for v in (first, second))
        return extension.kernel(basis, one, two, filter)

    def extend(
        self,
        vectors: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        neighbors: int = 10,
        normalized: bool = True,
    ) -> Index:
        """An index that also ranks items outside of the graph, expressed by their neighbours in it (§5.4).

        The score of a new vector z is ψ(z)ᵀx; `normalized` divides ψ by its sum, which puts new and old items on one
        scale (False: as printed). Nothing is rebuilt: one search per new vector. Rebuild when most items are new.
        """
        check_counts(neighbors=neighbors)
        unit = unit_vectors(vectors)
        if unit.shape[1] != self.dimension:
            raise InputError(f"vectors has {unit.shape[1]} dimensions but the index has {self.dimension}")
        rows = self._psi(unit, neighbors, normalized=normalized)
        items = self.items.extend(Items.make(len(unit), groups=groups, ids=ids), default=ids is None and groups is None)
        stacked = rows if self.extension is None else sp.csr_array(sp.vstack([self.extension, rows]))
        whole = replace(self, vectors=np.vstack([self.vectors, unit]), items=items, extension=stacked, pooled=None)
        return whole._with_pooled()

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the index folder; it appears complete or not at all. `force` replaces an index that is there."""
        storage.write(Path(path), {"settings": asdict(self.settings)}, self._arrays(), force=force)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = False) -> Index:
        """Open an index folder, memory-mapped; `verify` reads everything once and compares checksums."""
        manifest, arrays = storage.read(Path(path), verify=verify)
        try:
            return cls._from_arrays(Settings(**manifest["settings"]), arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptIndexError(f"{path} is damaged: {error}; build the index again") from error

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
        """Bytes of each part: vectors (first search), graph (iterative solvers), basis (U) and pooled (Ū)."""
        matrix = self.graph.normalized
        return {
            "vectors": self.vectors.nbytes,
            "graph": matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes,
            "basis": 0 if self.spectrum is None else self.spectrum.eigenvectors.nbytes,
            "pooled": 0 if self.pooled is None else self.pooled.nbytes,
        }

    @cached_property
    def item_pooling(self) -> Sparse | None:
        """Σ from all vectors to items, CSR (N, m); None where every vector is an item."""
        if self.items.item_of is None:
            return None
        return pooling_matrix(self.vectors, self.items.item_of, pooling=self.settings.pooling)

    @cached_property
    def system(self) -> System:
        """What solvers work on: Σ reaches from the vertices of the graph to all items."""
        return System(self.graph.normalized, self.spectrum, self._vertex_pooling, self.pooled)

    @cached_property
    def _vertex_pooling(self) -> Sparse | None:
        if self.extension is None:
            return self.item_pooling
        n = self.graph.n_vertices
        lift = sp.csr_array(sp.vstack([sp.eye_array(n, dtype=np.float32, format="csr"), self.extension]))
        return lift if self.item_pooling is None else sp.csr_array(self.item_pooling @ lift)

    @cached_property
    def row_norms(self) -> Array:
        """η of every vector; of an added one the mean of its neighbours', weighted by ψ. (m,)"""
        basis = self.system.require_spectrum("blend")
        if self.extension is None:
            return basis.row_norms
        total = np.asarray(self.extension.sum(axis=1)).ravel()
        mean = np.divide(self.extension @ basis.row_norms, total, out=np.zeros_like(total), where=total > 0)
        return np.concatenate([basis.row_norms, mean]).astype(np.float32)

    def _solver_within(self, tolerance: float, filter: Filter, solver: Solver | Euclidean) -> Solver:
        """The solver that reaches a relative error: the basis and as many steps on the graph as that takes."""
        if solver != _SOLVER:
            raise InputError(f"tolerance chooses the solver; give it to the solver instead, or leave out {solver!r}")
        if not isinstance(filter, LowPass):
            return ChebyshevFilter(tolerance=tolerance)
        return ConjugateGradient(tolerance) if self.spectrum is None else Hybrid(tolerance)

    def _with_pooled(self) -> Index:
        """Compute Ū = ΣU offline, so that a query costs the same for global and regional vectors."""
        if self.spectrum is None or self._vertex_pooling is None:
            return self
        return replace(self, pooled=self.spectrum.eigenvectors.pool(self._vertex_pooling))

    def _blended(self, scores: Array, summed: Array, blend: Blend, filter: Filter) -> Array:
        norms = None if blend.everywhere else self.row_norms
        return blend_scores(scores, summed, self.vectors, self.item_pooling, norms, blend=blend, filter=filter)

    def _lists(self, regions: NDArray[np.float32], count: int) -> Any:
        vertices = self.vectors[: self.graph.n_vertices]
        return neighbors.nearest(regions, vertices, k=min(count, len(vertices)))

    def _psi(self, regions: NDArray[np.float32], count: int, *, normalized: bool = False) -> Sparse:
        return extension.psi(
            self._lists(regions, count),
            n_vertices=self.graph.n_vertices,
            gamma=self.settings.gamma,
            normalized=normalized,
        )

    def _arrays(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {"vectors": self.vectors, "ids": self.items.ids}
        arrays |= {
            "degrees": self.graph.degrees,
            "labels": self.graph.labels,
            **pack_sparse("graph", self.graph.normalized),
        }
        if self.items.item_of is not None:
            arrays["item_of"] = self.items.item_of
        if self.extension is not None:
            arrays |= pack_sparse("extension", self.extension)
        if self.spectrum is not None:
            arrays |= pack_spectrum(self.spectrum)
        if self.pooled is not None:
            arrays |= {"pooled": self.pooled.dense, **pack_sparse("pooled_sparse", self.pooled.sparse)}
        return arrays

    @classmethod
    def _from_arrays(cls, settings: Settings, arrays: Mapping[str, Array]) -> Index:
        spectrum = pooled = None
        n, n_items = len(arrays["labels"]), len(arrays["ids"])
        for name, end in (("labels", n), ("kinds", 3), ("item_of", n_items)):
            if name in arrays:
                check_range(name, arrays[name], end)
        if "basis" in arrays:
            spectrum = unpack_spectrum(arrays)
            if "pooled" in arrays:
                shape = n_items, spectrum.rank - arrays["pooled"].shape[1]
                pooled = Basis(arrays["pooled"], unpack_sparse("pooled_sparse", arrays, shape))
        added = len(arrays["vectors"]) - n
        return cls(
            vectors=arrays["vectors"],
            graph=Graph(unpack_sparse("graph", arrays, (n, n)), arrays["degrees"], arrays["labels"]),
            spectrum=spectrum,
            items=Items(arrays["ids"], arrays.get("item_of")),
            settings=settings,
            extension=unpack_sparse("extension", arrays, (added, n)) if added else None,
            pooled=pooled,
        )


def _lists(
    vectors: NDArray[np.float32],
    k: int,
    recall: float | None,
    seed: int,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
) -> tuple[Neighbors, float]:
    saved = None if checkpoint is None else checkpoint.load("lists")
    if saved is not None:
        return Neighbors(saved["ids"], saved["similarities"]), float(saved["recall"][0])
    found, measured = neighbors.build_lists(vectors, k=k, recall=recall, seed=seed, progress=progress)
    if checkpoint is not None:
        arrays: dict[str, Array] = {
            "ids": found.ids,
            "similarities": found.similarities,
            "recall": np.array([measured]),
        }
        checkpoint.save("lists", arrays)
    return found, measured


def _decompose(
    vertex_graph: Graph, method: Method | None, components: str, min_rank: int, run: Run, earlier: Basis | None
) -> Spectrum | None:
    if method is None:
        return None
    if components == "blocks":
        return blocks.decompose_blocks(vertex_graph, method, run, min_rank=min_rank, earlier=earlier)
    decompose = blocks.decompose_giant if components == "giant" else blocks.decompose_whole
    return decompose(vertex_graph, method, run, earlier=earlier)


def _earlier_basis(start: Index | None, vectors: NDArray[np.float32]) -> Basis | None:
    if start is None or start.spectrum is None:
        return None
    if start.dimension != vectors.shape[1] or start.graph.n_vertices > len(vectors):
        raise InputError(
            f"start has {start.graph.n_vertices:,} × {start.dimension} vectors, which cannot be the first rows of "
            f"{len(vectors):,} × {vectors.shape[1]}; leave it out, or give the index that was built from them"
        )
    return start.spectrum.eigenvectors


def _check_build(*, k: int, gamma: float, components: str, min_rank: int, sparsity: float | None, seed: int) -> None:
    check_counts(k=k, min_rank=min_rank)
    if not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"seed must be a whole number of at least 0, got {seed!r}")
    if not isinstance(gamma, Real) or not (gamma > 0 and np.isfinite(gamma)):
        raise InputError(f"gamma must be a number above 0 and finite, got {gamma!r}")
    if components not in COMPONENTS:
        raise InputError(f"components must be one of {', '.join(COMPONENTS)}, got '{components}'")
    if sparsity is not None and not 0 <= sparsity < 1:
        raise InputError(f"sparsity must be at least 0 and below 1 (the fraction dropped), got {sparsity}")


def _warn_of_blind_queries(observed: Sparse) -> None:
    blind = np.flatnonzero(np.diff(observed.indptr) == 0)
    if blind.size:
        warnings.warn(
            f"{blind.size} of {observed.shape[0]} queries (the first is {blind[0]}) have no positive similarity to any "
            "vector: their scores are all 0 and their hits in no order; use solver=Euclidean() for them",
            DataWarning,
            stacklevel=3,
        )


def _join_hits(parts: list[Hits]) -> Hits:
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: None if getattr(parts[0], name) is None else np.concatenate([getattr(p, name) for p in parts])
        for name in ("ids", "scores", "errors", "steps")
    }
    return Hits(**columns)  # type: ignore[arg-type]
