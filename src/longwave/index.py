"""`Index`: a collection ready to be searched along the manifold. It composes the rooms below and computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from longwave import signals
from longwave.building import build as offline
from longwave.building import growth, speed
from longwave.building.options import PAPER, Options, takes_options
from longwave.checks import check_counts, check_value
from longwave.cluster import Cluster
from longwave.cluster import build as clusters
from longwave.engines.exporting import Exported, export
from longwave.errors import InputError
from longwave.graph.weights import Kernel
from longwave.plan import Plan
from longwave.search import explanation, extension, first, one_query, packing, scoring, stored
from longwave.search import seeds as seeded
from longwave.search.blending import Blending
from longwave.search.composition import composition
from longwave.search.defaults import blend_of, defaults, named_solver, way
from longwave.search.duplicates import duplicates
from longwave.search.euclidean import Euclidean
from longwave.search.explanation import Explanation
from longwave.search.observation import SUMS
from longwave.search.queries import Queries, examples
from longwave.search.ranking import without_self
from longwave.search.seeds import Seeds
from longwave.search.shaping import AUTO, Shape, shaped
from longwave.search.snapshot import Snapshot, fields_of
from longwave.search.where import Where, described_items, with_columns
from longwave.search.where import allowed as where_allowed
from longwave.signals import Clusters, Propagated
from longwave.solvers import Solver
from longwave.types import Array, Filter, Hits, Progress, Sparse

__all__ = ["PAPER", "Index"]

# kind, region_sum and on_error of a search where nothing is said.
_USUAL = "manifold", SUMS[0], "raise"


@dataclass(frozen=True, eq=False, repr=False)
class Index(Snapshot):
    """A collection ready to be searched. It never changes: methods return another index, which shares the rest.

    >>> import longwave as lw
    >>> vectors, query = lw.datasets.arcs()
    >>> index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    >>> index.search(query, k=6, solver=lw.Euclidean()).ids
    array([[0, 1, 6, 2, 7, 8]])
    >>> index.search(query, k=6, neighbors=1, filter=lw.LowPass(0.8)).ids
    array([[0, 1, 2, 3, 4, 5]])
    """

    @classmethod
    @takes_options
    def build(
        cls,
        vectors: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        lists: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        graph: Any = None,
        start: Index | None = None,
        workdir: str | Path | None = None,
        memory: int | str | None = None,
        fast: bool | None = None,
        cluster: str | Cluster | None = None,
        progress: Progress | bool | None = None,
        **options: Any,
    ) -> Index:
        """Build the graph and its basis: the offline stage. Without any option this is the best setting known.

        What is searched:

        - vectors: (n, d), any real type and layout. Copies of a vector are one vertex of the graph.
        - groups: (n,) the item each vector belongs to, for items of several vectors (regional search).
        - ids: one int or string per item; row numbers (or the group labels) by default.
        - lists: neighbours from elsewhere, row numbers (n, k) or a pair of these and their dot products; k is theirs.
        - graph: of your own: edges (a, b) or (a, b, weight) between ids, a symmetric sparse matrix, or a graph of
          networkx. With vectors its edges join those of the neighbours, times `edge_weight`; without, it is all there
          is, and searches begin at `seeds`.

        The work:

        - workdir: a folder for finished stages; after a crash the same call goes on from there.
        - memory: what the build may take, such as "20G", or an error before the work; by default what the machine has.
        - fast: add approximate searches (`accelerate`); by default where one query would read a quarter of a gigabyte.
        - cluster: build on many machines: "ray://HOST:10001", "dask://HOST:8786", "ray:local[3]", or a `Cluster` of
          your own. vectors may then be files: a path, a list of them, or a folder of shards. workdir must be a folder
          that all machines see; the index is left in it, memory-mapped, and this process never holds its basis.
        - start: an earlier index of the same vectors, which may lack the last ones; `Chebyshev` begins with its basis.
        - progress: a function told (stage, done, total), or False; by default bars, and lines in the log "longwave".

        `Index.build(vectors, **longwave.PAPER)` is the paper's own setting.
        """
        given, parsed = offline.Given(vectors, groups, ids, lists, graph), Options.parse(options)
        if cluster is not None:
            extra = {"groups": groups, "lists": lists, "graph": graph, "start": start, "memory": memory, "fast": fast}
            with clusters.built(vectors, parsed, cluster, extra, ids=ids, workdir=workdir, progress=progress) as folder:
                return cls.load(folder, kernel=parsed.kernel)
        work: dict[str, Any] = {"workdir": workdir, "memory": memory, "fast": fast, "progress": progress}
        return cls(**fields_of(offline.build(given, parsed, start=start, **work)))

    def search(
        self,
        queries: ArrayLike | None = None,
        k: int | str = 10,
        *,
        seeds: Seeds | None = None,
        kind: str = "manifold",
        fold: float | None = None,
        diversity: float = 0.0,
        filter: Filter | str | None = None,
        neighbors: int | None = None,
        blend: float | str | Blending | None = None,
        where: Where | None = None,
        columns: Sequence[str] | None = None,
        query_groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        cut: int | None = None,
        region_sum: str = "similarities",
        tolerance: float | None = None,
        solver: Solver | Euclidean | str | None = None,
        plan: Plan | str | None = None,
        on_error: str = "raise",
    ) -> Hits:
        """Rank the items along the manifold: the online stage. Returns `Hits`, (queries, k), or as many as there are.

        - queries: (q, d), or one vector (d,). seeds: items to begin at instead, {id: weight}, or a list of such dicts:
          a personalised PageRank. Then kind "pagerank" normalises as PageRank does: scores are the shares of time that
          a walk spends at each item, and their sum over all is 1.
        - k: how many hits, or "auto": as many as are relevant by their scores, `hits.counts` of each query.
        - fold: a cosine such as 0.98; hits nearer than that to a better one are left out, and named in `hits.folded`.
          diversity: from 0 to below 1, how much a hit that is like a better one along the manifold falls behind.
        - filter: h, any function of the eigenvalues, or text such as "heat:10"; nothing is rebuilt. neighbors: vectors
          that a query starts from. blend: what Euclidean similarity adds: `Anchor()`, a weight or `Blend` for FSRw, 0
          for nothing. The index's own where nothing is said (`settings.search`).
        - where: only these items: a mask (N,), a list of ids, or a condition on the metadata such as
          {"year": {"$gte": 2020}} or "year>=2020"; scores are those of the search without it. columns: metadata to
          return with the hits, in `hits.columns`.
        - query_groups: the query of each row, 0 … Q−1, for queries of several regions or examples. weights: of each row
          in its query, below 0 for what is not wanted.
        - cut: entries of y kept, all by default. region_sum: "similarities" (the paper) or "products" (its scripts).
        - tolerance: relative error that the answer may have; iterates on the graph where the basis is not enough.
          `hits.errors` and `hits.steps` tell. plan: another way to the answer than the index's own, such as "basis".
          solver: how h(𝒲)y is evaluated, also by name; `Euclidean()` ranks without the graph.
        - on_error: "raise", or "skip" to leave out queries with NaN or all-zero rows; `hits.queries` are the others.

        `hits.confidence` is the chance that the hits are at least as good as those of Euclidean search.
        """
        said = seeds, fold, filter, neighbors, blend, where, columns, query_groups, weights, cut, tolerance, plan
        if (kind, region_sum, on_error) == _USUAL and diversity == 0 and all(option is None for option in said):
            found = one_query.usual(self, queries, k, solver)
            if found is not None:
                return found
        asked_neighbors, shape, solver = neighbors, Shape(k, fold, diversity), named_solver(solver)
        filter, neighbors = defaults(self, filter, neighbors)
        check_counts(neighbors=neighbors, **({} if cut is None else {"cut": cut}))
        check_value(filter, "filter", "a value such as LowPass(0.99), or a function of the eigenvalues")
        mixed = blend_of(self, blend, solver)
        chosen, used = way(self, plan, tolerance, solver, filter)
        allowed = None if where is None else where_allowed(self, where)
        if seeds is not None or queries is None:
            given = {"queries": queries, "blend": blend, "query_groups": query_groups, "weights": weights, "cut": cut}
            y = seeded.observe(self, seeded.check(seeds, {**given, "neighbors": asked_neighbors}, used))
            route: dict[str, Any] = {"filter": filter, "solver": used, "plan": chosen, "allowed": allowed}
            begun = partial(seeded.search, self, y, kind=kind, **route)
            return with_columns(self, shaped(self, shape, filter, begun), columns)
        if kind != "manifold":
            raise InputError(f"kind={kind!r} is for searches that begin at seeds={{id: weight}}")
        self.require_vectors("a search with queries")
        asked = Queries.make(queries, dimension=self.dimension, groups=query_groups, weights=weights, on_error=on_error)
        options: dict[str, Any] = {"neighbors": neighbors, "cut": cut, "region_sum": region_sum, "blend": mixed}
        options |= {"filter": filter, "solver": used, "plan": chosen, "allowed": allowed}
        if shape.k == AUTO and isinstance(used, Euclidean):
            raise InputError("k='auto' reads the scores of a manifold search; give a number with solver=Euclidean()")
        find = partial(scoring.search, self, asked, **options)
        hits = shaped(self, shape, filter, find, root=getattr(mixed, "root", 1.0))
        hits = hits if asked.numbers is None else replace(hits, queries=asked.numbers)
        return with_columns(self, hits, columns)

    def search_by_id(self, ids: ArrayLike, k: int | str = 10, *, include_self: bool = False, **options: Any) -> Hits:
        """More like these: the vectors of known items are the queries, one query for each id.

        The item itself is left out of its hits unless `include_self`. options: as for `search`.
        """
        taken = [name for name in ("query_groups", "weights", "on_error", "seeds") if name in options]
        if taken:
            raise InputError(f"search_by_id takes its queries from the index; leave out {', '.join(taken)}")
        if self.has_vectors:
            vectors, groups, own = examples(self, ids, options.get("where"))
            ask = partial(self.search, vectors, query_groups=groups)
        else:
            own = np.atleast_1d(np.asarray(ids))
            ask = partial(self.search, seeds=[{item: 1.0} for item in own.tolist()])
        if include_self or own is None:
            return ask(k=k, **options)
        columns, names = options.pop("columns", None), own
        shape = Shape(k, options.pop("fold", None), options.pop("diversity", 0.0))
        filter, _ = defaults(self, options.get("filter"), None)
        root = getattr(blend_of(self, options.get("blend"), options.get("solver")), "root", 1.0)
        find = lambda count: without_self(ask(k=count + 1, **options), names)  # noqa: E731
        hits = shaped(self, shape, filter, find, root=root)
        return with_columns(self, hits, columns)

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

        query: one vector (d,), or the rows (m, d) of one query. item: an id of the index.
        """
        self.require_vectors("explain")
        filter, neighbors = defaults(self, filter, neighbors)
        check_counts(neighbors=neighbors)
        asked = Queries.make(query, dimension=self.dimension, weights=weights).as_one()
        place = int(self.items.places([item])[0])
        options: dict[str, Any] = {"where": [item], "query_groups": asked.query_of, "weights": asked.weights}
        score = self.search(asked.regions, 1, filter=filter, neighbors=neighbors, **options)
        similar = self.search(asked.regions, 1, solver=Euclidean(), **options)
        y = self.observe(asked, neighbors=neighbors)
        return explanation.explain(self, y, place, filter, float(score.scores[0, 0]), float(similar.scores[0, 0]))

    def observe(
        self,
        queries: Queries,
        *,
        neighbors: int | None = None,
        cut: int | None = None,
        region_sum: str = "similarities",
    ) -> Sparse:
        """The first search: query vectors to y, CSR (queries, n). neighbors: the index's own by default."""
        _, neighbors = defaults(self, None, neighbors)
        count = first.lists_needed(self, neighbors)
        options: dict[str, Any] = {"neighbors": neighbors, "cut": cut, "region_sum": region_sum}
        return first.ask(self, queries, count, keep_products=False, **options).observed

    def embed(self, vectors: ArrayLike, *, filter: Filter | None = None, neighbors: int | None = None) -> Array:
        """φ̂(z) of unseen vectors (§5.4): points in ℝʳ whose dot product is the manifold kernel κ̂. (m, d) -> (m, r)."""
        filter, neighbors = defaults(self, filter, neighbors)
        return extension.embed(self.system.require_spectrum("embed"), growth.unseen(self, vectors, neighbors), filter)

    def embedding(self, *, filter: Filter | None = None) -> Array:
        """φ of the index's own items, one row for each of `ids`: Φᵀ, eq. (11). (N, r)

        Dot products with `embed` are κ̂ between items and unseen vectors: the search of eq. (4), before it is balanced.
        """
        filter, _ = defaults(self, filter, None)
        return extension.embed(self.system.require_spectrum("embedding"), composition(self), filter)

    def kernel(
        self, first: ArrayLike, second: ArrayLike, *, filter: Filter | None = None, neighbors: int | None = None
    ) -> Array:
        """κ̂(z₁, z₂), eq. (12), between unseen vectors. (m₁, d), (m₂, d) -> (m₁, m₂)."""
        filter, neighbors = defaults(self, filter, neighbors)
        one, two = (growth.unseen(self, own, neighbors) for own in (first, second))
        return extension.kernel(self.system.require_spectrum("kernel"), one, two, filter)

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
        scale (False: as printed). neighbors: of every new vector, twice as many as a query observes by default.
        """
        return growth.extend(self, vectors, groups=groups, ids=ids, neighbors=neighbors, normalized=normalized)

    def accelerate(
        self,
        *,
        first: str | None = "links",
        second: str | None = "own",
        recall: float | None = None,
        overlap: float | None = None,
        filter: Filter | None = None,
    ) -> Index:
        """An index whose searches take sublinear time: one query at a time is then answered approximately.

        first: a search over the vectors: "links", "codes" (a scan), or any faiss factory string; None for a plain scan.
        second: "walk", on the graph, or a faiss factory string for a search over Ū; "own" keeps what it does now.
        recall: of 10 neighbours of the first search, 0.99 for links and else 0.995 by default; overlap: of the 100 best
        of the second, 0.995. `settings.plan` has what was reached.
        """
        return speed.accelerate(self, first=first, second=second, recall=recall, overlap=overlap, filter=filter)

    def compress(self, *, basis: str | None = None, vectors: str | None = None) -> Index:
        """An index that takes less memory: the dense part of U and Ū, and the vectors, in fewer bytes.

        basis: "float16" or "int8". vectors: "float16", "int8", or a faiss quantiser: "PQ64" is 64 bytes a vector. None
        leaves them as they are. `settings` has their relative error. If you also want `accelerate`, call it first.
        """
        return speed.compress(self, basis=basis, vectors=vectors)

    def sparsify(self, sparsity: float, *, printed: bool = False) -> Index:
        """An index whose basis keeps only its largest entries (FSR.sparse).

        sparsity: the share that is dropped, such as 0.9. Entries count as those of U h(Λ)^½; printed: as those of U,
        stage 3 to the letter.
        """
        return speed.sparsify(self, sparsity, printed=printed)

    def precompute(
        self,
        *,
        filter: Filter | None = None,
        top: int = 500,
        tolerance: float | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """An index that holds the `top` largest entries of every row of h(𝒲) for one h, for `solver=Precomputed()`.

        tolerance: relative error of the rows, by iteration on the graph; None for the spectral answer. Takes the
        time of n queries, and 8 bytes of memory for each entry.
        """
        check_counts(top=top)
        return speed.precompute(self, filter=filter, top=top, tolerance=tolerance, progress=progress)

    def duplicates(self, threshold: float = 0.98) -> list[list[Any]]:
        """Groups of ids whose vectors have a cosine of at least the threshold to the first of the group, largest first.

        No chains: that a is like b and b like c does not put a and c together. Every item is in one group at most.
        """
        return duplicates(self, threshold)

    def propagate(
        self,
        labels: Mapping[Any, Any] | ArrayLike,
        *,
        filter: Filter | None = None,
        prior: str = "equal",
        tolerance: float | None = None,
    ) -> Propagated:
        """A few labels to labels of everything, along the graph: `labels`, `confidence` and `scores` of every item.

        labels: {id: label}, or {id: [label, label]} where items may have several; or one for each of `ids`, −1 (or "")
        where it is not known. Items that are joined to no others go by their nearest vectors; what no label reaches
        gets −1 (or ""). prior: "equal", where classes are about as large as each other; "labels", where they are as
        frequent as among the labels given. tolerance: as in `search`.
        """
        filter, _ = defaults(self, filter, None)
        return signals.propagate(self, labels, filter=filter, prior=prior, tolerance=tolerance)

    def cluster(self, k: int | None = None, *, filter: Filter | None = None, seed: int = 0) -> Clusters:
        """Clusters of items along the graph, k of them, or as many as the graph shows: `labels`, one for each of `ids`.

        k-means of the unit rows of Φᵀ, eq. (11), on its 2 (k − 1) longest waves. Items that are joined to no others are
        put with their nearest vectors.
        """
        filter, _ = defaults(self, filter, None)
        return signals.cluster(self, k, filter=filter, seed=seed)

    def fourier(self, signal: ArrayLike) -> Array:
        """Uᵀs: how much of every wave is in a signal, a number (or a row) for each of `ids`. (N,) -> (r,)"""
        return signals.fourier(self, signal)

    def inverse(self, waves: ArrayLike) -> Array:
        """U z: the signal that consists of these waves. (r,) -> (N,)"""
        return signals.inverse(self, waves)

    def smooth(self, signal: ArrayLike, filter: Filter | None = None, *, tolerance: float | None = None) -> Array:
        """A signal without its short waves: each value becomes a weighted mean along the graph. (N,) -> (N,)

        signal: a number, or a row of them, for each of `ids`, such as noisy ratings or measurements.
        """
        filter, _ = defaults(self, filter, None)
        return signals.smooth(self, signal, filter, tolerance=tolerance)

    def attach(self, about: Mapping[str, Any], arrays: Mapping[str, ArrayLike] | None = None) -> Index:
        """An index that keeps facts of your own beside its own: how the vectors were made, where the pictures are.

        about: anything that JSON can hold. arrays: numbers or strings, by name. Both replace what was attached before.
        Facts that about["paths"] names, such as "pictures.folder", are paths: they are found again where the index was
        moved together with what they lead to.
        """
        known, kept = packing.check_notes(about, arrays or {})
        return replace(self, about=known, attached=kept)

    def with_metadata(self, metadata: Any) -> Index:
        """An index that knows something of its items, for `where=` and `columns=`: one row for each of `ids`, in order.

        metadata: a pyarrow Table, a DataFrame, a dict of columns, a list of dicts, or a path (.parquet .csv .jsonl).
        """
        return replace(self, metadata=described_items(self, metadata))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write an index folder. `force`: where there is one, this index becomes its newest version.

        When this returns the index survives a loss of power; until then what was there before does. Readers are not
        disturbed, a second writer waits. Earlier versions stay for a minute at least (`longwave history`).
        """
        stored.save(self, path, force=force)

    @classmethod
    def load(
        cls, path: str | Path, version: int | None = None, *, verify: bool = False, kernel: Kernel | None = None
    ) -> Index:
        """Open an index folder, memory-mapped: its newest version, or the one of this number.

        verify: read everything once and compare checksums; without it damage to large arrays may show as wrong scores.
        kernel: the function that the index was built with, where it is a function of your own.
        """
        return cls(**fields_of(stored.load(path, version, verify=verify, kernel=kernel)))

    def export(
        self,
        url: str,
        *,
        name: str = "longwave",
        approximate: bool = True,
        anew: bool = False,
        progress: Progress | bool | None = None,
    ) -> Exported:
        """Write the index to an engine of yours, a row for each item; `longwave.Remote` then searches it there.

        url: "postgresql://…", "qdrant://HOST", "lance:PATH", "duckdb:PATH" or "faiss:PATH". name: of the collection in
        the engine. approximate: make the engine's own index of vectors; False leaves it to scans. The export
        is there whole when this returns, in place of an earlier one, or not at all. Called again, it goes on where it
        was broken off; where the graph is the same, it writes only what has changed. anew: write everything, whatever
        is there. docs/engines.md has the rest.
        """
        return export(self, url, name=name, approximate=approximate, anew=anew, progress=progress)

    def memory(self) -> dict[str, int]:
        """Bytes of each part: vectors, graph, basis (U), pooled (Ū), structures, ids and other facts of items."""
        return speed.memory(self)

    def _repr_html_(self) -> str:
        from longwave.display import index_html

        return index_html(self)
