"""One basis from many connected components: the block diagonal case of §7.

Every component has an eigenvalue 1, so those of thousands of small ones would crowd out the giant. Each component is
therefore decomposed by itself and given a share of the rank.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import ConvergenceWarning
from longwave.graph.mutual import Graph
from longwave.rows.vectors import row_blocks
from longwave.spectrum.basis import Basis, Part
from longwave.spectrum.blocks import Block, fix_signs, narrow
from longwave.spectrum.exact import Exact
from longwave.spectrum.method import DEFAULT_RUN, Method, Run
from longwave.spectrum.spectrum import COPIED, IN_BASIS, ISOLATED, Spectrum
from longwave.types import Array, Sparse

# Vertices from which a component has dense columns of its own: fewer, and thousands of arrays would slow a search.
_LARGE = 1000
# How far from 1 float32 may leave the largest eigenvalue of a component.
_ONE = 1e-4
# Vertices up to which LAPACK computes all pairs of a component in about a second.
_WHOLE = 1500


@dataclass(frozen=True, eq=False)
class Pairs:
    """Eigenpairs of one component. vertices: (m,), eigenvalues: (s,) descending, eigenvectors: (m, s)."""

    vertices: NDArray[np.int64]
    eigenvalues: NDArray[np.float64]
    eigenvectors: NDArray[np.float32]
    residuals: NDArray[np.float64]
    next_eigenvalue: float | None


def rank_share(size: int, *, n_vertices: int, rank: int, min_rank: int) -> int:
    """r_l = max(ρ, ⌈r n_l / n⌉) where n_l > ρ, never more than n_l; all n_l otherwise (§7)."""
    if size <= min_rank:
        return size
    return min(size, max(min_rank, -(-rank * size // n_vertices)))


def select_slices(eigenvalues: list[NDArray[np.float64]], *, rank: int, min_rank: int) -> list[int]:
    """How many leading slices each component keeps (§7).

    Up to ρ of each stay in any case, also if that exceeds r already; then the largest eigenvalues of the entire set
    complete them to r. Ties go to the larger component.
    """
    kept = np.array([min(len(values), min_rank) for values in eigenvalues], dtype=np.int64)
    spare = rank - int(kept.sum())
    if spare > 0 and eigenvalues:
        rest = [values[count:] for values, count in zip(eigenvalues, kept, strict=True)]
        owner = np.repeat(np.arange(len(rest)), [len(values) for values in rest])
        best = np.argsort(-np.concatenate(rest), kind="stable")[:spare]
        kept += np.bincount(owner[best], minlength=len(rest))
    return [int(count) for count in kept]


def decompose_whole(graph: Graph, method: Method, run: Run = DEFAULT_RUN, *, earlier: Basis | None = None) -> Spectrum:
    """Stages 1–2 on all of 𝒲 at once, as if it were connected.

    Every component with an edge has the eigenvalue 1; a warning says where the method has found fewer of them.
    """
    block = decompose_component(graph.normalized, np.arange(graph.n_vertices), method, run, earlier)
    there = min(len(block.eigenvalues), int(np.count_nonzero(graph.component_sizes > 1)))
    found = int(np.count_nonzero(block.eigenvalues > 1 - _ONE))
    if found < there:
        warnings.warn(
            f"{type(method).__name__} found the eigenvalue 1 only {found} of {there} times, as a repeated eigenvalue "
            "is easily missed: whole components have no wave in this basis; build with components='blocks'",
            ConvergenceWarning,
            stacklevel=4,
        )
    return merge([block], [len(block.eigenvalues)], np.full(graph.n_vertices, IN_BASIS, dtype=np.uint8))


def decompose_giant(graph: Graph, method: Method, run: Run = DEFAULT_RUN, *, earlier: Basis | None = None) -> Spectrum:
    """The paper's experimental mode (§8.1): the largest component only, x_i = y_i elsewhere.

    For h_α the copy is larger than the exact value by up to 1/(1 − α) (exactly that on isolated vertices), so whatever
    y touches outside of the giant component comes first. The copy is what `Spectral` does; solvers that iterate on the
    graph give the exact value everywhere.
    """
    block = decompose_component(graph.normalized, np.flatnonzero(graph.labels == 0), method, run, earlier)
    kinds = np.full(graph.n_vertices, COPIED, dtype=np.uint8)
    return merge([block], [len(block.eigenvalues)], kinds)


def decompose_blocks(
    graph: Graph,
    method: Method,
    run: Run = DEFAULT_RUN,
    *,
    min_rank: int = 5,
    earlier: Basis | None = None,
    spare: int = 0,
    printed: bool = False,
) -> Spectrum:
    """Every component by itself (§7): the rank r is shared among the large ones. `min_rank` is ρ.

    A component of up to ρ vertices is solved exactly and keeps all its pairs. One whose share of r is not above ρ keeps
    ρ pairs. Both are stored as sparse columns, with at most ρ entries for each vertex. They do not count against r, as
    there may be thousands and the giant would be left with nothing. An isolated vertex has the exact pair (0, e_i),
    which is not stored.

    spare: entries of U that may be stored beyond r. They keep all pairs of components of up to 1,500 vertices, the
    smallest first. A turntable has hundreds of components of about 700 vertices, which would else keep 5 pairs each.
    Time: that of the method on each larger component.

    printed: the rule to the letter. The slices of all components count against r, up to ρ of each, the one of an
    isolated vertex too; what they leave of r goes to the largest eigenvalues of all.
    """
    sizes = graph.component_sizes
    rank = graph.n_vertices if method.rank is None else method.rank
    order = np.argsort(graph.labels, kind="stable")  # vertices by component
    members = np.split(order, np.cumsum(sizes)[:-1])

    own = methods_of(sizes, method, min_rank=min_rank, spare=spare)
    blocks: list[Pairs] = []
    for done, (label, chosen) in enumerate(own.items()):
        kept_at = None if run.checkpoint is None else run.checkpoint.at(f"component-{label}")
        here = replace(run, checkpoint=kept_at)
        blocks.append(decompose_component(graph.normalized, members[label], chosen, here, earlier))
        if run.progress:
            run.progress("components", done + 1, len(own))
    small = [members[label] for label, size in enumerate(sizes) if 1 < size <= min_rank]
    tiny = small_blocks(graph.normalized, small)
    kinds = np.full(graph.n_vertices, ISOLATED, dtype=np.uint8)
    if printed:
        isolated = int(np.count_nonzero(sizes == 1))
        values = [block.eigenvalues for block in blocks + tiny]
        return merge(blocks + tiny, select_slices(values, rank=rank - isolated, min_rank=min_rank), kinds)
    values = [block.eigenvalues for block in blocks]
    whole = [chosen.rank is None for chosen in own.values()]
    kept = slices_kept(values, whole, rank=rank, min_rank=min_rank)
    return merge(blocks + tiny, kept + [len(vertices) for vertices in small], kinds)


def methods_of(sizes: NDArray[np.int64], method: Method, *, min_rank: int, spare: int = 0) -> dict[int, Method]:
    """The method of every component of more than ρ vertices, by label: its share of the rank, or all of its pairs."""
    n = int(sizes.sum())
    rank = n if method.rank is None else method.rank
    large = [label for label, size in enumerate(sizes) if size > max(1, min_rank)]
    whole = kept_whole(sizes, spare)
    own: dict[int, Method] = {}
    for label in large:
        share = rank_share(int(sizes[label]), n_vertices=n, rank=rank, min_rank=min_rank)
        complete = method.rank is None or label in whole
        own[label] = Exact() if complete else replace(method, rank=share)  # type: ignore[type-var]
    return own


def slices_kept(eigenvalues: list[NDArray[np.float64]], whole: list[bool], *, rank: int, min_rank: int) -> list[int]:
    """How many leading pairs each component of more than ρ vertices keeps. whole: whether all were computed.

    Only components whose share is above ρ compete for r; the others keep their ρ on top of it.
    """
    kept = [len(values) for values in eigenvalues]
    rivals = [i for i, count in enumerate(kept) if count > min_rank and not whole[i]]
    chosen = select_slices([eigenvalues[i] for i in rivals], rank=rank, min_rank=min_rank)
    for i, count in zip(rivals, chosen, strict=True):
        kept[i] = count
    return kept


def kept_whole(sizes: NDArray[np.int64], spare: int) -> set[int]:
    """The components whose pairs are all kept: the smallest, while they take no more than `spare` entries together."""
    order = np.argsort(sizes, kind="stable")
    entries = np.cumsum(sizes[order] ** 2)
    return set(order[(entries <= spare) & (sizes[order] <= _WHOLE)].tolist())


def submatrix(matrix: Sparse, vertices: NDArray[np.int64]) -> tuple[Sparse, NDArray[np.int64]]:
    """The matrix of some vertices alone, in an order that keeps neighbours near in memory, and that order.

    vertices: ascending, and whole components: no edge leads out. The work does not grow with the matrix around them.
    The order is reverse Cuthill–McKee. It takes a fraction of a second, and sparse products then read from the cache,
    which makes them 3 to 4 times faster (measured on Fashion-MNIST, n = 57,646).
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    rows = sp.csr_array(matrix[vertices])
    columns = np.searchsorted(vertices, rows.indices).astype(np.int32)
    part = sp.csr_array((rows.data, columns, rows.indptr), shape=(len(vertices),) * 2)
    order = reverse_cuthill_mckee(part, symmetric_mode=True)
    part = sp.csr_array(part[order][:, order])
    part.sort_indices()
    return part, vertices[order]


