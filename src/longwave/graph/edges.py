"""A graph of the user's own: edges, a sparse matrix or a networkx graph, as an adjacency matrix, checked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.errors import DataWarning, InputError
from longwave.graph.mutual import Graph, component_labels, normalize
from longwave.rows.sparse import narrow_indices
from longwave.types import Array, Sparse

_FORMS = "a list of edges (a, b) or (a, b, weight), a sparse matrix of scipy, or a graph of networkx"


def read_graph(given: Any, ids: ArrayLike | None = None) -> tuple[Sparse, Array]:
    """W, symmetric, without loops, and the id of every vertex. CSR (n, n) float32, (n,)

    Edges name their ends by id and go both ways; where a pair is named twice the larger weight counts. Without `ids`
    the vertices are those that edges name, in ascending order; with them, others stand alone. A matrix has its vertices
    in the order of `ids`, or numbered.
    """
    known = None if ids is None else np.asarray(ids)
    if hasattr(given, "is_directed") and hasattr(given, "edges"):
        return _from_networkx(given, known)
    if sp.issparse(given):
        return _from_matrix(given, known)
    return _from_edges(given, known)


def of_edges(adjacency: Sparse) -> Graph:
    """The graph of an adjacency matrix alone: no vertex has neighbours that are not joined to it."""
    normalized, degrees = normalize(adjacency)
    return Graph(normalized, degrees, component_labels(adjacency), np.full(len(degrees), -1.0, dtype=np.float32))


def _from_networkx(given: Any, ids: Array | None) -> tuple[Sparse, Array]:
    if given.is_directed():
        raise InputError("the graph is directed, and waves need an undirected one; give graph.to_undirected()")
    nodes = list(given.nodes)
    if not nodes:
        raise InputError("the graph has no vertices")
    own = np.array(nodes) if ids is None else ids
    if ids is None and (own.ndim != 1 or own.dtype.kind not in "iuU" or len({type(node) for node in nodes}) > 1):
        raise InputError(f"vertices must be whole numbers or strings, all alike, got {nodes[0]!r}; relabel them")
    edges = [(a, b, data.get("weight", 1.0)) for a, b, data in given.edges(data=True)]
    return _from_edges(edges, own) if edges else (_empty(len(own)), own)


def _from_matrix(given: Any, ids: Array | None) -> tuple[Sparse, Array]:
    matrix = sp.csr_array(given)
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n == 0:
        raise InputError(f"the matrix of a graph must be square, got {matrix.shape}")
    if ids is not None and len(ids) != n:
        raise InputError(f"the graph has {n} vertices but there are {len(ids)} items")
    matrix = sp.csr_array(matrix, dtype=np.float64)
    _check_weights(matrix.data)
    if (matrix != matrix.T).nnz:
        raise InputError("the matrix of a graph must be symmetric; give matrix.maximum(matrix.T)")
    return _without_loops(matrix), np.arange(n) if ids is None else ids


def _from_edges(given: Any, ids: Array | None) -> tuple[Sparse, Array]:
    first, second, weights = _columns(given)
    if ids is None:
        ids = np.unique(np.concatenate([first, second]))
        ids = ids.astype(np.int64) if ids.dtype.kind in "iu" else ids
    n, order = len(ids), np.argsort(ids, kind="stable")
    ends = []
    for column in (first, second):
        if (column.dtype.kind == "U") != (ids.dtype.kind == "U"):
            raise InputError(f"edges name items as {column[0].item()!r}, but ids look like {ids[0].item()!r}")
        found = order[np.minimum(np.searchsorted(ids, column, sorter=order), n - 1)]
        unknown = np.flatnonzero(ids[found] != column)
        if unknown.size:
            raise InputError(f"edge {unknown[0]} names {column[unknown[0]].item()!r}, which is no item")
        ends.append(found)
    _check_weights(weights)
    low, high = np.minimum(*ends), np.maximum(*ends)
    pairs, place = np.unique(low * np.int64(n) + high, return_inverse=True)
    largest = np.zeros(len(pairs))
    np.maximum.at(largest, place, weights)
    half = sp.csr_array((largest, (pairs // n, pairs % n)), shape=(n, n))
    return _without_loops(sp.csr_array(half.maximum(half.T))), ids


def _columns(given: Any) -> tuple[Array, Array, NDArray[np.float64]]:
    """Both ends and the weight of every edge."""
    if isinstance(given, np.ndarray):
        columns = list(given.T) if given.ndim == 2 and given.shape[1] in (2, 3) else []
    else:
        try:
            rows = list(given)
        except TypeError:
            rows = []
        sizes = {len(row) if isinstance(row, tuple | list) else 0 for row in rows}
        columns = [np.array(column) for column in zip(*rows, strict=True)] if sizes in ({2}, {3}) else []
    if not columns or not len(columns[0]):
        raise InputError(f"a graph must be {_FORMS}, got {type(given).__name__}")
    ends = []
    for column in columns[:2]:
        whole = column.astype(np.int64) if column.dtype.kind == "f" and (column % 1 == 0).all() else column
        if whole.dtype.kind not in "iuU":
            raise InputError(f"edges must name items by whole numbers or strings, got {column[0]!r}")
        ends.append(whole)
    try:
        weights = np.ones(len(ends[0])) if len(columns) == 2 else np.asarray(columns[2], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"weights of edges must be numbers: {error}") from error
    return ends[0], ends[1], weights


def _check_weights(weights: Array) -> None:
    wrong = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if wrong.size:
        raise InputError(f"weights of edges must be finite and at least 0, got {weights[wrong[0]]}")


def _without_loops(matrix: Sparse) -> Sparse:
    loops = int(np.count_nonzero(matrix.diagonal()))
    if loops:
        warnings.warn(
            f"{loops} edges lead from a vertex to itself; the graph has no loops (§2.1), they are left out",
            DataWarning,
            stacklevel=6,
        )
    made = sp.csr_array(matrix - sp.diags_array(matrix.diagonal()), dtype=np.float32)
    made.eliminate_zeros()
    made.sort_indices()
    narrow_indices(made)
    return made


def _empty(n: int) -> Sparse:
    return sp.csr_array((n, n), dtype=np.float32)
