"""`Client`: collections on a Longwave server, searched as if they were here."""

from __future__ import annotations

import contextlib
import json
import time
import weakref
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from longwave.client.remote import RemoteCollection
from longwave.client.wire import plain
from longwave.errors import InputError, RemoteError

# What is asked by POST and changes nothing.
_ASKING = ("/search", "/similar", "/explain")
# What a server may ask to wait for at most, in seconds; more is for people to decide.
_LONGEST = 60.0


class Client:
    """A server. Threads may share one. Connections stay open between requests until `close`, or the end of a `with`.

    url: such as "http://127.0.0.1:8808". token: where the server wants one. timeout: seconds to wait for an answer.
    retries: how often a request is sent again where the server is busy (429), each time after the wait it asks for.

        photos = longwave.Client("http://127.0.0.1:8808").collection("photos")
        hits = photos.search(query, 10)
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0, retries: int = 5) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"url must look like http://127.0.0.1:8808, got '{url}'")
        self._url, self._parts, self._token = url.rstrip("/"), parts, token
        self._timeout, self._retries = timeout, retries
        self._idle: list[HTTPConnection] = []
        self._finalize = weakref.finalize(self, _close_all, self._idle)

    def __repr__(self) -> str:
        return f"<Client of {self._url}>"

    def collections(self) -> list[dict[str, Any]]:
        """What the server has: name, items, dimension, version, and more of each."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/collections")["collections"]
        return found

    def collection(self, name: str) -> RemoteCollection:
        """A collection of the server, by name; nothing is asked yet."""
        return RemoteCollection(self, name)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and read the answer, both JSON. An error that the library raises there is raised here."""
        data = None if body is None else json.dumps(body, default=plain).encode()
        for attempt in range(self._retries + 1):
            status, headers, answer = self._exchange(method, path, data)
            if status != 429 or attempt == self._retries:
                break
            time.sleep(_seconds(headers.get("retry-after")))
        try:
            known = json.loads(answer)
        except ValueError:
            raise RemoteError(
                f"{self._url}{path} answered {status}, but not with JSON; is it a Longwave server?"
            ) from None
        if status < 400:
            return known
        detail = known.get("detail", "no reason") if isinstance(known, dict) else "no reason"
        raise InputError(detail) if status == 422 else RemoteError(f"{self._url} answered {status}: {detail}")

    def close(self) -> None:
        """Close all connections; the next request opens another."""
        _close_all(self._idle)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, method: str, path: str, data: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        """One request. A connection that was left open may be gone: what changes something opens a new one."""
        changes = method != "GET" and not path.endswith(_ASKING)
        while True:
            held = None
            if not changes:
                with contextlib.suppress(IndexError):
                    held = self._idle.pop()
            connection = held or self._connect()
            try:
                return self._send(connection, method, path, data)
            except (OSError, HTTPException) as error:
                connection.close()
                if held is None:
                    raise RemoteError(f"cannot reach {self._url}: {error!s:.200} ({type(error).__name__})") from error

    def _connect(self) -> HTTPConnection:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        assert self._parts.hostname is not None
        return kind(self._parts.hostname, self._parts.port, timeout=self._timeout)

    def _send(
        self, connection: HTTPConnection, method: str, path: str, data: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {} if data is None else {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request(method, self._parts.path.rstrip("/") + path, data, headers)
        answer = connection.getresponse()
        known = {name.lower(): value for name, value in answer.getheaders()}
        whole = answer.read()
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return answer.status, known, whole


def _close_all(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _seconds(text: str | None) -> float:
    """What Retry-After says; a second where it says nothing that can be read."""
    try:
        return min(max(float(text or 1), 0.05), _LONGEST)
    except ValueError:
        return 1.0