def decompose_component(
    matrix: Sparse, vertices: NDArray[np.int64], method: Method, run: Run, earlier: Basis | None
) -> Pairs:
    """The method on the rows and columns of one component."""
    part, vertices = submatrix(matrix, vertices)
    start = None if earlier is None else _Earlier(earlier, vertices)
    found = method(part, replace(run, start=start))
    return Pairs(
        vertices, found.eigenvalues, found.eigenvectors.parts[0].values, found.residuals, found.next_eigenvalue
    )


class _Earlier:
    """What an earlier basis has on these vertices, as columns to start from (`operations.Columns`).

    vertices: (m,) numbers in the whole graph; those from basis.n on are new, and their rows are zero.
    """

    def __init__(self, basis: Basis, vertices: NDArray[np.int64]) -> None:
        known = vertices < basis.n
        inside = np.where(known, vertices, 0)
        self._parts = []
        for part in basis.parts:
            places, present = part.places(inside)
            present &= known
            if present.any():
                self._parts.append((part, places, present))
        chosen = sp.csc_array(basis.sparse[vertices[known]])
        touched = np.flatnonzero(np.diff(chosen.indptr))
        self._sparse = sp.csr_array(chosen[:, touched])
        self._places = np.where(known, np.cumsum(known) - 1, -1)  # rows of the sparse part
        self.width = sum(part.width for part, *_ in self._parts) + len(touched)

    def rows(self, chosen: slice) -> Block:
        """Some rows, (rows, width)."""
        out = np.zeros((chosen.stop - chosen.start, self.width), dtype=np.float32)
        first = 0
        for part, places, present in self._parts:
            here = np.flatnonzero(present[chosen])
            out[here, first : first + part.width] = part.values[places[chosen][here]]
            first += part.width
        here = np.flatnonzero(self._places[chosen] >= 0)
        out[here, first:] = self._sparse[self._places[chosen][here]].toarray()
        return out


