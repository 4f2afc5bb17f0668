"""An index in plain words: what is in it, how it is searched, how good that is, and what to do where it is not well."""

from __future__ import annotations

import numpy as np

from longwave import pictures
from longwave.advice.fidelity import ENOUGH
from longwave.advice.memory import show
from longwave.collection import Collection
from longwave.errors import InputError, plural
from longwave.index import Index
from longwave.inspection.details import blend_in_words
from longwave.plan import FEW_HITS
from longwave.texts import Recipe, is_of_texts

# Shares from which on: searches are as good as exact ones, too few neighbours are known, too many vectors stand alone.
_AS_GOOD, _FEW_NEIGHBOURS, _MANY_ALONE = 0.99, 0.95, 0.1

# Parts of `Index.memory` in plain words.
_PARTS = {
    "basis": "basis (for fast scores)",
    "pooled": "basis by item",
    "first search": "codes of the vectors, or links between them (for quick searches)",
    "second search": "search structures",
    "rows": "stored answers",
    "items": "ids and other facts of items",
}


def summarize(collection: Collection) -> dict[str, str]:
    """A title and a few sentences for each thing that everybody wants to know of a collection."""
    index = collection.index
    lines = {
        "content": _content(index),
        "connections": _connections(index),
        "search": _search(index),
        "quality": _quality(index),
        "memory": _memory(index),
        "changes": _changes(collection),
        "what to do": _advice(collection),
    }
    return {title: text for title, text in lines.items() if text}


def _content(index: Index) -> str:
    """What the items are, and what is known of them."""
    if not index.has_vectors:
        said = f"{plural(len(index), 'item')} of a graph of your own, without vectors."
    elif index.items.item_of is None:
        said = f"{plural(len(index), 'item')}, each described by a vector of {plural(index.dimension, 'number')}."
    else:
        vectors = f"{plural(index.items.n_given, 'vector')} of {plural(index.dimension, 'number')}"
        said = f"{plural(len(index), 'item')}, described by {vectors} in all."
    copies = index.items.n_given - len(index.vectors) if index.has_vectors else 0
    if copies > 0:
        said += f" {plural(copies, 'vector is a copy', 'vectors are copies')} of another and stored once."
    if pictures.is_of_pictures(index.about):
        try:
            said += f" They are the pictures in {pictures.treatment_from(index.about)[1]}."
        except InputError as error:
            said += f" They are pictures: {error}."
    if is_of_texts(index.about):
        recipe = Recipe.from_about(index.about)
        said += f" They are passages of texts, of at most {plural(recipe.words, 'word')}, encoded by {recipe.encoder}."
    if index.metadata is not None:
        known = ", ".join(f"{own.name} ({own.type})" for own in index.metadata.schema)
        said += f" Known of each, for --where and --columns: {known}."
    return said


def _alone(index: Index) -> int:
    """Vertices without a neighbour."""
    return int((np.diff(index.graph.normalized.indptr) == 0).sum())


def _connections(index: Index) -> str:
    """How much of the graph hangs together."""
    sizes, alone, total = index.graph.component_sizes, _alone(index), index.graph.n_vertices
    what = "vector" if index.has_vectors else "item"
    if len(sizes) == 1:
        return f"Every {what} is connected with every other, from neighbour to neighbour."
    share, islands = _share(sizes[0] / total), len(sizes) - 1 - alone
    if alone == total:
        return f"No {what} is connected with any other: searches find what is near to the query, and nothing beyond it."
    said = f"{share} of the {what}s are connected with each other, from neighbour to neighbour."
    if sizes[0] < total / 2:
        said = f"The graph is in many parts: the largest group of connected {what}s has {share} of them."
    if islands:
        said += f" Others form {plural(islands, 'island')} of their own, which a search reaches if it begins there."
    if alone:
        verb = "stands" if alone == 1 else "stand"
        said += f" {plural(alone, what)} {verb} alone, and can be found only by queries nearby."
    return said


def _search(index: Index) -> str:
    """What a search does where nothing else is asked for."""
    settings = index.settings
    if not index.has_vectors:
        said = "A search begins at items that you name (`longwave pagerank`), and goes on from neighbour to neighbour."
    else:
        near = plural(settings.search.neighbors, "vector")
        said = f"A search begins at the {near} nearest to the query, and goes on from neighbour to neighbour; "
        said += f"{blend_in_words(settings.search.blend)}."
    if index.spectrum is None:
        return f"{said} Scores are computed on the graph, anew for each query, which takes time."
    if settings.plan.route == "sublinear":
        return f"{said} A search for up to {FEW_HITS:,} hits looks at a part of the items only, which is quick."
    if settings.plan.route == "exact":
        return f"{said} Scores are computed on the graph, until their error is below {settings.plan.tolerance:g}."
    return f"{said} The score of every item is computed."


