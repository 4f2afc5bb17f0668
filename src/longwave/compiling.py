"""All inner loops compiled at once, before anybody waits for them: while an image is made, or after an installation.

Loops are compiled for the kinds of numbers that they meet. So a small collection goes all the usual ways here, also
those of large ones, which it would not go by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from longwave.graph.lists import approximate
from longwave.index import Index
from longwave.progress import shown
from longwave.rows import compiled
from longwave.solvers.best_first import QUICK
from longwave.spectrum import Lanczos
from longwave.stores import links
from longwave.types import Progress

# Just enough that the basis is not that of all waves, and for lists that begin roughly.
_COUNT, _ROUGH = 5000, 17_000
# Dimensions without and with codes of a byte a number; with the wide ones so many vectors are not scanned as they are.
_NARROW, _WIDE = 16, 300
# In groups of their own, which become columns of their own in the basis.
_APART, _GROUP = 0.2, 25


def compile_loops(progress: Progress | bool | None = None) -> None:
    """Compile the loops of the usual builds and searches, and keep them where numba finds a folder to write to.

    The first time that takes about a minute, later seconds. progress: as for `Index.build`.
    """
    narrow, wide = _vectors(_COUNT, _NARROW), _vectors(_COUNT, _WIDE)
    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("a build", lambda: _search(Index.build(wide, progress=False), wide)),
        ("a build in threads", lambda: _build_in_threads(narrow)),
        ("a basis in bytes", lambda: _search(Index.build(wide, store_basis="int8", progress=False), wide)),
        ("lists", lambda: approximate.nearest_others(_vectors(_ROUGH, _NARROW), k=50)),
        ("lists by codes", lambda: approximate.nearest_others(_vectors(_ROUGH, _WIDE), k=50)),
        ("links", lambda: links.build(narrow)),
        ("links by codes", lambda: links.build(wide)),
    )
    with shown(progress) as report:
        for number, (name, work) in enumerate(steps):
            report(f"compiling: {name}", number, len(steps))
            work()
        report("compiling", len(steps), len(steps))


def compile_searches(first: str = "", basis: str = "float32") -> None:
    """Compile what one query takes, by an index that is made nearly without loops.

    first: "codes" where these are scanned, else how vectors are searched is known to the build. basis: how it is kept.
    """
    rng = np.random.default_rng(0)
    vectors = np.sin(rng.uniform(0, 3, (600, 3)) @ rng.standard_normal((3, _WIDE)))
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    products = unit @ unit.T
    np.fill_diagonal(products, -2)
    ids = np.argsort(-products, axis=1)[:, :20]
    lists = ids, np.take_along_axis(products, ids, axis=1)
    index = Index.build(unit, lists=lists, spectrum=Lanczos(60), fast=False, progress=False)
    index = index.accelerate(first=first or None, second="walk")
    if basis != "float32":
        index = index.compress(basis=basis)
    index.search(unit[0] + np.float32(0.01), 10)


def _vectors(count: int, dimension: int) -> NDArray[np.float32]:
    """A surface in space, and small groups apart from it."""
    rng = np.random.default_rng(0)
    surface = np.sin(rng.uniform(0, 3, (count, 3)) @ rng.standard_normal((3, dimension)))
    groups = rng.standard_normal((count // _GROUP + 1, dimension)).repeat(_GROUP, axis=0)[:count]
    vectors = np.where(np.arange(count)[:, None] < _APART * count, groups, surface)
    return (vectors + 0.1 * rng.standard_normal(vectors.shape)).astype(np.float32)


def _search(index: Index, vectors: NDArray[np.float32]) -> None:
    """One query, several, a short walk, a condition; then with items that were added, and with some removed."""
    queries = vectors[:: len(vectors) // 20] + np.float32(0.01)  # both of the groups and of the surface
    for grown in (index, index.extend(queries[:2])):
        grown.search(queries[-1].astype(np.float64), 10)
        grown.search(queries, 10)
        for query in queries[[0, -1]]:
            grown.search(query, 10)
            grown.search(query, 10, solver=QUICK)
            grown.search(query, 10, where=np.arange(len(grown)) % 3 == 0)


def _build_in_threads(vectors: NDArray[np.float32]) -> None:
    """As a large collection is built: so few vectors would be left to one thread."""
    with compiled.always_in_threads():
        Index.build(vectors, progress=False)
        links.build(vectors)


if __name__ == "__main__":
    compile_searches(*sys.argv[1:])
