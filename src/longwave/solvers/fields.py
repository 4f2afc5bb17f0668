"""The ranking as the minimum of an energy: a balance of smoothness and fitness (§5.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.graph.laplacian import laplacian
from longwave.graph.mutual import Graph
from longwave.types import Array, Sparse


class Objective(NamedTuple):
    """The two terms of eq. (10), weighted, of every query. smoothness, fitness: (q,)"""

    smoothness: NDArray[np.float64]
    fitness: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.float64]:
        """Their sum, which x* = h_α(𝒲) y makes smallest. (q,)"""
        return self.smoothness + self.fitness


def energy(graph: Graph, scores: Array, observation: Array | Sparse, alpha: float) -> NDArray[np.float64]:
    """f_α(x) = ½ xᵀ𝓛_α x − yᵀx, eq. (9), of every query. scores, observation: (q, n) -> (q,)

    x* = h_α(𝒲) y is its minimum, where it is −½ yᵀx*. Scores are those of vertices, not balanced.
    """
    x, y = _rows(graph, scores, "scores"), _rows(graph, observation, "observation")
    slope = (laplacian(graph, alpha=alpha, normalized=True) @ x.T).T  # 𝓛_α x
    return np.asarray(np.einsum("ij,ij->i", x, 0.5 * slope - y))


def objective(
    graph: Graph, scores: Array, observation: Array | Sparse, alpha: float, *, ordered: bool = False
) -> Objective:
    """α Σ w_ij ‖x̂_i − x̂_j‖² and (1 − α) ‖x − y‖², x̂ = D^{−1/2} x: eq. (10). scores, observation: (q, n)

    The sum runs over edges, each pair once: so its minimum is that of eq. (9). Over ordered pairs, as Σ_{i,j} reads,
    the smoothness counts twice and the minimum is that of another α, 2α/(1 + α); `ordered=True` is that sum. An
    isolated vertex has no edges: eq. (10) leaves it at y_i, eqs. (1) and (9) at (1 − α) y_i, as there 𝓛 = I − 𝒲.
    """
    if not 0 <= alpha < 1:
        raise InputError(f"alpha must be at least 0 and below 1, got {alpha}")
    x, y = _rows(graph, scores, "scores"), _rows(graph, observation, "observation")
    degrees = graph.degrees
    hat = np.divide(x, np.sqrt(degrees), out=np.zeros_like(x), where=degrees > 0)
    edges = sp.triu(graph.adjacency(), k=1, format="coo")
    ends, weights = edges.coords, edges.data.astype(np.float64)
    smoothness = np.array([(weights * (row[ends[0]] - row[ends[1]]) ** 2).sum() for row in hat])
    fitness = np.einsum("ij,ij->i", x - y, x - y)
    return Objective(alpha * (2 if ordered else 1) * smoothness, (1 - alpha) * fitness)


def _rows(graph: Graph, values: Array | Sparse, name: str) -> NDArray[np.float64]:
    plain = sp.csr_array(values).toarray() if sp.issparse(values) else values
    dense = np.atleast_2d(np.asarray(plain, dtype=np.float64))
    if dense.ndim != 2 or dense.shape[1] != graph.n_vertices:
        raise InputError(f"{name} must have a column for each of {graph.n_vertices} vertices, got {dense.shape}")
    return dense
