"""`open` and `create`: the two ways to a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from longwave.collection.collection import Collection
from longwave.errors import plural
from longwave.graph.weights import Kernel
from longwave.index import Index
from longwave.search import packing
from longwave.storage import check_target, writer


def open(
    path: str | Path, *, version: int | None = None, kernel: Kernel | None = None, verify: bool = False
) -> Collection:
    """Open a collection: any index folder, as `longwave build`, `Index.save` or `create` write it.

    version: an earlier state, for reading only (`Collection.history` lists them). kernel: the function that the index
    was built with, where it is one of your own. verify: read everything once and compare checksums.

    with longwave.open("photos.longwave") as photos:
        photos.add(vectors, ids=names)
        hits = photos.search(query, 10)
    """
    return Collection(path, version=version, kernel=kernel, verify=verify)


def create(
    path: str | Path,
    vectors: ArrayLike,
    *,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    metadata: Any = None,
    **options: Any,
) -> Collection:
    """Build an index of some vectors, write it to a new folder and open it as a collection.

    metadata: one row for each item, as for `Index.with_metadata`. options: of `Index.build`.
    """
    check_target(path, force=False)
    index = Index.build(vectors, ids=ids, groups=groups, **options)
    if metadata is not None:
        index = index.with_metadata(metadata)
    with writer(path, create=True) as own:
        own.commit(packing.facts(index, path), packing.pack(index), f"create with {plural(len(index), 'item')}")
    return Collection(path, kernel=options.get("kernel"))
