"""The Laplacians of §2.1 and §2.2: L, 𝓛, L_α and 𝓛_α."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longwave.errors import InputError
from longwave.graph.mutual import Graph
from longwave.types import Sparse


def laplacian(graph: Graph, *, alpha: float | None = None, normalized: bool = False) -> Sparse:
    """L = D − W, or of the normalised graph 𝓛 = I − 𝒲 (§2.1). CSR (n, n), float64.

    With `alpha`: L_α = (D − αW)/(1 − α) or 𝓛_α = (I − α𝒲)/(1 − α), the matrix of eq. (1), which is positive definite
    (§2.2; L_α on vertices that have edges). An isolated vertex has 0 on the diagonal of L, and, as the paper writes
    𝓛 = I − 𝒲, 1 on that of 𝓛.
    """
    if alpha is not None and not 0 <= alpha < 1:
        raise InputError(f"alpha must be at least 0 and below 1, got {alpha}")
    matrix = graph.normalized if normalized else graph.adjacency()
    diagonal = np.ones(graph.n_vertices) if normalized else graph.degrees
    weight, scale = (1.0, 1.0) if alpha is None else (alpha, 1 / (1 - alpha))
    return sp.csr_array(scale * (sp.diags_array(diagonal) - weight * matrix.astype(np.float64)))
