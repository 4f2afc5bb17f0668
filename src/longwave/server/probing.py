"""Routes for those who look after the server: healthz, readyz, metrics, the description."""

from __future__ import annotations

from starlette.responses import Response

from longwave.server import schemas
from longwave.server.endpoints import TABLE, Call, endpoint
from longwave.server.openapi import describe
from longwave.server.problems import Problem


@endpoint("GET", "/healthz", answer=schemas.State)
async def healthz(call: Call) -> schemas.State:
    """Whether the server lives."""
    return schemas.State("alive")


@endpoint("GET", "/readyz", answer=schemas.State)
async def readyz(call: Call) -> schemas.State:
    """Whether the server takes requests: the collections are open and warm."""
    if not call.context.ready:
        raise Problem(503, "the server is starting, or about to stop", {"Retry-After": "1"})
    return schemas.State("ready")


@endpoint("GET", "/openapi.json", answer="application/json")
async def openapi(call: Call) -> Response:
    """The description of all routes."""
    return Response(describe(tuple(TABLE)), media_type="application/json")


@endpoint("GET", "/metrics", answer="text/plain")
async def metrics(call: Call) -> Response:
    """Figures for Prometheus."""
    data, media = call.context.metrics.text()
    return Response(data, media_type=media)
