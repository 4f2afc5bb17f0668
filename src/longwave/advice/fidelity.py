"""How well searches answer: what they find of the hits by exact scores, measured when an index is built."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from longwave.errors import LongwaveWarning
from longwave.filters import LowPass
from longwave.rows.vectors import top_k
from longwave.solvers import BestFirst, ChebyshevFilter, ConjugateGradient, Solver, System
from longwave.types import Filter, Solution

# Vertices that ask, and hits that are compared.
_ASKED, _HITS = 16, 50
#: Below this the ranking of the basis may be more than half a point of mAP behind the exact one.
ENOUGH = 0.93


def fidelity(system: System, filter: Filter, solver: Solver, *, seed: int = 0) -> float | None:
    """The share of the first 50 by exact scores that a solver has among its own, for some vertices of the graph.

    Each asks with its own row of the graph. Exact are scores of all vertices, with neither a cut basis nor a walk; only
    where the solver keeps a share of the short waves (`BestFirst.local`), the basis has the other share of them. None
    where there is nothing to compare. Takes the time of 16 exact queries.
    """
    matrix = system.normalized
    able = np.flatnonzero(np.diff(matrix.indptr))
    if system.spectrum is None or not len(able) or system.n_targets <= _HITS:
        return None
    chosen = np.sort(np.random.default_rng(seed).choice(able, size=min(_ASKED, len(able)), replace=False))
    own = sp.csr_array((np.ones(len(chosen)), (np.arange(len(chosen)), chosen)), shape=(len(chosen), matrix.shape[0]))
    y = sp.csr_array(matrix[chosen] + own, dtype=np.float32)
    true: Callable[..., Solution] = ConjugateGradient(1e-4) if isinstance(filter, LowPass) else ChebyshevFilter(1e-4)
    if isinstance(filter, LowPass) and isinstance(solver, BestFirst):
        true = solver.exactly
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongwaveWarning)
        exact, _ = top_k(true(system, y, filter).scores, _HITS)
        found, _ = top_k(solver(system, y, filter).scores, _HITS)
    return float(np.mean([len(np.intersect1d(a, b)) / _HITS for a, b in zip(exact, found, strict=True)]))
