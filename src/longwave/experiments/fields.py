"""How fast three solvers lower the energy of §5.3: Jacobi, Gauss–Seidel and conjugate gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from longwave.datasets import shared
from longwave.experiments.experiment import Check, Data, Experiment, Session
from longwave.experiments.measure import build
from longwave.experiments.style import finish, line, panels
from longwave.filters import LowPass
from longwave.graph.laplacian import laplacian
from longwave.graph.mutual import Graph
from longwave.solvers import ConjugateGradient, GaussSeidel, RandomWalk, System
from longwave.solvers.conjugate_gradient import preconditioned
from longwave.solvers.fields import energy, objective

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = ("Jacobi", "Gauss–Seidel", "conjugate gradients")


def run(session: Session) -> dict[str, Any]:
    """Digits, k 20: (f_α(x) − f_α(x*)) / |f_α(x*)|, the mean over 20 observations of ten vertices each."""
    index = build(shared.labelled("digits", session.data), k=20, spectrum=None)
    graph, system = index.graph, System(index.graph.normalized, None)
    y = observations(graph.n_vertices, 20, session.seed)
    steps = [1, 4, 16] if session.quick else [1, 2, 4, 8, 16, 32, 64, 128, 256]
    found: dict[str, Any] = {"n": graph.n_vertices, "steps": steps, "energy": {}, "terms": {}}
    for alpha in (0.9, 0.99):
        h = LowPass(alpha)
        best = ConjugateGradient(1e-12, max_steps=5000)(system, y, h).scores
        least = energy(graph, best, y, alpha)
        curves: dict[str, list[float]] = {name: [] for name in _NAMES}
        for count in steps:
            answers = (solver(system, y, h).scores for solver in (RandomWalk(count), GaussSeidel(count)))
            for name, x in zip(_NAMES, (*answers, _conjugate(graph, y, alpha, count)), strict=True):
                above = (energy(graph, x, y, alpha) - least) / np.abs(least)
                curves[name].append(float(f"{max(above.mean(), 1e-7):.2g}"))  # float32 scores: no more digits
        found["energy"][f"α {alpha}"] = curves
        terms = objective(graph, best, y, alpha)
        found["terms"][f"α {alpha}"] = [float(f"{term.mean():.3g}") for term in terms]
    return found


def _conjugate(graph: Graph, y: Any, alpha: float, steps: int) -> Any:
    """Conjugate gradients from (1 − α) y, the first step of the walk, so that all three are there after one step."""
    matrix = laplacian(graph, alpha=alpha, normalized=True)
    start = y.toarray().T.astype(np.float64)
    return preconditioned(lambda x: matrix @ x, start, lambda r: (1 - alpha) * r, 0.0, steps - 1)[0].T


def observations(n: int, count: int, seed: int) -> Any:
    """Ten random vertices each, weights uniform on [0, 1]. CSR (count, n)"""
    rng = np.random.default_rng(seed)
    vertices = np.concatenate([rng.choice(n, 10, replace=False) for _ in range(count)])
    where = np.repeat(np.arange(count), 10), vertices
    return sp.csr_array((rng.random(10 * count), where), shape=(count, n), dtype=np.float32)


def draw(results: Data, times: Data) -> Figure:
    """A panel for each α."""
    figure, axes = panels(2)
    for panel, (name, curves) in zip(axes, results["energy"].items(), strict=True):
        for number, (method, values) in enumerate(curves.items()):
            line(panel, results["steps"], values, number, method)
        finish(panel, x="steps", y="energy above the least, relative", title=name, log=True, ticks=results["steps"])
        panel.set_yscale("log")
    return figure


def checks(results: Data, times: Data) -> list[Check]:
    """From eight steps on the energy is lowest with conjugate gradients."""
    made = []
    for name, curves in results["energy"].items():
        jacobi, seidel, conjugate = (curves[method] for method in _NAMES)
        at = results["steps"].index(16)
        better = all(c <= s for c, s in zip(conjugate[at - 1 :], seidel[at - 1 :], strict=True))
        made.append(
            Check(
                f"Conjugate gradients minimise f_α more efficiently than Jacobi or Gauss–Seidel ({name})",
                f"above the least after 16 steps: {jacobi[at]:.2g}, {seidel[at]:.2g}, {conjugate[at]:.2g} of |f_α(x*)|",
                better and conjugate[at] < seidel[at] < jacobi[at],
            )
        )
    return made


EXPERIMENT = Experiment(
    "fields",
    "The energy of a ranking, step by step",
    "§5.3, eqs. (9) and (10)",
    "The ranking is the minimum of an energy. A step is one product with 𝒲 in all three methods; Jacobi is the random "
    "walk of eq. (8). Jacobi and Gauss–Seidel begin at 0, conjugate gradients at (1 − α) y, which is Jacobi's first "
    "step and counts as one.",
    run,
    draw,
    checks,
)
