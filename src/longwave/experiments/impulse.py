"""Figure 1: the low-pass filtering of an impulse over the line and over a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from longwave.experiments.experiment import Check, Data, Experiment, Session
from longwave.experiments.plots import new_figure
from longwave.experiments.style import COLOURS
from longwave.filters import LowPass
from longwave.graph.mutual import component_labels, normalize
from longwave.solvers import ConjugateGradient, System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE_ALPHA, _GRAPH_ALPHA = 0.85, 0.95


def run(session: Session) -> dict[str, Any]:
    """The line: x_i = α x_{i−1} + (1 − α) y_i. The graph: h_α(𝒲) y on neighbours of random points in the plane."""
    y = np.zeros(41)
    y[10] = 1.0
    x = np.zeros_like(y)
    for i in range(len(y)):
        x[i] = _LINE_ALPHA * (x[i - 1] if i else 0.0) + (1 - _LINE_ALPHA) * y[i]
    n = len(y)
    shift = np.roll(np.eye(n), 1, axis=0)  # C_n = (e_2 e_3 … e_n e_1), §5.1
    gains = LowPass(_LINE_ALPHA)(np.exp(-2j * np.pi * np.arange(n) / n))  # h at the eigenvalues of C_n
    circle = np.fft.ifft(gains * np.fft.fft(y)).real  # eq. (7)
    series = _series(shift, y)
    points = _plane(session.seed)
    adjacency = _neighbours(points, k=6)
    normalized, _ = normalize(adjacency)
    start = int(np.argmin(((points - 0.5) ** 2).sum(axis=1)))
    impulse = sp.csr_array(([1.0], ([0], [start])), shape=(1, len(points)))
    scores = ConjugateGradient(1e-10)(System(normalized, None), impulse, LowPass(_GRAPH_ALPHA)).scores[0]
    rows, columns = sp.triu(adjacency).nonzero()
    return {
        "line": {"alpha": _LINE_ALPHA, "input": y.tolist(), "output": np.round(x, 6).tolist()},
        "circle": {
            "alpha": _LINE_ALPHA,
            "output": np.round(circle, 6).tolist(),
            "error": float(f"{np.abs(circle - series).max():.1g}"),
        },
        "graph": {
            "alpha": _GRAPH_ALPHA,
            "points": np.round(points, 5).tolist(),
            "edges": np.stack([rows, columns], axis=1).tolist(),
            "impulse": start,
            "output": np.round(scores.astype(float), 6).tolist(),
        },
    }


def _series(shift: Any, y: Any) -> Any:
    """(1 − α) Σ_t α^t C_n^t y, term by term until nothing is left: eq. (6)."""
    term, total = (1 - _LINE_ALPHA) * y, np.zeros_like(y)
    while np.abs(term).max() > 1e-18:
        total = total + term
        term = _LINE_ALPHA * (shift @ term)
    return total


def checks(results: Data, times: Data) -> list[Check]:
    """Filtering in the frequency domain is the sum over shifts, and on a long line the recursion of Figure 1."""
    if "circle" not in results:  # a run of an earlier version
        return []
    circle, line = results["circle"], results["line"]
    start = line["input"].index(1.0)
    apart = max(abs(c - x) for c, x in zip(circle["output"][start:], line["output"][start:], strict=True))
    around = _LINE_ALPHA ** len(line["input"])
    return [
        Check(
            "h(C_n)s = F⁻¹ h(Λ) F s: the shift has the discrete Fourier transform as its basis (§5.1, eq. 7)",
            f"largest difference to Σ h_t C_n^t s: {circle['error']:.1g}",
            circle["error"] < 1e-12,
        ),
        Check(
            "C_n is the line of Figure 1 with an edge from its right end to its left",
            f"to the right of the impulse the outputs differ by {apart:.1e}; what comes around is α^n = {around:.1e}",
            apart <= around,
        ),
    ]


def _plane(seed: int) -> Any:
    """Points in the unit square, not too near to each other: a jittered grid without its corners."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(11), np.arange(11)), axis=-1).reshape(-1, 2)
    points = (grid + rng.uniform(-0.38, 0.38, grid.shape)) / 10
    return points[((points - 0.5) ** 2).sum(axis=1) < 0.3]


def _neighbours(points: Any, *, k: int) -> Any:
    """Mutual k-NN with weights exp(−d²), the largest component of which is all of it in the figure."""
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(squared, np.inf)
    near = squared <= np.sort(squared, axis=1)[:, [k - 1]]
    weights = np.where(near & near.T, np.exp(-squared / 0.01), 0.0)
    adjacency = sp.csr_array(weights)
    assert component_labels(adjacency).shape == (len(points),)
    return adjacency


def draw(results: Data, times: Data) -> Figure:
    """Above the line, below the graph; left the input, right the output."""
    figure = new_figure(7.2, 5.4)
    grid = figure.subplots(2, 2, height_ratios=[1, 1.9])
    line, graph = results["line"], results["graph"]
    for axes, values, name in ((grid[0][0], line["input"], "input y"), (grid[0][1], line["output"], "output x")):
        axes.vlines(range(len(values)), 0, values, color=COLOURS[0], linewidth=1.5)
        axes.plot(range(len(values)), values, ".", color=COLOURS[0], markersize=4)
        peak = line["input"].index(1.0)
        axes.vlines(peak, 0, values[peak], color=COLOURS[3], linewidth=2.5)
        axes.set(title=f"line, {name}", xticks=[])
        axes.spines[["top", "right"]].set_visible(False)
    points = np.array(graph["points"])
    scores = np.array(graph["output"])
    impulse = np.zeros(len(points))
    impulse[graph["impulse"]] = 1.0
    for axes, values, name in ((grid[1][0], impulse, "input y"), (grid[1][1], scores, "output x")):
        for i, j in graph["edges"]:
            axes.plot(*points[[i, j]].T, color="#bbbbbb", linewidth=0.8, zorder=1)
        shown = np.sqrt(values / values.max())
        axes.scatter(
            *points.T, s=12 + 90 * shown, c=shown, cmap="Blues", edgecolors="#555555", linewidths=0.5, zorder=2
        )
        axes.scatter(*points[graph["impulse"]], s=105, facecolors="none", edgecolors=COLOURS[3], linewidths=2, zorder=3)
        axes.set(title=f"graph, {name}", xticks=[], yticks=[], aspect="equal")
    return figure


EXPERIMENT = Experiment(
    "impulse",
    "An impulse, filtered on a line and on a graph",
    "Figure 1",
    "On the line the impulse decays to one side; on a weighted graph it flows along the edges. In search the impulse "
    "(red) is the query and the output its similarity to everything else (size and colour, square root).",
    run,
    draw,
    checks,
)