def small_blocks(matrix: Sparse, members: list[NDArray[np.int64]]) -> list[Pairs]:
    """Exact decompositions of many small components, one LAPACK batch per size."""
    blocks: list[Pairs | None] = [None] * len(members)
    sizes = np.array([len(m) for m in members], dtype=np.int64)
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        vertices = np.array([members[i] for i in which])  # (count, size)
        rows, columns = np.repeat(vertices, size, axis=1), np.tile(vertices, size)
        dense = np.asarray(matrix[rows.ravel(), columns.ravel()], dtype=np.float64).reshape(-1, size, size)
        values, vectors = np.linalg.eigh(dense)
        values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        residuals = np.linalg.norm(dense @ vectors - vectors * values[:, None, :], axis=1)
        for j, i in enumerate(which):
            eigenvectors = vectors[j].astype(np.float32)
            fix_signs(eigenvectors)
            blocks[i] = Pairs(vertices[j], values[j], eigenvectors, residuals[j], None)
    return [block for block in blocks if block is not None]


def merge(blocks: list[Pairs], kept: list[int], kinds: NDArray[np.uint8]) -> Spectrum:
    """One Spectrum from the kept slices of every block. kinds: (n,) what the vertices outside of all blocks are."""
    n = len(kinds)
    large = [i for i, block in enumerate(blocks) if len(block.vertices) >= _LARGE or 2 * len(block.vertices) > n]
    order = large + [i for i in range(len(blocks)) if i not in large]
    for block in blocks:
        kinds[block.vertices] = IN_BASIS

    parts = []
    for i in large:
        whole, blocks[i] = blocks[i], replace(blocks[i], eigenvectors=np.zeros((0, 0), dtype=np.float32))  # held once
        parts.append(_part(narrow(whole.eigenvectors, kept[i]), whole.vertices))
        del whole
    basis = Basis(n, tuple(parts), _side_by_side([(blocks[i], kept[i]) for i in order[len(large) :]], n))
    row_norms = basis.row_norms()
    row_norms[kinds == ISOLATED] = 1.0  # FSR.exact has η = 1, and the pair (0, e_i) is exact

    left_out = [_next_eigenvalue(block, count) for block, count in zip(blocks, kept, strict=True)]
    known = [value for value in left_out if value is not None]
    return Spectrum(
        eigenvalues=_join([blocks[i].eigenvalues[: kept[i]] for i in order], np.float64),
        eigenvectors=basis,
        residuals=_join([blocks[i].residuals[: kept[i]] for i in order], np.float64),
        row_norms=row_norms,
        next_eigenvalue=max(known, default=None),
        kinds=kinds,
    )


