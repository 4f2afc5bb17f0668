"""Figure 2: how much of each wave the low-pass filters let through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from longwave.experiments.experiment import Data, Experiment, Session
from longwave.experiments.style import finish, line, panels
from longwave.filters import Heat, LowPass

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(session: Session) -> dict[str, Any]:
    """h over eigenvalues in [−1, 1] for several α, and heat kernels beside them."""
    grid = np.linspace(-1, 1, 201)
    shown = {f"α = {alpha}": LowPass(alpha) for alpha in (0.0, 0.3, 0.5, 0.7, 0.9, 0.99)}
    heat = {f"t = {time}": Heat(time) for time in (1, 3, 10, 30)}
    return {
        "eigenvalues": np.round(grid, 4).tolist(),
        "lowpass": {name: np.round(h(grid), 6).tolist() for name, h in shown.items()},
        "heat": {name: np.round(h(grid), 6).tolist() for name, h in heat.items()},
    }


def draw(results: Data, times: Data) -> Figure:
    """Gain against eigenvalue."""
    figure, axes = panels(2, height=3.8)
    for place, (name, title) in enumerate((("lowpass", r"$h_\alpha$"), ("heat", "diffusion kernel"))):
        for number, (label, values) in enumerate(results[name].items()):
            line(axes[place], results["eigenvalues"], values, number, label, marker="")
        finish(
            axes[place], x=r"eigenvalue λ of $\mathcal{W}$   (1 is the longest wave)", y="h(λ)", title=title, below=True
        )
    return figure


EXPERIMENT = Experiment(
    "responses",
    "The low-pass responses",
    "Figure 2",
    "As α grows, ever longer waves alone pass. The same engine takes any other filter, such as the diffusion kernel.",
    run,
    draw,
)