def _quality(index: Index) -> str:
    """What was measured, in words."""
    settings = index.settings
    said = []
    if settings.recall is not None and index.has_vectors:
        exact = "The neighbours of each vector are its true nearest ones."
        known = f"Of the true neighbours of a vector, {_share(settings.recall)} are known (measured)."
        said.append(exact if settings.recall == 1 else known)
    if settings.plan.vectors is not None:
        said.append(f"Quick searches find {_share(settings.plan.vectors.recall)} of the nearest vectors (measured).")
    if index.spectrum is not None and settings.fidelity is not None:
        found = f"Of the 50 best hits by exact scores, searches find {_share(settings.fidelity)} (measured)"
        verdict = "good"
        if settings.fidelity >= _AS_GOOD:
            verdict = "as good as exact"
        elif settings.fidelity < ENOUGH:
            verdict = "too few"
        said.append(f"{found}: {verdict}.")
    elif index.spectrum is not None and index.spectrum.next_eigenvalue is None:
        said.append("Scores are exact.")
    elif index.spectrum is not None:
        said.append("How near searches come to the exact scores was not measured.")
    for name, stored in (("Vectors", settings.vectors_as), ("The basis", settings.basis_as)):
        if stored is not None:
            verb = "are" if name == "Vectors" else "is"
            said.append(f"{name} {verb} stored as {stored.kind}, with an error of {_share(stored.error)}.")
    return " ".join(said)


def _memory(index: Index) -> str:
    """What it takes in memory, in all and by part."""
    parts = {name: size for name, size in index.memory().items() if size}
    each = ", ".join(f"{_PARTS.get(name, name)} {show(size)}" for name, size in parts.items())
    return f"{show(sum(parts.values()))}: {each}."


def _changes(collection: Collection) -> str:
    """What has happened since the graph was made."""
    known, said = collection.staleness(), f"This is version {collection.version}."
    if known.outside:
        said += (
            f" {_share(known.outside)} of the items came after the graph was made and are outside of the graph; the "
            f"hits are expected to be worse by {known.loss:.1f} of 100 points (mAP)."
        )
    if known.removed:
        said += f" {_share(known.removed)} of the items that there were have been removed."
    return said


def _advice(collection: Collection) -> str:
    """Remedies for what is not well; where all is well, the next command."""
    index, place = collection.index, collection.path
    settings, said = index.settings, []
    if collection.staleness().stale:
        said.append(f"Make a new graph of all items: longwave refresh {place}")
    if index.spectrum is None and index.has_vectors:
        said.append("For quicker searches build it again, without --spectrum none.")
    elif index.spectrum is not None and settings.fidelity is not None and settings.fidelity < ENOUGH:
        said.append(
            f"Searches miss too much: build it again with --rank {2 * index.spectrum.rank}, or search with --tolerance "
            "0.01, which takes longer."
        )
    if settings.recall is not None and settings.recall < _FEW_NEIGHBOURS:
        said.append("Too few of the true neighbours are known: build it again with --recall 0.99.")
    alone = _alone(index) / max(1, index.graph.n_vertices)
    if alone > _MANY_ALONE:
        said.append(
            f"{_share(alone)} stand alone, which is right for things that are like no others. If these should not, "
            f"build it again with more neighbours: --k {2 * settings.k}"
        )
    if said:
        return " ".join(said)
    if not index.has_vectors:
        return f"Nothing: all is well. Search it: longwave pagerank {place} {index.ids[0]}"
    asked = "photo.jpg" if pictures.is_of_pictures(index.about) else "queries.npy"
    asked = '--text "..."' if is_of_texts(index.about) else asked
    return f"Nothing: all is well. Search it: longwave search {place} {asked}"


def _share(part: float) -> str:
    """A share in per cent, which is 100 only where it is all.

    >>> _share(0.5), _share(0.9996), _share(0.0004), _share(1.0)
    ('50 %', '99.96 %', '0.04 %', '100 %')
    """
    for digits in range(4):
        text = f"{100 * part:.{digits}f}"
        if (float(text) != 100 or part >= 1) and (float(text) != 0 or part <= 0):
            break
    return f"{text} %"
