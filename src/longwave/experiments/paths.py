"""Shortest paths and sums over paths, when edges are taken from the graph (§5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from longwave.datasets import shared
from longwave.experiments.experiment import Check, Data, Experiment, Session
from longwave.experiments.measure import build
from longwave.experiments.style import finish, line, panels
from longwave.filters import LowPass
from longwave.graph.mutual import normalize
from longwave.rows.vectors import top_k
from longwave.solvers import ConjugateGradient, System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TOP = 50
_WAYS = ("strongest path in W", "strongest path in 𝒲", "sum over paths, h_0.99", "sum over paths, h_0.9")


def run(session: Session) -> dict[str, Any]:
    """Digits, k 20, the giant component: the 50 best of each of 40 vertices, before and after random edges went."""
    index = build(shared.labelled("digits", session.data), k=20, spectrum=None)
    giant = np.flatnonzero(index.graph.labels == 0)
    whole = sp.csr_array(index.graph.adjacency()[giant][:, giant], dtype=np.float64)
    rng = np.random.default_rng(session.seed)
    sources = rng.choice(len(giant), 10 if session.quick else 40, replace=False)
    shares = [0.05, 0.2] if session.quick else [0.01, 0.02, 0.05, 0.1, 0.2, 0.4]
    before = _rankings(whole, sources)
    found: dict[str, dict[str, list[float]]] = {}
    for name, change in _CHANGES.items():
        for share in shares:
            overlaps: dict[str, list[float]] = {way: [] for way in _WAYS}
            for _ in range(1 if session.quick else 3):
                after = _rankings(change(whole, share, rng), sources)
                for way in _WAYS:
                    pairs = zip(before[way], after[way], strict=True)
                    overlaps[way].append(float(np.mean([len(np.intersect1d(a, b)) / _TOP for a, b in pairs])))
            for way in _WAYS:
                found.setdefault(name, {}).setdefault(way, []).append(round(float(np.mean(overlaps[way])), 3))
    return {"n": len(giant), "edges": whole.nnz // 2, "shares": shares, "overlap": found}


def _rankings(adjacency: Any, sources: Any) -> dict[str, Any]:
    """The vertices that each way ranks first. (sources, 50) by name"""
    from scipy.sparse.csgraph import dijkstra

    normalized, _ = normalize(adjacency)
    pulses = sp.csr_array(
        (np.ones(len(sources), dtype=np.float32), (np.arange(len(sources)), sources)),
        shape=(len(sources), adjacency.shape[0]),
    )
    made = {}
    for way, matrix in zip(_WAYS[:2], (adjacency, sp.csr_array(normalized, dtype=np.float64)), strict=True):
        lengths = sp.csr_array((-np.log(np.minimum(matrix.data, 1 - 1e-12)), matrix.indices, matrix.indptr))
        made[way] = -dijkstra(lengths, indices=sources)
    for way, alpha in zip(_WAYS[2:], (0.99, 0.9), strict=True):
        made[way] = ConjugateGradient(1e-8)(System(normalized, None), pulses, LowPass(alpha)).scores
    reached = {way: np.where(np.isfinite(scores), scores, -1e9) for way, scores in made.items()}
    return {way: top_k(np.asarray(scores, dtype=np.float32), _TOP)[0] for way, scores in reached.items()}


def _without_edges(adjacency: Any, share: float, rng: np.random.Generator) -> Any:
    """The same graph without a random share of its edges."""
    upper = sp.triu(adjacency, k=1, format="coo")
    kept = rng.random(upper.nnz) >= share
    rows, columns = (ends[kept] for ends in upper.coords)
    half = sp.csr_array((upper.data[kept], (rows, columns)), shape=adjacency.shape)
    return sp.csr_array(half + half.T)


def _with_edges(adjacency: Any, share: float, rng: np.random.Generator) -> Any:
    """The same graph with as many more edges between random vertices, of weights that it has."""
    n, count = adjacency.shape[0], round(share * adjacency.nnz / 2)
    rows, columns = rng.integers(0, n, size=(2, count))
    weights = rng.choice(adjacency.data, size=count) * (rows != columns)
    half = sp.csr_array((weights, (rows, columns)), shape=adjacency.shape)
    whole = sp.csr_array(adjacency.maximum(half.maximum(half.T)))
    whole.eliminate_zeros()
    return whole


_CHANGES = {"removed": _without_edges, "added": _with_edges}


def draw(results: Data, times: Data) -> Figure:
    """Overlap against the share of edges that were changed."""
    figure, axes = panels(2, height=4.2)
    ticks = [100 * share for share in results["shares"]]
    for panel, (change, curves) in zip(axes, results["overlap"].items(), strict=True):
        for number, (way, values) in enumerate(curves.items()):
            line(panel, ticks, values, number, way.replace("𝒲", r"$\mathcal{W}$"))
        finish(panel, x=f"edges {change}, %", y=f"of the first {_TOP}, still there", log=True, ticks=ticks, below=True)
        panel.set_ylim(0, 1.02)
    return figure


def checks(results: Data, times: Data) -> list[Check]:
    """The sum keeps more of its ranking at every share."""
    made, shares = [], results["shares"]
    at = shares.index(0.2)
    for change, overlap in results["overlap"].items():
        path = [max(pair) for pair in zip(overlap[_WAYS[0]], overlap[_WAYS[1]], strict=True)]
        made.append(
            Check(
                f"Shortest paths are more sensitive to changes in the graph than sums over paths (edges {change})",
                f"with {shares[at]:.0%} of the edges {change}, {100 * path[at]:.0f} % of the first {_TOP} stay by the "
                f"strongest path, {100 * overlap[_WAYS[2]][at]:.0f} % by h_0.99, {100 * overlap[_WAYS[3]][at]:.0f} % "
                "by h_0.9; the better of two against h_0.99 at all shares",
                all(s > p for s, p in zip(overlap[_WAYS[2]], path, strict=True)),
            )
        )
    return made


EXPERIMENT = Experiment(
    "paths",
    "Shortest paths and sums over paths in a changed graph",
    "§5.5",
    "A ranking by the strongest path hangs on single edges; a sum over all paths has others when one goes, and hardly "
    "notices one that is wrong. Edges are taken or added at random; what is compared are the first 50 of the same "
    "vertices, before and after.",
    run,
    draw,
    checks,
)
