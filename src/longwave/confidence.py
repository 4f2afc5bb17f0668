"""When not to: how far the graph can be trusted with a query, told without labels.

Edges of the graph are mutual: each end is among the other's nearest. A query that lies on the manifold is met in the
same way by its neighbours; one that does not (a short text among long ones, a picture of something else) has neighbours
to which it is nobody. At k = 20, the share of neighbours that return the favour is 0.75 to 0.97 on eight image and
sound sets and MED, and 0.36 and 0.50 on Cranfield and CISI, where a blend with Euclidean similarity beats diffusion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longwave.types import Array, Graph, Neighbors, Sparse

#: Neighbours that are asked: five would be too coarse for a single query.
ASKED = 10
#: A query of at least this reciprocity is ranked by the graph alone.
ENOUGH = 0.9


def reciprocity(found: Neighbors, reach: NDArray[np.float32]) -> NDArray[np.float32]:
    """The share of a vector's nearest vertices that would count it among their own k nearest. Lists (m, c) -> (m,)

    reach: (n,) similarity of every vertex to its k-th neighbour.
    """
    ids, products = found.ids[:, :ASKED], found.similarities[:, :ASKED]
    present = ids >= 0
    met = present & (products >= reach[np.maximum(ids, 0)])
    return np.asarray(met.sum(axis=1) / np.maximum(present.sum(axis=1), 1), dtype=np.float32)


def connected_share(observation: Sparse, graph: Graph, *, more_than: int) -> NDArray[np.float32]:
    """The share of |y| in components of more than so many vertices: elsewhere there is nobody to pass it on to. (q,)"""
    size = np.abs(observation.data)
    large = graph.component_sizes[graph.labels[observation.indices]] > more_than
    rows = np.repeat(np.arange(observation.shape[0]), np.diff(observation.indptr))
    total, kept = (np.bincount(rows, weights=w, minlength=observation.shape[0]) for w in (size, size * large))
    share = np.divide(kept, total, out=np.zeros(len(total)), where=total > 0)
    return share.astype(np.float32)


def confidence(
    found: Neighbors, query_of: NDArray[np.int64], weights: Array, observation: Sparse, graph: Graph
) -> NDArray[np.float32]:
    """Reciprocity, a weighted mean over the regions of a query, times the connected share of y. 0 … 1, (q,)

    found: lists of every region (m, c); query_of, weights: (m,); observation: CSR (q, n).
    """
    share = reciprocity(found, graph.reach)
    size = np.abs(weights)
    mean = np.bincount(query_of, weights=share * size) / np.bincount(query_of, weights=size)
    return np.asarray(
        mean * connected_share(observation, graph, more_than=min(ASKED, graph.n_vertices - 1)), dtype=np.float32
    )
