"""`Benchmark`: a collection with queries and known answers, whatever files it came from, and added distractors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.evaluation import Graded, Judgement
from longwave.types import Array


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Everything an experiment needs; items are numbered 0 … N−1, and judgements name these numbers.

    vectors: (n, d). queries: (m, d). judgements: (Q,), for the classic protocol. groups: (n,) item of each vector and
    query_groups: (m,) query of each row, for regional vectors. classes: (Q,) what each query shows, such as a landmark.
    """

    name: str
    vectors: Array
    queries: Array
    judgements: Sequence[Judgement]
    groups: NDArray[np.int64] | None = None
    query_groups: NDArray[np.int64] | None = None
    classes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        n_queries = len(self.queries) if self.query_groups is None else int(self.query_groups.max()) + 1
        if n_queries != len(self.judgements):
            raise InputError(f"{self.name}: {n_queries} queries but ground truth for {len(self.judgements)}")
        check_known(self.judgements, self.n_items, self.name)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.vectors) if self.groups is None else int(self.groups.max()) + 1

    def with_distractors(self, vectors: Array, count: int | None = None, *, seed: int = 0) -> Benchmark:
        """The distractor protocol: `count` further items that answer no query, a random choice of (m, d), or all.

        Judgements stay; the new items come last. Global vectors only: one each.
        """
        if self.groups is not None:
            raise InputError(f"{self.name} has several vectors per item; distractors are added to global vectors")
        if vectors.shape[1] != self.vectors.shape[1]:
            raise InputError(f"distractors have {vectors.shape[1]} dimensions but {self.name} {self.vectors.shape[1]}")
        wanted = len(vectors) if count is None else count
        if not 0 <= wanted <= len(vectors):
            raise InputError(f"count must be from 0 to {len(vectors)}, the distractors that there are, got {wanted}")
        chosen = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:wanted])
        return replace(self, name=f"{self.name} + {wanted:,}", vectors=np.concatenate([self.vectors, vectors[chosen]]))


def check_known(truth: Sequence[Judgement | Graded], n_items: int, where: str) -> None:
    """Raise if a judgement names an item that there is not."""
    for query, judged in enumerate(truth):
        parts = (judged.positive,) if isinstance(judged, Judgement) else (judged.easy, judged.hard)
        for item in (i for ids in (*parts, judged.junk) for i in ids):
            if not 0 <= item < n_items:
                raise InputError(f"{where}: query {query} names item {item}, but items are 0 … {n_items - 1:,}")
