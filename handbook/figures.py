"""The figures of docs/concepts.md, from scikit-learn's handwritten digits: `python -m handbook.figures`.

Every figure is one function that takes the same index; docs/images/concept-NAME.png is what it draws.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

import longwave as lw
from longwave.evaluation import label_judgements, mean_average_precision
from longwave.experiments.plots import new_figure
from longwave.experiments.style import COLOURS, finish, line
from longwave.layout import positions

IMAGES = Path(__file__).parents[1] / "docs" / "images"
#: A digit whose nearest neighbours are of other kinds, and whose chain is not: the one of the page's screenshots.
QUERY = 129
DATA = lw.datasets.digits()


def chain(index):
    """A chain of digits from the query to another, with the similarity of each step and of both ends."""
    found = index.search_by_id([QUERY], 60)
    unit = DATA.vectors / np.linalg.norm(DATA.vectors, axis=1, keepdims=True)
    right = found.ids[0][DATA.labels[found.ids[0]] == DATA.labels[QUERY]]
    end = int(right[np.argmin(unit[right] @ unit[QUERY])])
    graph = sp.csr_array(index.graph.normalized)
    steps = (1 - _products(graph, unit)) ** 2  # small steps cost little: the chain has no jumps
    costs = sp.csr_array((steps + 1e-6, graph.indices, graph.indptr), shape=graph.shape)
    before = dijkstra(costs, indices=QUERY, return_predecessors=True)[1]
    path = [end]
    while path[0] != QUERY:
        path.insert(0, int(before[path[0]]))
    figure = new_figure(1.3 * len(path), 1.9)
    for place, (axes, item) in enumerate(zip(figure.subplots(1, len(path)), path, strict=True)):
        axes.imshow(DATA.images[item], cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        step = f"{unit[path[place - 1]] @ unit[item]:.2f} to the one before" if place else "the query"
        axes.set_xlabel(step.replace(" to", "\nto"), fontsize=8)
    ends = float(unit[QUERY] @ unit[end])
    nearer = int((unit @ unit[QUERY] > ends).sum()) - 1
    figure.suptitle(f"First and last: similarity {ends:.2f}, and {nearer} other digits are nearer", fontsize=10)
    return figure


def graph(index):
    """All digits on their map, with the edges of the graph, coloured by what they are."""
    places = positions(index)
    edges = sp.coo_array(sp.triu(index.graph.normalized))
    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    ends = np.stack([places[edges.row], places[edges.col]], axis=1)
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(ends, colors="#888888", linewidths=0.15, alpha=0.35))
    for label in range(10):
        here = places[DATA.labels == label]
        axes.scatter(*here.T, s=5, color=COLOURS[label], label=str(label))
    axes.legend(title="digit", fontsize=8, markerscale=3, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_axis_off()
    axes.set_title(f"{len(places):,} digits, {edges.nnz:,} edges", fontsize=10)
    return figure


def waves(index):
    """Long and short waves on the map."""
    places = positions(index)
    basis = index.spectrum.eigenvectors.toarray()
    values = index.spectrum.eigenvalues
    figure = new_figure(7.2, 5.6)
    for axes, number in zip(figure.subplots(2, 3).flat, (1, 2, 5, 20, 50, 100), strict=True):
        wave = basis[:, number]
        top = np.quantile(np.abs(wave), 0.98)
        axes.scatter(*places.T, s=2, c=wave, cmap="coolwarm", vmin=-top, vmax=top)
        axes.set_title(f"wave {number + 1}, λ = {values[number]:.3f}", fontsize=9)
        axes.set_axis_off()
    return figure


def filters(index):
    """What passes of every wave, for several α and a heat kernel; below, the waves of the digits."""
    at = np.linspace(0, 1, 400)
    figure = new_figure(6.4, 3.4)
    axes = figure.subplots()
    shown = {f"LowPass({alpha})": lw.LowPass(alpha) for alpha in (0.5, 0.9, 0.99)} | {"Heat(10)": lw.Heat(10)}
    for number, (name, own) in enumerate(shown.items()):
        gain = own(at)
        line(axes, at, gain / own(np.ones(1)), number, name, marker="")
    values = index.spectrum.eigenvalues
    axes.plot(values, np.full(len(values), -0.04), "|", color="#555555", markersize=5)
    axes.text(0.0, -0.055, f"the {len(values)} waves kept:", fontsize=8, va="center")
    finish(axes, x="eigenvalue λ of a wave: 1 is the longest", y="what passes of it")
    return figure


def alpha(index):
    """The answer to one query spread over the map, for four α."""
    places = positions(index)
    figure = new_figure(7.2, 6.6)
    for axes, value in zip(figure.subplots(2, 2).flat, (0.5, 0.9, 0.99, 0.999), strict=True):
        hits = index.search_by_id([QUERY], len(index), filter=lw.LowPass(value), blend=0, include_self=True)
        scores = np.zeros(len(index))
        scores[hits.ids[0]] = np.maximum(hits.scores[0], 0)
        order = np.argsort(scores)
        shade = np.sqrt(scores / np.quantile(scores, 0.995)).clip(0, 1)
        axes.scatter(*places[order].T, s=4, c=shade[order], cmap="viridis", vmin=0, vmax=1)
        axes.plot(*places[QUERY], "x", color=COLOURS[3], markersize=8, markeredgewidth=2)
        axes.set_title(f"α = {value}", fontsize=10)
        axes.set_axis_off()
    return figure


def rank(_):
    """How good the hits are with more and more waves."""
    queries, rest = lw.datasets.held_out(len(DATA.vectors), n_queries=200)
    judged = label_judgements(DATA.labels[queries], DATA.labels[rest], np.arange(len(rest)))

    def quality(index, **options):
        hits = index.search(DATA.vectors[queries], len(index), **options)
        return 100 * mean_average_precision(hits.ids, judged)

    ranks, found = [5, 10, 20, 50, 100, 200, 500, 1000], []
    for count in ranks:
        index = lw.Index.build(DATA.vectors[rest], spectrum=lw.Lanczos(count), progress=False)
        found.append(quality(index, solver=lw.Spectral(), blend=0))
    own = lw.Index.build(DATA.vectors[rest], progress=False)
    print(f"rank {dict(zip(ranks, np.round(found, 1), strict=True))}, default {quality(own):.1f}")
    figure = new_figure(6.4, 3.4)
    axes = figure.subplots()
    line(axes, ranks, found, 0, "from the waves alone")
    axes.axhline(quality(own, solver=lw.Euclidean()), color=COLOURS[7], linestyle="--", label="nearest neighbours")
    axes.axhline(quality(own), color=COLOURS[1], linestyle="-.", label="Longwave's default")
    finish(axes, x="waves kept", y="mAP", log=True, ticks=ranks)
    return figure


def _products(matrix, unit):
    """The dot products of the ends of every stored edge."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.einsum("ij,ij->i", unit[rows], unit[matrix.indices])


FIGURES = {own.__name__: own for own in (chain, graph, waves, filters, alpha, rank)}


def main(names):
    warnings.simplefilter("ignore")
    index = lw.Index.build(DATA.vectors, progress=False)
    for name in names or FIGURES:
        path = IMAGES / f"concept-{name}.png"
        FIGURES[name](index).savefig(path, dpi=120)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
