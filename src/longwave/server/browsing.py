"""Routes that show what a collection holds: its facts, ids, items, map, pictures."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from starlette.responses import Response

from longwave import filters
from longwave.display.png import draw_png
from longwave.errors import FileError
from longwave.inspection import describe
from longwave.pictures import picture_size
from longwave.search.defaults import default_filter
from longwave.server import schemas
from longwave.server.asking import NO_TEXTS
from longwave.server.choosing import filter_of
from longwave.server.endpoints import Call, endpoint
from longwave.server.problems import Problem
from longwave.server.shelf import Served

# Eigenvalues that are told, and points of the grid between them.
_EIGENVALUES, _GRID = 400, 201
_KNOBS = [
    schemas.Knob("lowpass", "alpha", 0.0, 0.999, 0.99),
    schemas.Knob("heat", "time", 0.0, 100.0, 10.0),
    schemas.Knob("ideal", "cutoff", -1.0, 1.0, 0.9),
    schemas.Knob("walk", "alpha", 0.0, 0.999, 0.99, [schemas.Range("steps", 1, 100, 10)]),
]


class Size(Struct, forbid_unknown_fields=True):
    """The longest side of a picture."""

    size: Annotated[int, Meta(ge=32, le=2048)] = 256


class Find(Struct, forbid_unknown_fields=True):
    """A part of an id."""

    text: Annotated[str, Meta(max_length=1000)]
    k: Annotated[int, Meta(ge=1, le=1000)] = 20


class Span(Struct, forbid_unknown_fields=True):
    """A page of ids."""

    start: Annotated[int, Meta(ge=0)] = 0
    count: schemas.Some = schemas.MOST_IDS


class Curve(Struct, forbid_unknown_fields=True):
    """A filter; the collection's own where none is given."""

    filter: schemas.Text | None = None


@endpoint("GET", "/v1/collections", answer=schemas.Collections)
async def collections(call: Call) -> schemas.Collections:
    """All collections."""
    return schemas.Collections([_summary(served) for served in call.context.shelf])


@endpoint("GET", "/v1/collections/{name}", answer=schemas.Details)
async def collection(call: Call) -> schemas.Details:
    """All that is known of a collection."""
    state, summary = call.state, _summary(call.served)
    index = state.index
    known = index.settings
    values = np.zeros(0) if index.spectrum is None else np.sort(index.spectrum.eigenvalues)[::-1]
    sample = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), _EIGENVALUES)).astype(int))]
    lines = await call.run(lambda: describe(index, default_filter(index)))
    lines.pop("pictures", None)  # where they lie is nobody's business
    return schemas.Details(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        id_kind="str" if index.ids.dtype.kind == "U" else "int",
        columns=[schemas.Column(name, kind) for name, kind in state.columns],
        labels=state.labels,
        draw=state.draw,
        settings={
            "filter": known.search.filter,
            "neighbors": known.search.neighbors,
            "blend": known.search.blend,
            "rank": 0 if index.spectrum is None else index.spectrum.rank,
            "k": known.k_used,
            "kernel": known.kernel,
            "balanced": known.balanced,
            "plan": known.plan.route,
        },
        filters=_KNOBS,
        eigenvalues=sample.tolist(),
        staleness=state.staleness,
        info=list(lines.items()),
    )


@endpoint("GET", "/v1/collections/{name}/ids", params=Span, answer=schemas.IdList)
async def ids(call: Call) -> schemas.IdList:
    """Ids in the order of the map and of waves."""
    start: int = call.params.start
    return schemas.IdList(call.state.ids[start : start + call.params.count])


@endpoint("GET", "/v1/collections/{name}/find", params=Find, answer=schemas.IdList)
async def find(call: Call) -> schemas.IdList:
    """Ids that contain a text: the same first, then those that begin with it."""
    state, text, k = call.state, call.params.text.casefold(), call.params.k

    def do() -> list[Any]:
        names = ((str(own).casefold(), own) for own in state.ids)
        found = [
            (name != text, not name.startswith(text), place, own)
            for place, (name, own) in enumerate(names)
            if text in name
        ]
        return [own for *_, own in sorted(found, key=lambda one: one[:3])[:k]]

    return schemas.IdList(await call.run(do))


@endpoint("GET", "/v1/collections/{name}/items/{id}", answer=schemas.Item)
async def item(call: Call) -> schemas.Item:
    """An item, and what is known of it."""
    own = call.item()
    place = call.state.place_of(own)
    known = call.state.index.metadata
    if known is None:
        return schemas.Item(own, {})
    (row,) = known.table.take([place]).to_pylist()
    return schemas.Item(own, row)


