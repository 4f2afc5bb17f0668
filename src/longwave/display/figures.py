"""Small drawings as SVG text: a curve, or points, in a frame with its corners labelled.

Lines have the colour of the text around them, so that they are seen on a light and on a dark page.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.display.tables import escape

_WIDTH, _HEIGHT = 360, 170
# Space for labels: left, top, right, bottom.
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 10, 12, 34
# Points that are drawn at most: more cannot be told apart, and a notebook keeps every one of them.
_MOST = 600


def curve_svg(x: ArrayLike, y: ArrayLike, *, title: str, x_label: str, y_label: str) -> str:
    """A line through the points (x, y). title: what a screen reader says."""
    across, up, labels = _placed(x, y)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    drawn = f'<polyline points="{line}" fill="none" stroke="#1a73e8" stroke-width="2"/>'
    return _framed(drawn, labels, title, x_label, y_label)


def points_svg(x: ArrayLike, y: ArrayLike, *, title: str, x_label: str, y_label: str) -> str:
    """A dot at each point (x, y); of very many an even choice."""
    across, up, labels = _placed(x, y)
    kept = np.unique(np.linspace(0, len(across) - 1, min(_MOST, len(across))).astype(np.int64))
    dots = "".join(f'<circle cx="{across[i]:.1f}" cy="{up[i]:.1f}" r="2"/>' for i in kept)
    return _framed(f'<g fill="#1a73e8">{dots}</g>', labels, title, x_label, y_label)


def _placed(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[str, ...]]:
    """Places on the drawing, and the texts at the ends of both axes."""
    ends, scaled = [], []
    for values in (np.asarray(x, dtype=np.float64).ravel(), np.asarray(y, dtype=np.float64).ravel()):
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        spread = high - low or 1.0
        ends += [f"{low:.3g}", f"{high:.3g}"]
        scaled.append((values - low) / spread)
    across = _LEFT + scaled[0] * (_WIDTH - _LEFT - _RIGHT)
    up = _HEIGHT - _BOTTOM - scaled[1] * (_HEIGHT - _TOP - _BOTTOM)
    return across, up, tuple(ends)


def _framed(drawn: str, labels: tuple[str, ...], title: str, x_label: str, y_label: str) -> str:
    left, right, low, high = (escape(label) for label in labels)
    base, end, middle = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, (_LEFT + _WIDTH - _RIGHT) // 2
    half = (_TOP + base) // 2
    texts = (
        f'<text x="{_LEFT}" y="{base + 14}">{left}</text>'
        f'<text x="{end}" y="{base + 14}" text-anchor="end">{right}</text>'
        f'<text x="{middle}" y="{base + 28}" text-anchor="middle">{escape(x_label)}</text>'
        f'<text x="{_LEFT - 4}" y="{base}" text-anchor="end">{low}</text>'
        f'<text x="{_LEFT - 4}" y="{_TOP + 9}" text-anchor="end">{high}</text>'
        f'<text x="12" y="{half}" text-anchor="middle" transform="rotate(-90 12 {half})">{escape(y_label)}</text>'
    )
    return (
        f'<svg role="img" aria-label="{escape(title)}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>"
        f'<path d="M{_LEFT} {_TOP}V{base}H{end}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f'{drawn}<g font-size="11" font-family="sans-serif" fill="currentColor">{texts}</g></svg>'
    )
