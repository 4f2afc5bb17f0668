"""The OpenAPI description, made from the declarations that requests are decoded and answered by."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

import longwave
from longwave.server.endpoints import JSON, Endpoint
from longwave.server.problems import MEDIA_TYPE, Document

# What may go wrong, wherever it may.
_ALWAYS = (400, 401, 403, 404, 421, 422, 429, 500, 503)
_WITH_BODY = (408, 413, 415)
_BYTES = {"type": "string", "format": "binary"}
_TOLD = {
    200: "The answer.",
    202: "It has begun.",
    304: "Not changed since.",
    400: "The request cannot be read.",
    401: "The token is missing or wrong.",
    403: "Not allowed: a page of another origin, or a collection that is served for reading.",
    404: "There is no such collection, item or picture.",
    408: "The body did not arrive in time.",
    409: "Another writer holds the collection.",
    413: "The body is too large.",
    415: "The body is of another type.",
    421: "The server is not known by this name.",
    422: "A value is wrong; `detail` says which, what is allowed and what to do.",
    429: "Too many requests wait; `Retry-After` says when to try again.",
    500: "The server failed.",
    501: "The server lacks an optional part.",
    503: "No answer in time, an encoder that cannot be used, or a server that is about to stop.",
}


@cache
def describe(table: tuple[Endpoint, ...]) -> bytes:
    """The description as JSON."""
    kinds: list[Any] = [Document]
    for own in table:
        kinds += [kind for kind in (own.body, own.params, own.answer) if _is_struct(kind)]
    kinds = list(dict.fromkeys(kinds))
    made, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas = dict(zip(kinds, made, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for own in table:
        paths.setdefault(own.path, {})[own.method.lower()] = _operation(own, schemas, components)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Longwave", "version": longwave.__version__, "description": "Manifold search."},
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
            "security": [{}, {"token": []}],
        }
    )


def _operation(own: Endpoint, schemas: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    problem = {"content": {MEDIA_TYPE: {"schema": schemas[Document]}}}
    media = JSON if _is_struct(own.answer) else own.answer
    schema = schemas[own.answer] if _is_struct(own.answer) else {} if media == JSON else _BYTES
    answers: dict[int, Any] = {own.status: {"content": {media: {"schema": schema}}}}
    if media.startswith(("image/", "application/octet")) and own.method == "GET":
        answers[304] = {}
    wrong = [*_ALWAYS, *(_WITH_BODY if own.body is not None else ()), *((409, 501) if own.method != "GET" else (501,))]
    answers |= dict.fromkeys(wrong, problem)
    text = (own.handler.__doc__ or "").strip()
    told: dict[str, Any] = {
        "operationId": f"{own.handler.__name__.rstrip('_')}",
        "summary": text.partition("\n")[0],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in re.findall(r"{(\w+)}", own.path)
        ],
        "responses": {str(code): {"description": _TOLD[code], **answers[code]} for code in sorted(answers)},
    }
    if own.params is not None:
        told["parameters"] += _parameters(own, schemas, components)
    if own.body is not None:
        raw = {"schema": _BYTES}
        told["requestBody"] = {
            "required": True,
            "content": {kind: {"schema": schemas[own.body]} if kind == JSON else raw for kind in own.takes},
        }
    return told


def _parameters(own: Endpoint, schemas: dict[Any, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a struct as query parameters; where they stand for those of a body, none is required."""
    known = components[schemas[own.params]["$ref"].rpartition("/")[2]]
    needed = known.get("required", []) if own.body is None else []
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in known["properties"].items()
    ]


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