@endpoint("GET", "/v1/collections/{name}/map", answer="application/octet-stream")
async def map_(call: Call) -> Response:
    """A place for every item: (items, 2) little-endian float32 from −1 to 1, in the order of `ids`."""
    state, options = call.state, call.context.options
    tag = f'"{state.version}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "X-Longwave-Items": str(len(state.ids))}
    if call.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    data = await call.context.slow.run(lambda: state.map.astype("<f4").tobytes(), timeout=options.timeout)
    return Response(data, headers=headers, media_type="application/octet-stream")


@endpoint("GET", "/v1/collections/{name}/response", params=Curve, answer=schemas.Response)
async def response(call: Call) -> schemas.Response:
    """What a filter makes of the waves: h over a sample of the eigenvalues and a grid from −1 to 1, ascending."""
    index = call.state.index
    filter = filter_of(call.params.filter) or default_filter(index)
    values = np.zeros(0) if index.spectrum is None else np.sort(index.spectrum.eigenvalues)
    sample = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), _EIGENVALUES)).astype(int))]
    grid = 1 - np.linspace(0, 2**0.5, _GRID) ** 2  # dense towards 1, where filters do their work
    points = np.unique(np.concatenate([sample, np.clip(grid, -1, 1)]))
    gains = await call.run(lambda: filters.response(filter, points))
    return schemas.Response(points.tolist(), np.asarray(gains, dtype=np.float64).tolist())


@endpoint("GET", "/v1/collections/{name}/pictures/{id}", params=Size, answer="image/jpeg")
async def picture(call: Call) -> Response:
    """A small copy of the picture of an item."""
    own, gallery = call.item(), call.state.gallery
    call.state.place_of(own)
    if gallery is None:
        raise Problem(404, "this collection was not made from pictures")
    size: int = call.params.size

    def do() -> tuple[str, bytes]:
        try:
            seen = gallery.path(own).stat()
            return f'"{seen.st_mtime_ns:x}-{seen.st_size:x}-{size}"', gallery.thumbnail(own, size=size)
        except (FileError, OSError):
            raise Problem(404, f"the picture of {own!r} is gone, or cannot be read any more") from None

    tag, data = await call.run(do)
    headers = {"ETag": tag, "Cache-Control": "private, max-age=3600"}
    if call.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type="image/jpeg")


@endpoint("GET", "/v1/collections/{name}/drawing/{id}", answer="image/png")
async def drawing(call: Call) -> Response:
    """An item drawn from its vector, where the collection says how."""
    state = call.state
    place = state.place_of(call.item())
    if state.draw is None:
        raise Problem(404, "items of this collection cannot be drawn from their vectors")
    rows, _ = state.index.items.rows_of(np.array([place]))
    vector = state.index.vectors.rows(rows[:1])[0]
    data = draw_png(vector.reshape(state.draw.height, state.draw.width))
    return Response(data, headers={"Cache-Control": "private, max-age=3600"}, media_type="image/png")


@endpoint("POST", "/v1/collections/{name}/pictures", body=bytes, takes=("image/*",), answer=schemas.Upload)
async def upload(call: Call) -> schemas.Upload:
    """Upload a picture to search with; it is kept for an hour."""
    if call.state.gallery is None:
        raise Problem(422, "this collection was not made from pictures; search it with ids or vectors")
    data: bytes = call.body
    width, height = await call.run(lambda: picture_size(data))
    return schemas.Upload(upload=call.context.uploads.add(data), width=width, height=height)


@endpoint("GET", "/v1/collections/{name}/questions", answer=schemas.Asking)
async def questions(call: Call) -> schemas.Asking:
    """Whether the collection can be asked questions in words; opens its encoder, which may take seconds."""
    asked = call.state.questions
    if asked is None:
        return schemas.Asking(possible=False, detail=NO_TEXTS)
    try:
        await call.context.slow.run(asked.open, timeout=call.context.options.timeout)
    except Problem as problem:
        if not asked.is_refused:
            raise  # it takes long: ask again
        return schemas.Asking(possible=False, detail=problem.detail)
    return schemas.Asking(possible=True)


def _summary(served: Served) -> schemas.Summary:
    state = served.now
    return schemas.Summary(
        name=served.name,
        items=len(state.index),
        dimension=state.index.dimension,
        version=state.version,
        pictures=state.gallery is not None,
        texts=state.questions is not None,
        writable=served.writable,
    )