def _part(values: Block, vertices: NDArray[np.int64]) -> Part:
    """Dense columns with their rows in ascending order, moved in place."""
    from longwave.rows import compiled

    order = np.argsort(vertices)
    targets = np.empty_like(order)
    targets[order] = np.arange(len(order))
    if not values.flags.writeable or not values.flags.c_contiguous:
        values = np.array(values, order="C")
    compiled.permute_rows(values, targets)
    return Part(vertices[order], values)


def _side_by_side(blocks: list[tuple[Pairs, int]], n: int) -> Sparse:
    """The kept columns of many blocks as one sparse matrix, (n, all columns); a row belongs to at most one block."""
    lengths = np.zeros(n, dtype=np.int64)
    for block, count in blocks:
        lengths[block.vertices] = count
    ends = np.concatenate([[0], np.cumsum(lengths)])
    data = np.empty(ends[-1], dtype=np.float32)
    indices = np.empty(ends[-1], dtype=np.int32)
    first = 0
    for block, count in blocks:
        for part in row_blocks(len(block.vertices), count):
            places = ends[block.vertices[part], None] + np.arange(count)
            data[places] = block.eigenvectors[part, :count]
            indices[places] = np.arange(first, first + count)
        first += count
    return sp.csr_array((data, indices, ends), shape=(n, first))


def _join(parts: Sequence[Array], dtype: type) -> Array:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)


def _next_eigenvalue(block: Pairs, count: int) -> float | None:
    return float(block.eigenvalues[count]) if count < len(block.eigenvalues) else block.next_eigenvalue
