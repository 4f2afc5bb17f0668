"""Carries a signal from items to the graph, filters it there, and carries it back."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.search.composition import composition
from longwave.search.defaults import solver_within
from longwave.search.snapshot import Snapshot
from longwave.solvers import ChebyshevFilter, Solver, Spectral, System
from longwave.types import Filter, Sparse

#: Components of up to so many vertices are strays: no manifold of their own, where the largest is so much larger.
SMALL, LARGER = 10, 10
# Nearest vectors that a stray goes by, of so many that are looked up.
_NEAREST, _LOOKED_UP = 5, 50


def is_stray(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Whether each vertex is in a small component. (n,)"""
    sizes = snapshot.graph.component_sizes
    return np.asarray(sizes[snapshot.graph.labels] <= min(SMALL, int(sizes.max()) // LARGER))


def adoption(snapshot: Snapshot, stray: NDArray[np.bool_]) -> Sparse:
    """Strays as means of the vectors nearest to them that are none: edges that a graph of mutual neighbours lacks.

    Other rows are empty, as are those of strays that are far from all, and all rows where there are no vectors.
    stray: (n,) -> CSR (n, n)
    """
    n = snapshot.n_vertices
    strays = np.flatnonzero(stray)
    if not snapshot.has_vectors or not len(strays):
        return sp.csr_array((n, n), dtype=np.float32)
    found = snapshot.vertices.search(np.asarray(snapshot.vertices.rows(strays)), min(_LOOKED_UP, n))
    good = (found.ids >= 0) & ~stray[np.maximum(found.ids, 0)] & (found.similarities > 0)
    good &= np.cumsum(good, axis=1) <= _NEAREST
    weights = np.where(good, found.similarities, 0)
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)
    where = np.repeat(strays, good.sum(axis=1)), found.ids[good]
    return sp.csr_array((weights[good], where), shape=(n, n), dtype=np.float32)


def check_signal(snapshot: Snapshot, signal: ArrayLike, name: str = "signal") -> NDArray[np.float64]:
    """One finite number, or a row of them, for each of `index.ids`. (N,) or (N, m) -> (N, m)"""
    try:
        values = np.asarray(signal, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, one for each item: {error}") from error
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(snapshot):
        raise InputError(f"{name} must have one row for each of {len(snapshot)} items, got shape {np.shape(signal)}")
    if not np.isfinite(values).all():
        raise InputError(f"{name} must be finite; fill in what is missing, or leave those items out")
    return values


def means(made_of: Sparse, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each vertex has: the mean of its items, 0 where it has none. CSR (N, n), (N, m) -> (n, m)"""
    total = made_of.T @ values
    weight = np.asarray(abs(made_of).sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(np.divide(total, weight[:, None], out=np.zeros_like(total), where=weight[:, None] > 0))


def shares(snapshot: Snapshot) -> Sparse:
    """Items as means of vertices: rows of `composition`, each divided by its sum. CSR (N, n)"""
    made_of = composition(snapshot)
    total = np.asarray(made_of.sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    made_of.data = made_of.data * np.repeat(scale, np.diff(made_of.indptr)).astype(np.float32)
    return made_of


def filtered(snapshot: Snapshot, signals: Sparse, filter: Filter, tolerance: float | None) -> NDArray[np.float32]:
    """h(𝒲) of each row, on all vertices: by the basis, or on the graph to a tolerance. CSR (m, n) -> (m, n)"""
    solver: Solver
    if tolerance is not None:
        solver = solver_within(tolerance, filter, snapshot.spectrum is not None)
    else:
        solver = ChebyshevFilter() if snapshot.spectrum is None else Spectral()
    return np.asarray(solver(System(snapshot.graph.normalized, snapshot.spectrum), signals, filter).scores)
