"""The offline stage: vectors to graph to basis, with a checkpoint after each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.building.options import Options
from longwave.errors import DataWarning
from longwave.filters import LowPass
from longwave.graph import lists as neighbors
from longwave.graph import mutual as graph
from longwave.graph import weights as kernels
from longwave.graph.edges import of_edges
from longwave.graph.mutual import Graph
from longwave.graph.weights import GENTLE, Kernel, Local, Power
from longwave.spectrum import Method, sparsify
from longwave.spectrum import components as blocks
from longwave.spectrum.advised import Advised
from longwave.spectrum.basis import Basis
from longwave.spectrum.method import Run
from longwave.spectrum.spectrum import Spectrum
from longwave.storage.checkpoints import Checkpoint, fingerprint, open_checkpoint
from longwave.stores import links
from longwave.stores.links import Links
from longwave.types import Array, Neighbors, Progress, Sparse

#: Entries of a sparse basis are kept by what they do to this filter: at 90 % it costs a point where the largest entries
#: of U themselves cost four (Oxford with distractors, rank 1,000).
SPARSE_FILTER = LowPass(0.99)


@dataclass(frozen=True, eq=False)
class Stages:
    """What the offline stage gives. k_used: neighbours in the lists; recall: of the lists, None where they were given.

    method, kernel: that were used, as the options may leave them to the graph. links: a search over the vectors, where
    it was asked for.
    """

    graph: Graph
    spectrum: Spectrum | None
    k_used: int
    recall: float | None
    method: Method | None
    kernel: Kernel
    links: Links | None = None


def make(
    options: Options,
    unit: NDArray[np.float32],
    *,
    given: Neighbors | None = None,
    edges: Sparse | None = None,
    item_of: NDArray[np.int64] | None = None,
    earlier: Basis | None = None,
    linked: bool = False,
    workdir: Path | None = None,
    check: Callable[[NDArray[np.int64]], None] = lambda sizes: None,
    progress: Progress | None = None,
) -> Stages:
    """Lists, graph and basis of unit vectors (n, d).

    given: lists from elsewhere. edges: of the user's own graph, CSR (n, n); all there is where vectors have no
    dimension. item_of: (n,) the item of each vector, where items have several: neighbours are
    then those of other items, as overlapping regions of one picture would fill each other's lists. earlier: a warm
    start. linked: make links from the lists, for the first search. check: told the sizes of the components before the
    basis.
    """
    checkpoint = None if workdir is None else _checkpoint(options, workdir, unit, given, item_of, edges)
    measured, k_used, ways = None, 0, None
    kernel: Kernel = Power(1.0)
    if not unit.shape[1] and edges is not None:
        vertex_graph = of_edges(edges)  # the kernel has nothing to weigh
    else:
        if given is None:
            given, measured = _lists(options, unit, item_of, progress, checkpoint)
        elif item_of is not None:
            given = neighbors.of_other_items(given, item_of, k=given.ids.shape[1])
        k_used = given.ids.shape[1] if len(unit) > 1 else 0
        vertex_graph, kernel = _graph(options, given, edges)
        ways = links.build(unit, given, seed=options.seed) if linked else None
    del given
    if len(unit) > 1 and not vertex_graph.normalized.nnz and unit.shape[1]:
        warnings.warn(
            f"no two of the {len(unit)} vectors are each other's neighbours with a similarity above 0: there is no "
            "graph to search along, only Euclidean search means something; give more vectors, or uncentred ones",
            DataWarning,
            stacklevel=3,
        )
    check(vertex_graph.component_sizes)
    method, spare = options.spectrum, 0
    if isinstance(method, Advised):
        spare = method.spare(vertex_graph.n_vertices)
        method = method.for_graph(vertex_graph, seed=options.seed)
    basis = _decompose(options, method, vertex_graph, Run(options.seed, progress, checkpoint), earlier, spare)
    if basis is not None and options.sparsity is not None:
        count = round((1 - options.sparsity) * basis.eigenvectors.nonzeros)
        basis = sparsify(basis, vertex_graph.normalized, nonzeros=count, filter=SPARSE_FILTER)
    return Stages(vertex_graph, basis, k_used, measured, method, kernel, ways)


def _graph(options: Options, lists: Neighbors, edges: Sparse | None) -> tuple[Graph, Kernel]:
    """The graph and its kernel: the one given, or `Local`, gentle where a basis could not follow the usual one."""
    if options.kernel is not None:
        return graph.build(lists, kernel=options.kernel, edges=edges), options.kernel
    usual = graph.build(lists, kernel=Local(), edges=edges)
    if not isinstance(options.spectrum, Advised) or options.spectrum.serves(usual, seed=options.seed):
        return usual, Local()
    return graph.build(lists, kernel=GENTLE, edges=edges), GENTLE


def _checkpoint(
    options: Options,
    folder: Path,
    unit: NDArray[np.float32],
    given: Neighbors | None,
    item_of: NDArray[np.int64] | None,
    edges: Sparse | None,
) -> Checkpoint:
    """What is finished in the folder, if it is that of the same data and recipe."""
    key = {name: getattr(options, name) for name in ("k", "components", "min_rank", "recall", "seed")}
    key["kernel"] = None if options.kernel is None else kernels.text_of(options.kernel)
    lists = None if given is None else [fingerprint(given.ids), fingerprint(given.similarities)]
    items = None if item_of is None else fingerprint(item_of)
    key |= {"spectrum": repr(options.spectrum), "lists": lists, "items": items}
    if edges is not None:
        key["edges"] = [fingerprint(edges.indptr), fingerprint(edges.indices), fingerprint(edges.data)]
    return open_checkpoint(folder, unit, key)


def _lists(
    options: Options,
    unit: NDArray[np.float32],
    item_of: NDArray[np.int64] | None,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
) -> tuple[Neighbors, float]:
    saved = None if checkpoint is None else checkpoint.load("lists")
    if saved is not None:
        return Neighbors(saved["ids"], saved["similarities"]), float(saved["recall"][0])
    k = max(1, min(options.k, len(unit) - 1))
    # As many more as an item has vectors, so that k are left of other items; no more than twice k.
    own = 0 if item_of is None else min(k, int(np.bincount(item_of).max()) - 1)
    asked = max(1, min(k + own, len(unit) - 1))
    found, measured = neighbors.build_lists(
        unit,
        k=asked,
        recall=options.recall,
        seed=options.seed,
        progress=progress,
        checkpoint=None if checkpoint is None else checkpoint.at("lists"),
    )
    if item_of is not None:
        found = neighbors.of_other_items(found, item_of, k=k)
    if checkpoint is not None:
        arrays: dict[str, Array] = {"ids": found.ids, "similarities": found.similarities}
        checkpoint.save("lists", {**arrays, "recall": np.array([measured])})
    return found, measured


def _decompose(
    options: Options, method: Method | None, vertex_graph: Graph, run: Run, earlier: Basis | None, spare: int
) -> Spectrum | None:
    if method is None:
        return None
    if options.components in ("blocks", "printed"):
        printed = options.components == "printed"
        return blocks.decompose_blocks(
            vertex_graph,
            method,
            run,
            min_rank=options.min_rank,
            earlier=earlier,
            spare=0 if printed else spare,
            printed=printed,
        )
    decompose = blocks.decompose_giant if options.components == "giant" else blocks.decompose_whole
    return decompose(vertex_graph, method, run, earlier=earlier)
