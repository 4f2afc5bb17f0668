"""Truncated diffusion: the manifold search of each query on a small part of the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.baselines.ranker import best_hits
from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.filters import LowPass
from longwave.graph.lists import nearest
from longwave.graph.mutual import normalize
from longwave.index import Index
from longwave.rows.vectors import top_k
from longwave.search.euclidean import euclidean_scores
from longwave.search.observation import observe
from longwave.search.queries import Queries
from longwave.solvers import ConjugateGradient, System
from longwave.types import Array, Hits, Sparse


@dataclass(frozen=True)
class TruncatedDiffusion:
    """Diffusion on the part of the graph that the `count` items nearest to the query span (Iscen et al. 2017).

    The subgraph is normalised anew for every query and solved by conjugate gradients; all other items follow, in
    Euclidean order. Time O(count · k) per step.
    """

    count: int = 1000
    filter: LowPass = field(default_factory=lambda: LowPass(0.99))
    neighbors: int = 10
    cut: int | None = None
    solver: ConjugateGradient = field(default_factory=ConjugateGradient)

    def __post_init__(self) -> None:
        check_counts(count=self.count, neighbors=self.neighbors)

    def __call__(self, index: Index, queries: ArrayLike, k: int = 10, *, query_groups: ArrayLike | None = None) -> Hits:
        """One query at a time."""
        if index.added is not None:
            raise InputError("truncated diffusion ranks the items of the graph; build the index from all vectors")
        asked = Queries.make(queries, dimension=index.dimension, groups=query_groups)
        adjacency, summed = index.graph.adjacency(), asked.summed()
        found = []
        for query in range(len(asked)):
            near = euclidean_scores(summed[[query]], index.vectors, index.pooling)[0]
            kept = np.sort(top_k(near[None, :], min(self.count, len(near)))[0][0])
            scores = near - near.max() - 1  # all below 0, in Euclidean order
            scores[kept] = self._diffused(index, adjacency, asked.regions[asked.query_of == query], kept)
            found.append(scores)
        return best_hits(index, np.stack(found), k)

    def _diffused(self, index: Index, adjacency: Sparse, regions: NDArray[np.float32], kept: Array) -> Array:
        """Scores of the kept items. regions: of one query, (m, d); kept: (count,) -> (count,)"""
        pooling, vertices = None, kept
        if index.pooling is not None:
            vertices = np.unique(sp.csr_array(index.pooling[kept]).indices)
            pooling = sp.csr_array(sp.csr_array(index.pooling[kept])[:, vertices])
        lists = nearest(regions, index.vectors.rows(vertices), k=min(max(self.neighbors, 10), len(vertices)))
        scales = index.graph.scales
        y = observe(
            lists,
            np.zeros(len(regions), dtype=np.int64),
            count=self.neighbors,
            n_vertices=len(vertices),
            kernel=index.similarity,
            scales=None if scales is None else scales[vertices],
            cut=self.cut,
        )
        part, _ = normalize(sp.csr_array(sp.csr_array(adjacency[vertices])[:, vertices]))
        scores: Array = self.solver(System(part, None, pooling), y, self.filter).scores[0]
        return np.maximum(scores, 0)
