"""The collections of the experiments and their indexes, whole or quick, built once a session."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from longwave.datasets import Benchmark, shared
from longwave.experiments.experiment import Session
from longwave.experiments.measure import build, subset_of_items
from longwave.index import Index
from longwave.pictures.reduction import reduce_regions
from longwave.rows.vectors import normalize
from longwave.spectrum import Chebyshev, Exact

#: Our regions are weaker than the paper's, and α 0.99 reaches too far in their graph.
REGIONAL_ALPHA = 0.9


def oxford(session: Session) -> Benchmark:
    """5,063 photographs, one vector each."""
    return shared.oxford(session.data)


def oxford_index(session: Session) -> Index:
    """Rank 500; quick: 150."""
    rank = 150 if session.quick else 500
    data = oxford(session)
    return session.keep(f"oxford {rank}", lambda: build(data, k=50, spectrum=Chebyshev(rank), seed=session.seed))


def oxford_exact(session: Session) -> Index:
    """All eigenpairs, so that every rank is a part of it; quick: those of `oxford_index`, accurate but not exact."""
    if session.quick:
        return oxford_index(session)
    return session.keep("oxford exact", lambda: build(oxford(session), k=50, spectrum=Exact()))


def large(session: Session) -> Benchmark:
    """The same with all 9,144 distractors; quick: 1,000 of them."""
    count = 1000 if session.quick else None
    return oxford(session).with_distractors(shared.oxford_distractors(session.data), count, seed=session.seed)


def large_index(session: Session) -> Index:
    """Rank 2,000; quick: 200."""
    rank = 200 if session.quick else 2000
    data = large(session)
    return session.keep(f"large {rank}", lambda: build(data, k=50, spectrum=Chebyshev(rank), seed=session.seed))


def regions(session: Session) -> Benchmark:
    """107,217 regions of the photographs; quick: those of 700 photographs, all positives among them."""
    data = shared.oxford_regions(session.data)
    if not session.quick:
        return data
    positives = sorted({i for j in data.judgements for i in j.positive})
    others = np.setdiff1d(np.arange(data.n_items), positives)
    chosen = np.random.default_rng(session.seed).permutation(others)[: max(0, 700 - len(positives))]
    return subset_of_items(data, [*positives, *chosen.tolist()], "700 photographs, regional")


def regional_index(session: Session) -> Index:
    """k 200, rank 500; quick: k 50, rank 60."""
    data = regions(session)
    k, rank = (50, 60) if session.quick else (200, 500)
    return session.keep(f"regions {rank}", lambda: build(data, k=k, spectrum=Chebyshev(rank), seed=session.seed))


def few_regions(session: Session) -> Benchmark:
    """The same with at most 5 vectors a photograph, the means of a Gaussian mixture of its regions (§8.3).

    Queries keep all of their regions.
    """
    return _reduced(session.data, session.quick, session.seed)


@lru_cache(maxsize=1)
def _reduced(folder: Path | None, quick: bool, seed: int) -> Benchmark:
    data = regions(Session(quick=quick, seed=seed, data=folder))
    assert data.groups is not None
    vectors, groups = reduce_regions(normalize(data.vectors), data.groups, count=5, seed=seed)
    return replace(data, name=f"{data.name}, 5 each", vectors=vectors, groups=groups)


def few_regions_index(session: Session) -> Index:
    """k 200, rank 1,000; quick: k 50, rank 60."""
    data = few_regions(session)
    k, rank = (50, 60) if session.quick else (200, 1000)
    return session.keep(f"few regions {rank}", lambda: build(data, k=k, spectrum=Chebyshev(rank), seed=session.seed))


def ranks_of(session: Session, full: tuple[int, ...], quick: tuple[int, ...]) -> list[int]:
    """Ranks to measure at."""
    return list(quick if session.quick else full)
