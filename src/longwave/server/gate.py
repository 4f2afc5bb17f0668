"""Who may ask: the name the server is asked under, the page that asks, the token; and headers of every answer."""

from __future__ import annotations

import hmac
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longwave.server.options import Options, is_address
from longwave.server.problems import Problem

# Open to all who reach the server: nothing of a collection is there, and a browser loads a page without a token.
_OPEN = ("/", "/healthz", "/readyz", "/favicon.ico")
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


# A name or an address, and a port.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/]+)(:[0-9]{1,5})?")


class Gate:
    """ASGI middleware. A request that may not pass gets a problem document.

    - A name that is neither localhost, nor an address, nor allowed, is refused: a page elsewhere can make a name of its
      own lead here (DNS rebinding), but not an address.
    - A page of another origin may not ask, unless it is allowed (`cors`).
    - With a token, all but the page itself and the probes need it.
    """

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app, self._token = app, options.token
        self._hosts = {"localhost", *(name.lower().rstrip(".") for name in options.allow_hosts)}
        self._origins = set(options.cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["path"], scope["method"])
        except Problem as problem:
            await problem.response()(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _check(self, headers: Headers, path: str, method: str) -> None:
        host = headers.get("host", "")
        if not self._is_known(host):
            raise Problem(421, f"this server is not known as '{host[:100]}'; allow that name with --allow-host")
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and urlsplit(origin).netloc != host:
            raise Problem(403, f"pages of {origin[:100]} may not ask this server; allow them with --cors")
        is_open = path in _OPEN or path.startswith("/static/")
        if self._token is None or is_open or (method == "OPTIONS" and origin in self._origins):
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token.encode())
        if kind.lower() != "bearer" or not right:
            raise Problem(
                401, "give the token of this server: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
            )

    def _is_known(self, host: str) -> bool:
        found = _HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found[1].strip("[]").rstrip(".")
        return name in self._hosts or is_address(name)
