"""Pictures (extra `plots`). Each function returns a matplotlib figure; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from longwave.errors import MissingExtraError
from longwave.filters import LowPass
from longwave.types import Array, Filter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RIGHT, _WRONG = "#2a9d4a", "#d1322f"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing", "plots") from None
    return Figure(figsize=(width, height), dpi=110, layout="constrained")  # no pyplot: no global state


def draw_filters(filters: Mapping[str, Filter] | None = None) -> Figure:
    """Transfer functions against 1 − λ, the eigenvalue of the Laplacian: the paper's low-pass figure.

    filters: label to filter; h_α for several α by default.
    """
    shown = filters or {f"α = {alpha}": LowPass(alpha) for alpha in (0.0, 0.3, 0.5, 0.7, 0.9, 0.99)}
    figure = new_figure(6, 3.2)
    axes = figure.add_subplot()
    laplacian = np.linspace(0, 2, 801)
    for label, filter in shown.items():
        axes.plot(laplacian, filter(1 - laplacian), label=label)
    axes.set(xlabel="1 − λ   (0 is the longest wave)", ylabel="h(λ)", xlim=(0, 2))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


@dataclass(frozen=True, eq=False)
class Strip:
    """One row of a result sheet. hits: (columns, height, width); right: (columns,) bool."""

    label: str
    query: Array
    hits: Array
    right: Array


def draw_strips(strips: Sequence[Strip], ranks: Sequence[int], title: str) -> Figure:
    """Queries and their hits at the given ranks, framed green where right and red where wrong."""
    columns = len(ranks) + 2
    figure = new_figure(0.52 * columns, 0.62 * len(strips) + 0.6)
    figure.suptitle(title, fontsize=10)
    grid = figure.subplots(len(strips), columns, squeeze=False, width_ratios=[2.2, 1.3] + [1] * len(ranks))
    for number, (row, strip) in enumerate(zip(grid, strips, strict=True)):
        row[0].text(1, 0.5, strip.label, ha="right", va="center", fontsize=7, transform=row[0].transAxes)
        row[0].axis("off")
        row[1].imshow(strip.query, cmap="gray_r")
        row[1].axis("off")
        for axes, rank, image, right in zip(row[2:], ranks, strip.hits, strip.right, strict=True):
            axes.imshow(image, cmap="gray_r")
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set(color=_RIGHT if right else _WRONG, linewidth=2)
            if number == 0:
                axes.set_title(f"{rank}", fontsize=6, pad=2)
    grid[0][1].set_title("query", fontsize=6, pad=2)
    return figure
