"""The numbers of an index for experts, as lines of text: `longwave info --details`, and the page of a server."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from longwave import pictures
from longwave.advice.fidelity import ENOUGH
from longwave.advice.memory import show
from longwave.collection import Collection
from longwave.errors import InputError, plural
from longwave.index import Index
from longwave.plan import Structure
from longwave.spectrum.spectrum import COPIED, Spectrum
from longwave.texts import Recipe, is_of_texts
from longwave.types import Filter

_BUILT_WITH = ("kernel", "balanced", "components", "pooling", "sparsity", "seed")


def describe_collection(collection: Collection) -> dict[str, str]:
    """What there is to say of a collection beside its index: version, staleness, metadata."""
    known = collection.staleness()
    lines = {"version": str(collection.version)}
    if known.outside or known.removed:
        lines["staleness"] = str(known)
    if collection.index.metadata is not None:
        lines["metadata"] = ", ".join(f"{own.name} ({own.type})" for own in collection.index.metadata.schema)
    return lines


def describe(index: Index, h: Filter) -> dict[str, str]:
    """What there is to say of an index: a name and a text for each line. h: the filter whose error is told."""
    settings = asdict(index.settings)
    sizes = index.graph.component_sizes
    degree = np.diff(index.graph.normalized.indptr)

    def vertices(count: int) -> str:
        return plural(count, "vertex", "vertices")

    edges = plural(index.graph.normalized.nnz // 2, "edge")
    lines = {
        "items": f"{len(index):,}",
        "vectors": f"{len(index.vectors):,} × {index.dimension}" + _copies(index) if index.has_vectors else "none",
        "built with": ", ".join(f"{name} {settings[name]}" for name in _BUILT_WITH if settings[name] is not None),
        "graph": f"{edges}, {degree.mean():.1f} per vertex, k {settings['k_used']}",
        "components": f"{len(sizes):,}, the largest of {vertices(sizes[0])}, {int((degree == 0).sum()):,} isolated",
    }
    if pictures.is_of_pictures(index.about):
        lines |= _picture_lines(index)
    if is_of_texts(index.about):
        recipe = Recipe.from_about(index.about)
        lines["texts"] = f"passages of at most {plural(recipe.words, 'word')}, encoded by {recipe.encoder}"
    if settings["k_used"] < settings["k"] and settings["recall"] is not None:
        lines["graph"] += f" (clipped from {settings['k']}: the index has {plural(index.graph.n_vertices, 'vector')})"
    if settings["given_edges"]:
        lines["graph"] += f", {plural(settings['given_edges'], 'edge')} of your own"
    measured = settings["recall"]
    lines["graph"] += ", neighbours " + (
        "given" if measured is None else "exact" if measured == 1 else f"of recall {measured:.3f}"
    )
    added = len(index.vectors) - index.graph.n_vertices
    if added:
        lines["extension"] = f"{plural(added, 'vector')} outside of the graph"
    s = index.spectrum
    if s is None:
        lines["basis"] = "none; search with --solver cg, walk or chebyshev"
    else:
        asked = settings["spectrum"]
        lines["basis"] = f"rank {s.rank:,} of {vertices(index.graph.n_vertices)}, by {asked}"
        wanted = settings["rank"]
        if wanted is not None and wanted > index.graph.n_vertices:
            lines["basis"] += f" (clipped: the graph has {vertices(index.graph.n_vertices)})"
        elif wanted is not None and wanted != s.rank:
            lines["basis"] += f" ({wanted:,} asked for; small components are kept whole, and shares are rounded)"
        if s.rank:
            lines["eigenvalues"] = f"{s.eigenvalues.max():.6f} … {s.eigenvalues.min():.6f}"
            lines["residuals"] = f"median {np.median(s.residuals):.1e}, largest {s.residuals.max():.1e}"
        lines["row norms η"] = f"median {np.median(s.row_norms):.3f}, smallest {s.row_norms.min():.3f}"
        if s.next_eigenvalue is None:
            lines["truncation"] = "none: the basis is complete"
        else:
            lines["truncation"] = f"largest eigenvalue left out about {s.next_eigenvalue:.4f}"
        if (s.kinds == COPIED).any():
            lines["truncation"] += "; outside of the giant component y is copied"
        if settings["sparsity"]:
            lines["truncation"] += f"; {settings['sparsity']:.0%} of the entries were dropped"
        lines["error"] = _error_line(s, h)
    lines["plan"] = str(index.settings.plan)
    first, second = index.settings.plan.vectors, index.settings.plan.coordinates
    lines["first search"] = "exact" if first is None else _search_line(first)
    if second is not None:
        told = [_search_line(part) if part else "a scan" for part in second]
        lines["second search"] = "; ".join(told)
    else:
        lines["second search"] = "exact"
    defaults = index.settings.search
    lines["by default"] = f"filter {defaults.filter}, neighbors {defaults.neighbors}, blend {defaults.blend}"
    lines["in words"] = in_words(index)
    for name, stored in (("vectors", index.settings.vectors_as), ("basis", index.settings.basis_as)):
        if stored is not None:
            lines[f"{name} stored"] = f"as {stored.kind}, relative error {stored.error:.1e}"
    if settings["rows"]:
        lines["rows"] = f"precomputed for {settings['rows']}"
    lines["memory"] = ", ".join(f"{part} {show(n)}" for part, n in index.memory().items() if n)
    return lines


def _error_line(spectrum: Spectrum, h: Filter) -> str:
    """How far the answer of the basis may be from the exact one, where that is known."""
    said = []
    for complement, way in ((True, ""), (False, " with --no-complement")):
        bound = spectrum.error_bound(h, complement=complement)
        said.append("no bound is known" + way if bound is None else f"at most {bound:.2g} · ‖y‖" + way)
    return f"for {h!r}: {'; '.join(said)}"


def in_words(index: Index) -> str:
    """What was chosen and why, in two sentences."""
    settings = index.settings
    if not index.has_vectors:
        return "The graph is your own, without vectors: begin at items of it, with seeds= or `longwave pagerank`."
    way = {
        "local": "Neighbours weigh by the spacing of the collection around them, which needs no tuning",
        "power": "Neighbours weigh by a power of their dot product, as in the paper",
        "own": "Neighbours weigh by a function of your own",
    }.get(settings.kernel.partition(":")[0], f"Neighbours weigh by the kernel {settings.kernel}")
    near = blend_in_words(settings.search.blend)
    first = f"{way}; a search spreads from the {settings.search.neighbors} nearest vectors, and {near}."
    if index.spectrum is None:
        return f"{first} There is no basis: searches iterate on the graph."
    chosen = f"The basis has rank {index.spectrum.rank:,}"
    if settings.fidelity is None:
        return f"{first} {chosen}."
    found = f"{chosen} and finds {settings.fidelity:.0%} of the first 50 hits by exact scores"
    if settings.fidelity >= ENOUGH:
        return f"{first} {found}, which is enough."
    return f"{first} {found}: too little, build with a larger --rank, or search with --tolerance 0.01."


def blend_in_words(blend: str) -> str:
    """What nearest neighbours count in a search."""
    if blend[:1].isdigit():
        return "nearest neighbours count where the basis is thin"
    known = {
        "anchor": "outstanding nearest neighbours stay in front",
        "none": "nearest neighbours have no say of their own",
    }
    return known.get(blend.partition(":")[0], f"nearest neighbours count by the blend {blend}")


def _copies(index: Index) -> str:
    merged = index.items.n_given - len(index.vectors)
    return f", and {plural(merged, 'copy', 'copies')} of them, each stored once" if merged > 0 else ""


def _search_line(kept: Structure) -> str:
    return f"approximate: {kept.kind}, effort {kept.effort}, recall {kept.recall:.3f} measured"


def _picture_lines(index: Index) -> dict[str, str]:
    """Of an index of pictures: where they are, and how they were described."""
    try:
        treatment, folder = pictures.treatment_from(index.about)
    except InputError as error:
        return {"pictures": str(error)}
    kind = "by regions" + (f", at most {treatment.reduce} a picture" if treatment.reduce else "")
    described = f"{treatment.encoder}, {treatment.size} pixels, {treatment.pool} over {treatment.scales} scales"
    return {
        "pictures": str(folder),
        "described": f"{described}, {kind if treatment.regions else 'globally'}, whitening {treatment.whitening}",
    }
