"""Random projections of h(𝒲) beside the basis of stages 1 and 2, with the same number of columns (§6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from longwave.datasets import shared
from longwave.experiments.experiment import Check, Data, Experiment, Session
from longwave.experiments.fields import observations
from longwave.experiments.measure import build, quiet
from longwave.experiments.style import finish, line, panels
from longwave.filters import LowPass
from longwave.solvers import ConjugateGradient, RandomProjection, Spectral, System
from longwave.spectrum import Chebyshev, Simultaneous

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PROJECTION, _ONE, _TWO, _SIX, _FILTERED = (
    "random projection of h(𝒲)",
    "stages 1–2, q = 1",
    "stages 1–2, q = 2",
    "stages 1–2, q = 6",
    "Chebyshev",
)


def run(session: Session) -> dict[str, Any]:
    """Digits, the giant component: the mean relative error of eq. (4), h_0.99, over 20 observations."""
    index = build(shared.labelled("digits", session.data), k=20, spectrum=None)
    giant = np.flatnonzero(index.graph.labels == 0)
    matrix = sp.csr_array(index.graph.normalized[giant][:, giant])
    h, y = LowPass(0.99), observations(len(giant), 20, session.seed)
    exact = ConjugateGradient(1e-10)(System(matrix, None), y, h).scores
    columns = [20, 100] if session.quick else [20, 50, 100, 200, 400]
    found: dict[str, list[float]] = {}
    for count in columns:
        ways = {_ONE: Simultaneous(count, 0, 1), _TWO: Simultaneous(count, 0, 2), _SIX: Simultaneous(count, 0, 6)}
        ways[_FILTERED] = Chebyshev(count)  # type: ignore[assignment]
        with quiet():
            answers = {
                name: Spectral(complement=False)(System(matrix, method(matrix)), y, h).scores
                for name, method in ways.items()
            }
        answers[_PROJECTION] = RandomProjection(count, session.seed)(System(matrix, None), y, h).scores
        for name, scores in answers.items():
            errors = np.linalg.norm(scores - exact, axis=1) / np.linalg.norm(exact, axis=1)
            found.setdefault(name, []).append(float(f"{errors.mean():.2g}"))
    return {"n": len(giant), "columns": columns, "error": found}


def draw(results: Data, times: Data) -> Figure:
    """Error against columns."""
    figure, (axes,) = panels(1)
    for number, (name, values) in enumerate(results["error"].items()):
        line(axes, results["columns"], values, number, name.replace("𝒲", r"$\mathcal{W}$"))
    finish(axes, x="columns", y="relative error of x", log=True, ticks=results["columns"])
    axes.set_yscale("log")
    return figure


def checks(results: Data, times: Data) -> list[Check]:
    """The projection behind the converged basis everywhere; "roughly a single iteration" as measured."""
    error, last = results["error"], results["columns"][-1]
    ours, one, other = error[_FILTERED], error[_TWO], error[_PROJECTION]
    near = all(0.5 <= p / q <= 2 for p, q in zip(other, one, strict=True))
    return [
        Check(
            "A basis is more accurate than random projections with as many columns",
            f"relative error with {last} columns: {ours[-1]:.2g} against {other[-1]:.2g}",
            all(b < p for b, p in zip(ours, other, strict=True)),
        ),
        Check(
            "Random projections roughly correspond to a single iteration of stage 1: one product with 𝒲, q = 2 (the "
            "error of one within twice that of the other)",
            f"{', '.join(f'{p:.2g} / {q:.2g}' for p, q in zip(other, one, strict=True))} with "
            f"{', '.join(map(str, results['columns']))} columns",
            near,
        ),
    ]


EXPERIMENT = Experiment(
    "projections",
    "Random projections in place of a basis",
    "§6",
    "Noise that was filtered once estimates h(𝒲) without a basis, for one h. The basis is found by filtering again and "
    "again, and serves every h.",
    run,
    draw,
    checks,
)
