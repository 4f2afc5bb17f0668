"""One look for all figures: colours that differ also in grey, marks on every measured point, legible on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from longwave.experiments.plots import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Blue, orange, green, red, violet, brown, pink, grey, olive, cyan, black.
COLOURS = (
    *("#1f5fa8", "#e07b00", "#2a9d4a", "#c2302e", "#7d4fa8", "#8a5a3c"),
    *("#d86fb2", "#7a7a7a", "#a9a42a", "#21a6b8", "#111111"),
)
MARKS = "osD^vP*X<>p"


def panels(columns: int = 1, *, height: float = 3.4, width: float = 6.4) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side."""
    figure = new_figure(width if columns == 1 else 4.6 * columns, height)
    axes = figure.subplots(1, columns, squeeze=False)[0]
    return figure, list(axes)


def line(axes: Axes, x: Sequence[float], y: Sequence[float], number: int, label: str, **options: Any) -> None:
    """A curve through its measured points."""
    look: dict[str, Any] = {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKS[number % len(MARKS)],
        "markersize": 4.5,
    }
    axes.plot(x, y, label=label, linewidth=1.6, **(look | options))


def finish(
    axes: Axes,
    *,
    x: str,
    y: str = "",
    title: str = "",
    log: bool = False,
    ticks: Sequence[float] = (),
    below: bool = False,
) -> None:
    """Labels, grid, legend; with ticks at the measured values. below: the legend, where curves fill the panel."""
    if log:
        axes.set_xscale("log")
    if len(ticks):
        axes.set_xticks(list(ticks), [short(t) for t in ticks])
        axes.minorticks_off()
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        beneath: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 3}
        axes.legend(fontsize=8, **(beneath if below else {}))


def short(number: float) -> str:
    """2000 as 2k."""
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"


def duration(milliseconds: float) -> str:
    """0.3 ms, 42 ms, 3.0 s."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2g} ms"
