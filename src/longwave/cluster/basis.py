"""The basis of a graph that is spread: the block diagonal case of §7, large components on the cluster.

The rule is that of `spectrum.components`. A large component is decomposed by the same method with `Distributed`
operations, and its columns of U stay with the workers. The rows of all small ones are brought here and decomposed as
ever; their columns are sparse, with few entries for each vertex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.cluster.engine import Cluster
from longwave.cluster.graph import SpreadGraph
from longwave.cluster.operations import Distributed, Tall
from longwave.cluster.pieces import Kept
from longwave.errors import InputError
from longwave.spectrum import Chebyshev, Method, Simultaneous
from longwave.spectrum.components import (
    Pairs,
    decompose_component,
    merge,
    methods_of,
    slices_kept,
    small_blocks,
)
from longwave.spectrum.density import Density, density_of_states
from longwave.spectrum.method import Run
from longwave.spectrum.spectrum import IN_BASIS, ISOLATED, Spectrum

# Vertices up to which a component is decomposed by this process.
GATHERED = 20_000


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of one large component. vertices: (m,) ascending; values: (m, c), on the cluster."""

    vertices: NDArray[np.int64]
    values: Tall


@dataclass(frozen=True, eq=False)
class SpreadSpectrum:
    """Large components first, then all others. rest: a spectrum of n vertices in which the large ones have no columns.

    eigenvalues, residuals, row_norms, kinds, next_eigenvalue: as `Spectrum` has them, of all.
    """

    parts: list[Part]
    rest: Spectrum
    eigenvalues: NDArray[np.float64]
    residuals: NDArray[np.float64]
    row_norms: NDArray[np.float32]
    next_eigenvalue: float | None


def density_of(cluster: Cluster, graph: SpreadGraph, *, seed: int) -> tuple[Density, int]:
    """The density of states of all vertices that have an edge, and how many these are."""
    chosen = graph.component_sizes[graph.labels] > 1
    if not chosen.any():
        return Density(np.zeros((1, 1)), np.ones((1, 1))), 0
    operations = Distributed(graph.blocks_of(cluster, chosen))
    return density_of_states(operations, seed=seed, probes=8), int(chosen.sum())


def decompose(
    cluster: Cluster, graph: SpreadGraph, method: Method, run: Run, *, min_rank: int, spare: int, rounds: Path | None
) -> SpreadSpectrum:
    """Every component by itself, the rank shared among the large ones. rounds: where workers keep finished rounds."""
    sizes, n = graph.component_sizes, graph.n_vertices
    own = methods_of(sizes, method, min_rank=min_rank, spare=spare)
    spread = [label for label in own if sizes[label] > GATHERED and own[label].rank is not None]
    found = {label: _component(cluster, graph, label, own[label], run, rounds) for label in spread}
    near = {label: chosen for label, chosen in own.items() if label not in found}
    blocks = _gathered(
        cluster, graph, near, run, [label for label in range(len(sizes)) if 1 < sizes[label] <= min_rank]
    )
    values = [found[label].eigenvalues if label in found else blocks[label].eigenvalues for label in own]
    rank = n if method.rank is None else method.rank
    whole = [chosen.rank is None for chosen in own.values()]
    kept = dict(zip(own, slices_kept(values, whole, rank=rank, min_rank=min_rank), strict=True))

    parts, row_norms = [], np.zeros(n, dtype=np.float32)
    for label, spectrum in found.items():
        vertices, tall = np.flatnonzero(graph.labels == label), spectrum.eigenvectors.parts[0].values
        part = Part(vertices, tall if kept[label] == tall.width else tall.narrowed(kept[label]))
        row_norms[vertices] = part.values.row_norms()
        parts.append(part)
    counts = [kept.get(label, len(block.vertices)) for label, block in blocks.items()]
    rest = merge(list(blocks.values()), counts, np.full(n, ISOLATED, dtype=np.uint8))
    inside = np.isin(graph.labels, spread)
    rest.kinds[inside] = IN_BASIS
    left = [_next(found[label], kept[label]) for label in found] + [rest.next_eigenvalue]
    return SpreadSpectrum(
        parts,
        rest,
        np.concatenate([*(found[label].eigenvalues[: kept[label]] for label in found), rest.eigenvalues]),
        np.concatenate([*(found[label].residuals[: kept[label]] for label in found), rest.residuals]),
        np.where(inside, row_norms, rest.row_norms).astype(np.float32),
        max((value for value in left if value is not None), default=None),
    )


def _component(
    cluster: Cluster, graph: SpreadGraph, label: int, method: Method, run: Run, rounds: Path | None
) -> Spectrum:
    if not isinstance(method, (Chebyshev, Simultaneous)):
        raise InputError(
            f"a component of {graph.component_sizes[label]:,} vertices is decomposed on the cluster by Chebyshev or "
            f"Simultaneous, not by {type(method).__name__}"
        )
    kept = None
    if rounds is not None:
        (rounds / f"component-{label}").mkdir(exist_ok=True)
        kept = Kept(cluster, rounds / f"component-{label}")
    checkpoint = None if run.checkpoint is None else run.checkpoint.at(f"component-{label}")
    operations = Distributed(graph.blocks_of(cluster, graph.labels == label), kept)
    return method.iterate(operations, replace(run, checkpoint=checkpoint))


def _gathered(
    cluster: Cluster, graph: SpreadGraph, methods: dict[int, Method], run: Run, small: list[int]
) -> dict[int, Pairs]:
    """The pairs of small components, computed here, by label; vertices by their number in the whole graph."""
    wanted = np.array([*methods, *small], dtype=np.int64)
    chosen = np.isin(graph.labels, wanted)
    if not chosen.any():
        return {}
    vertices = np.flatnonzero(chosen)
    numbers = cluster.put(np.where(chosen, np.cumsum(chosen) - 1, -1))
    inside = np.add.reduceat(chosen.astype(np.int64), graph.starts[:-1])
    rows = cluster.gather([graph.rows_of(cluster, int(block), numbers) for block in np.flatnonzero(inside)])
    matrix = sp.csr_array(sp.vstack(rows, format="csr"), dtype=np.float32)
    order = np.argsort(graph.labels[vertices], kind="stable")
    labels = graph.labels[vertices][order]
    names, firsts = np.unique(labels, return_index=True)
    members = dict(zip(names.tolist(), np.split(order, firsts[1:]), strict=True))
    local = replace(run, checkpoint=None)
    blocks = {label: decompose_component(matrix, members[label], own, local, None) for label, own in methods.items()}
    blocks |= dict(zip(small, small_blocks(matrix, [members[label] for label in small]), strict=True))
    return {label: replace(block, vertices=vertices[block.vertices]) for label, block in blocks.items()}


def _next(spectrum: Spectrum, count: int) -> float | None:
    return float(spectrum.eigenvalues[count]) if count < spectrum.rank else spectrum.next_eigenvalue
