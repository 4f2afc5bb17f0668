"""Routes that change a collection: add, replace, remove, refresh."""

from __future__ import annotations

from typing import Any

import numpy as np

from longwave.collection import Collection
from longwave.server import schemas
from longwave.server.asking import rows_of
from longwave.server.endpoints import Call, endpoint
from longwave.server.problems import Problem

_ITEMS = "/v1/collections/{name}/items"
_REFRESH = "/v1/collections/{name}/refresh"


@endpoint("POST", _ITEMS, body=schemas.ItemsBody, answer=schemas.Added)
async def add(call: Call) -> schemas.Added:
    """Add items; they are on the disk and are found when this is answered."""
    served, given = call.writable(), call.body

    def do(collection: Collection) -> tuple[list[Any], int]:
        vectors, groups = _vectors(call)
        found = collection.add(vectors, ids=given.ids, groups=groups, metadata=given.metadata)
        return found.tolist(), collection.version

    ids, version = await call.context.changes.run(lambda: served.change(do))
    return schemas.Added(ids, version)


@endpoint("PUT", _ITEMS, body=schemas.ItemsBody, answer=schemas.Added)
async def replace(call: Call) -> schemas.Added:
    """Exchange the vectors of items that are there, and their metadata where some is given."""
    served, given = call.writable(), call.body
    if given.ids is None:
        raise Problem(422, "name the items whose vectors are exchanged: `ids`")

    def do(collection: Collection) -> int:
        vectors, groups = _vectors(call)
        collection.replace(vectors, ids=given.ids, groups=groups, metadata=given.metadata)
        return collection.version

    return schemas.Added(given.ids, await call.context.changes.run(lambda: served.change(do)))


@endpoint("DELETE", _ITEMS, body=schemas.IdsBody, answer=schemas.Changed)
async def remove(call: Call) -> schemas.Changed:
    """Remove items; they are never found again."""
    served, given = call.writable(), call.body

    def do(collection: Collection) -> int:
        collection.remove(given.ids)
        return collection.version

    return schemas.Changed(await call.context.changes.run(lambda: served.change(do)))


@endpoint("POST", _REFRESH, answer=schemas.Refresh, status=202)
async def refresh(call: Call) -> schemas.Refresh:
    """Make a new graph and basis of all items; searches and changes go on meanwhile."""
    return call.context.refresh(call.writable())


@endpoint("GET", _REFRESH, answer=schemas.Refresh)
async def refreshed(call: Call) -> schemas.Refresh:
    """What a refresh does."""
    return call.context.refreshed(call.served)


def _vectors(call: Call) -> tuple[Any, Any]:
    """Vectors of the items and the item of each; pictures are described as those of the collection were."""
    given, gallery = call.body, call.state.gallery
    if (given.vectors is None) == (given.uploads is None):
        raise Problem(422, "give the items as `vectors`, or as `uploads`")
    if given.vectors is not None:
        return np.asarray(rows_of(given.vectors), dtype=np.float64), given.groups
    if gallery is None:
        raise Problem(422, "this collection was not made from pictures; give vectors")
    if given.groups is not None:
        raise Problem(422, "pictures are items of their own; leave out `groups`")
    found = [call.context.uploads.find(name).query(gallery, call.state.version, None) for name in given.uploads]
    groups = np.repeat(np.arange(len(found)), [len(own.vectors) for own in found])
    return np.concatenate(
        [own.vectors for own in found]
    ), groups if call.state.index.items.item_of is not None else None
