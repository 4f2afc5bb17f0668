"""The error against rank, q and |h(λ_{r+1})|, and the cost against n, r and τ (§4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from longwave.datasets import Benchmark, shared
from longwave.evaluation import Judgement
from longwave.experiments.experiment import Check, Data, Experiment, Session
from longwave.experiments.measure import COMPLEMENT, build, cut_rank, solver_milliseconds
from longwave.experiments.sets import large, large_index
from longwave.experiments.style import finish, line, panels
from longwave.filters import LowPass
from longwave.solvers import Spectral
from longwave.spectrum import Chebyshev, Simultaneous
from longwave.spectrum.operations import Local
from longwave.spectrum.simultaneous import range_basis
from longwave.spectrum.sparsify import sparsify

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _digits(session: Session) -> Any:
    """𝒲 of the giant component of the digits, CSR, and all its eigenpairs in float64."""
    index = build(shared.labelled("digits", session.data), k=20, spectrum=None)
    giant = np.flatnonzero(index.graph.labels == 0)
    matrix = sp.csr_array(index.graph.normalized[giant][:, giant])
    values, vectors = np.linalg.eigh(matrix.toarray().astype(np.float64))
    return matrix, values[::-1], vectors[:, ::-1]


def run(session: Session) -> dict[str, Any]:
    """Digits: small enough for exact norms. y: unit vectors on ten random vertices."""
    matrix, values, vectors = _digits(session)
    n = len(values)
    rng = np.random.default_rng(session.seed)
    y = np.zeros((20, n))
    for row in y:
        row[rng.choice(n, 10, replace=False)] = rng.random(10)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    h = LowPass(0.99)
    exact = (y @ vectors * h(values)) @ vectors.T
    ranks = [10, 50, 150] if session.quick else [10, 20, 50, 100, 200, 400, 800]
    rounds = [1, 3, 6] if session.quick else [1, 2, 3, 6, 12, 24]
    bound, truth, complement = [], [], []
    for rank in ranks:
        u, gains = vectors[:, :rank], h(values[:rank])
        bound.append(_round(h(values[rank : rank + 1])[0]))
        truth.append(_round(np.linalg.norm((y @ u * gains) @ u.T - exact, axis=1).max()))
        kept = (y @ u * (gains - h(np.zeros(1)))) @ u.T + h(np.zeros(1)) * y
        complement.append(_round(np.linalg.norm(kept - exact, axis=1).max()))
    approximate: dict[str, list[float]] = {}
    projection: dict[str, list[float]] = {}
    dense = matrix.toarray().astype(np.float64)
    for q in rounds:
        for rank in ranks:
            made = Simultaneous(rank, rounds=q)(matrix)
            u = made.eigenvectors.toarray().astype(np.float64)
            error = np.linalg.norm((y @ u * h(made.eigenvalues)) @ u.T - exact, axis=1).max()
            approximate.setdefault(f"q = {q}", []).append(_round(error))
            start = rng.standard_normal((n, rank + rank // 10 + 10), dtype=np.float32)
            block = range_basis(Local(matrix), start, q)[0].astype(np.float64)
            left = dense - block @ (block.T @ dense)
            projection.setdefault(f"q = {q}", []).append(_round(_largest_singular(left)))
    magnitudes = np.sort(np.abs(values))[::-1]
    best = [_round(magnitudes[min(n - 1, rank + rank // 10 + 10)]) for rank in ranks]
    chebyshev = []
    for rank in ranks:
        made = Chebyshev(rank)(matrix)
        u = made.eigenvectors.toarray().astype(np.float64)
        chebyshev.append(_round(np.linalg.norm((y @ u * h(made.eigenvalues)) @ u.T - exact, axis=1).max()))
    return {
        "n": n,
        "ranks": ranks,
        "bound": bound,
        "truncated": truth,
        "complement": complement,
        "chebyshev": chebyshev,
        "approximate": approximate,
        "projection": projection,
        "smallest possible": best,
    }


def _largest_singular(matrix: Any) -> float:
    """‖A‖₂ by Lanczos, to more digits than are kept."""
    from scipy.sparse.linalg import svds

    start = np.ones(len(matrix))
    return float(svds(matrix, k=1, tol=1e-4, v0=start, return_singular_vectors=False)[0])


def _round(value: Any) -> float:
    """Two significant digits: what two runs share."""
    return float(f"{float(value):.2g}")


def draw(results: Data, times: Data) -> Figure:
    """Left the error of h(𝒲)y, right ‖A − QQᵀA‖."""
    figure, (left, right) = panels(2, height=4.8)
    ranks = results["ranks"]
    line(left, ranks, results["bound"], 10, "$|h(\\lambda_{r+1})|$, the bound", linestyle=":", marker="")
    line(left, ranks, results["truncated"], 0, "exact pairs")
    line(left, ranks, results["complement"], 1, "exact pairs, complement")
    line(left, ranks, results["chebyshev"], 2, "Chebyshev", linestyle="--")
    for number, (name, values) in enumerate(results["approximate"].items()):
        line(left, ranks, values, 3 + number, f"as printed, {name}", linestyle="--")
    finish(
        left, x="rank r", title=r"largest ‖x − h($\mathcal{W}$)y‖ of 20 y, ‖y‖ = 1", log=True, ticks=ranks, below=True
    )
    left.set_yscale("log")
    for number, (name, values) in enumerate(results["projection"].items()):
        line(right, ranks, values, 3 + number, name)
    line(right, ranks, results["smallest possible"], 10, "smallest possible", linestyle=":", marker="")
    finish(right, x="rank r", title="‖A − QQᵀA‖, simultaneous iteration", log=True, ticks=ranks, below=True)
    return figure


def checks(results: Data, times: Data) -> list[Check]:
    """The bound holds, and the range error falls with q."""
    holds = all(t <= b * 1.05 for t, b in zip(results["truncated"], results["bound"], strict=True))
    every = list(results["projection"].values())
    first, last = every[0], every[-1]
    falls = all(a >= b for a, b in zip(first, last, strict=True))
    return [
        Check(
            "The error of the truncated answer is governed by |h(λ_{r+1})|",
            f"at r = {results['ranks'][-1]}: {results['truncated'][-1]:.2g}, bound {results['bound'][-1]:.2g}; held "
            f"at all ranks: {holds}",
            holds,
        ),
        Check(
            "‖A − QQᵀA‖ falls towards the smallest possible as q grows",
            f"at r = {results['ranks'][-1]}: {first[-1]:.2g} to {last[-1]:.2g}, smallest possible "
            f"{results['smallest possible'][-1]:.2g}",
            falls,
        ),
    ]


EXPERIMENT = Experiment(
    "error",
    "The error against rank, q and |h(λ_{r+1})|",
    "§4.3",
    "Two errors add up: what is cut off, which the filter's gain at the first eigenvalue left out bounds, and how "
    "well the subspace is found. The printed iteration needs many rounds; the filtered one is on the curve of exact "
    "pairs.",
    run,
    draw,
    checks,
)


def run_cost(session: Session) -> dict[str, Any]:
    """Time offline against n and r, online against r and τ. Results are the sizes; the times lie apart."""
    data = large(session)
    sizes = [1000, 2000, 4000] if session.quick else [1750, 3500, 7000, 14000]
    ranks = [50, 100, 200] if session.quick else [125, 250, 500, 1000, 2000]
    at = 100 if session.quick else 500
    order = np.random.default_rng(session.seed).permutation(data.n_items)
    edges = []
    Chebyshev(5)(build(_first(data, order[:500]), k=10, spectrum=None).graph.normalized)  # loads compiled code
    for n in sizes:
        index = build(_first(data, order[:n]), k=50, spectrum=None)
        edges.append(int(index.graph.normalized.nnz))
        with session.seconds(f"offline, n = {n}, s"):
            Chebyshev(at)(index.graph.normalized)
    full = large_index(session)
    for rank in ranks:
        if not session.quick:
            with session.seconds(f"offline, r = {rank}, s"):
                Chebyshev(rank)(full.graph.normalized)
        part = cut_rank(full, rank)
        solver = Spectral()
        session.times[f"online, r = {rank}, ms"] = solver_milliseconds(solver, part, data, queries=25)
    nonzeros = []
    assert full.spectrum is not None
    for level in (0.0, 0.9, 0.99):
        tau = round((1 - level) * full.spectrum.eigenvectors.nonzeros)
        thin = replace(full, spectrum=sparsify(full.spectrum, full.graph.normalized, nonzeros=tau))
        nonzeros.append(tau)
        taken = solver_milliseconds(COMPLEMENT.solver, thin, data, queries=25)  # type: ignore[arg-type]
        session.times[f"online, τ = {tau}, ms"] = taken
    return {"sizes": sizes, "rank": at, "edges": edges, "ranks": ranks, "nonzeros": nonzeros, "n": data.n_items}


def _first(data: Benchmark, rows: Any) -> Benchmark:
    """A part of the collection, for its graph alone: nothing is judged."""
    kept = np.sort(rows)
    return replace(data, vectors=data.vectors[kept], judgements=[Judgement([]) for _ in data.judgements])


def draw_cost(results: Data, times: Data) -> Figure:
    """Offline against n and r, online against r and τ, logarithmic; the dotted line is proportional."""
    figure, axes = panels(3, height=3.4)
    offline_r = [r for r in results["ranks"] if f"offline, r = {r}, s" in times]
    shown = [
        (
            axes[0],
            results["sizes"],
            [times[f"offline, n = {n}, s"] for n in results["sizes"]],
            f"offline s against n, r = {results['rank']}",
        ),
        (
            axes[1],
            results["ranks"],
            [times[f"online, r = {r}, ms"] for r in results["ranks"]],
            f"against r, n = {results['n']:,}",
        ),
        (
            axes[2],
            results["nonzeros"],
            [times[f"online, τ = {t}, ms"] for t in results["nonzeros"]],
            "online ms against τ",
        ),
    ]
    for place, (panel, x, y, title) in enumerate(shown):
        line(panel, x, y, 0, "online, ms" if place == 1 else "")
        panel.plot(x, [y[0] * value / x[0] for value in x], ":", color="#777777", label="proportional")
        if place == 1 and offline_r:
            line(panel, offline_r, [times[f"offline, r = {r}, s"] for r in offline_r], 1, "offline, s")
        finish(panel, x=("n", "r", "τ")[place], title=title, log=True, ticks=x if place < 2 else ())
        panel.set_yscale("log")
        panel.legend(fontsize=7)
    return figure


COST = Experiment(
    "cost",
    "The cost against n, r and τ",
    "§4.1",
    "Offline O(q n (k + r̂) r̂), online O(n r), or O(τ) with a sparse basis. The slopes are what counts.",
    run_cost,
    draw_cost,
    needs=("oxford", "distractors"),
)
