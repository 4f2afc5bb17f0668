"""The server as an ASGI application: routes, errors and the page put together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longwave.server import browsing, changing, comparing, probing, searching  # noqa: F401  they declare the routes
from longwave.server.context import Context
from longwave.server.endpoints import TABLE, Endpoint
from longwave.server.gate import Gate
from longwave.server.metrics import Metrics
from longwave.server.options import Options
from longwave.server.problems import Problem, problem_of
from longwave.server.shelf import Shelf

#: The page, as files of the package.
PAGE = Path(__file__).parent / "page"


def application(shelf: Shelf, options: Options | None = None) -> Starlette:
    """The application. Its lifespan warms the collections, follows their versions, and ends when all is answered."""
    chosen = options or Options()
    context = Context(shelf, chosen)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with context.running():
            yield

    middleware = [Middleware(Counted, metrics=context.metrics), Middleware(Gate, options=chosen)]
    if chosen.cors:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(chosen.cors),
                allow_methods=["GET", "POST", "PUT", "DELETE"],
                allow_headers=["Authorization", "Content-Type"],
                expose_headers=["ETag", "Retry-After", "X-Longwave-Items", "X-Longwave-Version"],
            )
        )
    app = Starlette(
        routes=_routes(),
        middleware=middleware,
        exception_handlers={HTTPException: _refused, Problem: _failed, Exception: _failed},
        lifespan=lifespan,
    )
    app.state.context = context
    return app


def _routes() -> list[BaseRoute]:
    """One route for each path, with its methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for own in TABLE:
        by_path.setdefault(own.path, {})[own.method] = own
    routes: list[BaseRoute] = [
        Route(path.replace("{id}", "{id:path}"), _choose(known), methods=list(known)) for path, known in by_path.items()
    ]

    async def page(request: Request) -> Response:
        if not (PAGE / "index.html").is_file():
            raise Problem(404, "this installation has no page; the API is described at /openapi.json")
        return FileResponse(PAGE / "index.html")

    routes.append(Route("/", page))
    if PAGE.is_dir():
        routes.append(Mount("/static", StaticFiles(directory=PAGE)))
    return routes


def _choose(known: dict[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await known["GET" if request.method == "HEAD" else request.method](request)

    return answer


async def _refused(request: Request, error: Exception) -> Response:
    """What the router refuses: no such path, no such method."""
    assert isinstance(error, HTTPException)
    detail = {404: "there is nothing at this path", 405: "this path does not know that method"}
    return Problem(error.status_code, detail.get(error.status_code, error.detail), error.headers).response()


async def _failed(request: Request, error: Exception) -> Response:
    return problem_of(error).response()


class Counted:
    """ASGI middleware: how many requests were answered, and in what time."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request, by the route that it took."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST", "PUT", "DELETE") else "other"
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(method, route).observe(time.perf_counter() - began)
