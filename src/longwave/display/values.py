"""Longwave's own values as HTML: what a notebook shows for each."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from longwave.display.figures import curve_svg, points_svg
from longwave.display.tables import escape, facts_table, readable, table

# Shown at most: more is a matter of `hits.to_dataframe()`.
_QUERIES, _ACROSS, _DOWN = 10, 10, 50


class Ranked(Protocol):
    """What is shown of hits. ids, scores: (queries, k)."""

    @property
    def ids(self) -> NDArray[Any]: ...
    @property
    def scores(self) -> NDArray[Any]: ...
    @property
    def confidence(self) -> NDArray[Any] | None: ...
    @property
    def columns(self) -> Mapping[str, list[list[Any]]] | None: ...


class Explained(Protocol):
    """What is shown of an explanation."""

    @property
    def score(self) -> float: ...
    @property
    def manifold(self) -> float: ...
    @property
    def similarity(self) -> float: ...
    @property
    def path(self) -> list[object]: ...
    def parts(self) -> list[tuple[object, float, float]]: ...


class Basis(Protocol):
    """What is shown of a spectrum."""

    @property
    def eigenvalues(self) -> NDArray[np.float64]: ...
    @property
    def residuals(self) -> NDArray[np.float64]: ...
    @property
    def next_eigenvalue(self) -> float | None: ...


def hits_html(hits: Ranked) -> str:
    """One query: a line for each hit. Several: a line for each query, the best hits beside each other."""
    queries, k = hits.ids.shape
    size = f"{queries:,} {'query' if queries == 1 else 'queries'}, {k:,} {'hit' if k == 1 else 'hits'} each"
    if queries == 1:
        known = {name: own[0] for name, own in (hits.columns or {}).items()}
        scores = map(readable, hits.scores[0].tolist())
        rows = zip(range(1, k + 1), hits.ids[0].tolist(), *known.values(), scores, strict=True)
        trust = "" if hits.confidence is None else f"; confidence {float(hits.confidence[0]):.2f}"
        return table(("rank", "id", *known, "score"), list(rows)[:_DOWN], caption=size + trust, left=2 + len(known))
    shown = min(k, _ACROSS)
    titles = ["query", *([] if hits.confidence is None else ["confidence"]), *(str(r) for r in range(1, shown + 1))]
    lines = []
    for query, (ids, scores) in enumerate(zip(hits.ids[:_QUERIES], hits.scores[:_QUERIES], strict=True)):
        cells = [f"{i} ({readable(s)})" for i, s in zip(ids[:shown].tolist(), scores[:shown].tolist(), strict=True)]
        lines.append([query, *([] if hits.confidence is None else [f"{float(hits.confidence[query]):.2f}"]), *cells])
    cut = " – the first of them:" if queries > _QUERIES or k > shown else ""
    return table(titles, lines, caption=f"{size}, best first: id (score){cut}", left=len(titles))


def pictures_html(rows: Sequence[tuple[str, Sequence[tuple[str, str, bytes | None]]]]) -> str:
    """Pictures in rows: a title, and for each picture its name, what is below it, and the bytes of a JPEG file."""
    lines = []
    for title, shown in rows:
        cells = [
            '<figure style="display:inline-block;margin:0.3em;width:8em;vertical-align:top;overflow-wrap:anywhere">'
            f"{_image(name, jpeg)}<figcaption>{escape(name)}<br/>{escape(below)}</figcaption></figure>"
            for name, below, jpeg in shown
        ]
        lines.append(f"<div>{escape(title)}</div><div>{''.join(cells)}</div>")
    return "".join(lines)


def _image(name: str, jpeg: bytes | None) -> str:
    if jpeg is None:
        return "<div>the file is gone</div>"
    data = base64.b64encode(jpeg).decode()
    return f'<img alt="{escape(name)}" style="max-width:100%" src="data:image/jpeg;base64,{data}"/>'


def filter_html(filter: Any) -> str:
    """The name of a filter and its response: how much of each wave it lets pass.

    filter: a function of eigenvalues from −1 (the shortest waves of the graph) to 1 (the longest).
    """
    x = np.linspace(-1, 1, 201)
    y = np.asarray(filter(x), dtype=np.float64)
    drawn = curve_svg(x, y, title=f"response of {filter!r}", x_label="eigenvalue λ", y_label="gain h(λ)")
    return f"<div><code>{escape(repr(filter))}</code></div>{drawn}"


def spectrum_html(spectrum: Basis) -> str:
    """The eigenvalues drawn in order, and how good they are."""
    values = np.sort(np.asarray(spectrum.eigenvalues, dtype=np.float64))[::-1]
    facts: dict[str, Any] = {"rank": f"{len(values):,}"}
    if len(values):
        facts["eigenvalues"] = f"{values[0]:.6f} … {values[-1]:.6f}"
        facts["residuals"] = f"median {np.median(spectrum.residuals):.1e}, largest {np.max(spectrum.residuals):.1e}"
    following = spectrum.next_eigenvalue
    facts["left out"] = "nothing: the basis is complete" if following is None else f"eigenvalues up to {following:.4f}"
    if not len(values):
        return facts_table(facts, caption="Spectrum")
    drawn = points_svg(
        np.arange(1, len(values) + 1), values, title="eigenvalues in order", x_label="number", y_label="eigenvalue λ"
    )
    return facts_table(facts, caption="Spectrum") + drawn


def explanation_html(explanation: Explained) -> str:
    """The score, what each neighbour of the query adds to it, and the way through the graph."""
    facts = {
        "score": readable(explanation.score),
        "through the graph": readable(explanation.manifold),
        "Euclidean similarity": readable(explanation.similarity),
    }
    rows = [(name, f"{y:.3f}", f"{share:.1f} %") for name, y, share in explanation.parts()]
    parts = table(("neighbour of the query", "weight", "gives"), rows, caption="Where it comes from through the graph")
    steps = ["query", *explanation.path]
    way = (
        " → ".join(f"<b>{escape(step)}</b>" for step in steps)
        if explanation.path
        else "none: no chain of neighbours leads from the query to this item"
    )
    return f"{facts_table(facts, caption='Explanation')}{parts}<div>Strongest way: {way}</div>"


def index_html(index: Any) -> str:
    """Sizes, basis, defaults of a search and memory. index: `longwave.Index`."""
    basis = "none" if index.spectrum is None else f"rank {index.spectrum.rank:,}"
    defaults = index.settings.search
    memory = sum(index.memory().values())
    facts = {
        "items": f"{len(index):,}",
        "vectors": f"{len(index.vectors):,} × {index.dimension:,}",
        "basis": basis,
        "a search, by default": f"filter {defaults.filter}, neighbors {defaults.neighbors}, blend {defaults.blend}",
        "plan": str(index.settings.plan),
        "memory": f"{memory / 2**20:,.1f} MiB",
    }
    return facts_table(facts, caption="Longwave index")
