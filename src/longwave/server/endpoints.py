"""What a route is: declared once, and from that decoded, answered and described (`openapi`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from longwave.server import bodies
from longwave.server.context import Context
from longwave.server.problems import Problem, problem_of
from longwave.server.shelf import Served, State

T = TypeVar("T")
JSON = "application/json"


@dataclass(eq=False)
class Call:
    """A request that was decoded. body: of the declared type, or bytes. params: of the declared type."""

    request: Request
    context: Context
    media: str
    body: Any
    params: Any

    def __post_init__(self) -> None:
        name = self.request.path_params.get("name")
        self._served = None if name is None else self.context.shelf.find(name)
        self._state = None if self._served is None else self._served.now

    @property
    def served(self) -> Served:
        """The collection that the path names."""
        assert self._served is not None
        return self._served

    @property
    def state(self) -> State:
        """Its state when the request came."""
        assert self._state is not None
        return self._state

    def item(self) -> Any:
        """The id that the path names."""
        return self.state.parse_id(self.request.path_params["id"])

    async def run(self, do: Callable[[], T]) -> T:
        """Call a function in a thread of the searches, within the time of a request."""
        found: T = await self.context.searches.run(do, timeout=self.context.options.timeout)
        return found

    def writable(self) -> Served:
        """The collection, where it may be changed; else Problem 403."""
        if not self.served.writable:
            raise Problem(403, f"'{self.served.name}' is served for reading; serve it with --writable to change it")
        return self.served


Handler: TypeAlias = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """method, path: as OpenAPI writes them. body: what is decoded from JSON, or bytes. params: from the query.

    takes: media types of the body; with others than JSON the parameters of `params` are those of the body. answer: a
    type that is encoded as JSON, or a media type. status: of an answer.
    """

    method: str
    path: str
    handler: Handler
    body: Any = None
    params: Any = None
    takes: tuple[str, ...] = (JSON,)
    answer: Any = None
    status: int = 200

    async def __call__(self, request: Request) -> Response:
        """Answer a request; every error is a problem document."""
        try:
            call = await self._decode(request)
            answer = await self.handler(call)
        except Exception as error:
            return problem_of(error).response()
        if isinstance(answer, Response):
            return answer
        return Response(msgspec.json.encode(answer), self.status, media_type=JSON)

    async def _decode(self, request: Request) -> Call:
        context: Context = request.app.state.context
        media, body, params = "", None, None
        if self.body is not None:
            media = bodies.media_type(request)
            if not any(media == own or (own.endswith("/*") and media.startswith(own[:-1])) for own in self.takes):
                raise Problem(415, f"the body must be {' or '.join(self.takes)}, got '{media[:100]}'")
            limits = context.options
            body = await bodies.read(request, most=limits.max_body, timeout=limits.timeout)
            if media == JSON:
                body = bodies.from_json(body, self.body)
        if self.params is not None and media != JSON:
            params = bodies.from_query(request.query_params, self.params)
        return Call(request, context, media, body, params)


#: Every route, in the order of the description.
TABLE: list[Endpoint] = []


def endpoint(method: str, path: str, **declared: Any) -> Callable[[Handler], Handler]:
    """Declare a route; the first line of the function's docstring is its summary."""

    def decorate(handler: Handler) -> Handler:
        TABLE.append(Endpoint(method, path, handler, **declared))
        return handler

    return decorate
