"""Tables as HTML text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_STYLE = "border-collapse:collapse;margin:0.3em 0"
_CELL = "padding:0.15em 0.7em;text-align:"


def escape(value: Any) -> str:
    """Any value as text that is safe between tags and in attributes; bytes that are no text become question marks."""
    return html.escape(str(value).encode("utf-8", "replace").decode("utf-8"), quote=True)


def readable(score: float) -> str:
    """A score with three digits that say something, without an exponent: 0.0572, 12.3, 0.0000124."""
    return np.format_float_positional(float(f"{score:.3g}"), trim="-") if abs(score) >= 1e-9 else "0"


def table(titles: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", left: int = 1) -> str:
    """A table. rows: cells of each, any values. left: how many columns are text, from the first; others are numbers."""
    head = "".join(f'<th scope="col" style="{_CELL}{_side(i, left)}">{escape(t)}</th>' for i, t in enumerate(titles))
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}{_side(i, left)}">{escape(c)}</td>' for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    above = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f'<table style="{_STYLE}">{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def facts_table(facts: Mapping[str, Any], *, caption: str = "") -> str:
    """A table of two columns: what, and its value."""
    body = "".join(
        f'<tr><th scope="row" style="{_CELL}left">{escape(name)}</th><td style="{_CELL}left">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    above = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f'<table style="{_STYLE}">{above}<tbody>{body}</tbody></table>'


def _side(column: int, left: int) -> str:
    return "left" if column < left else "right"
