"""Run a server until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from longwave.errors import InputError
from longwave.server.asgi import application
from longwave.server.options import Options
from longwave.server.shelf import Shelf

# Seconds that a client may take for the head of a request, and to take what it was sent.
_PATIENCE = 20.0


def serve(
    paths: Sequence[str | Path], options: Options | None = None, *, started: Callable[[str], None] | None = None
) -> None:
    """Serve index folders until SIGINT or SIGTERM; what was taken is answered first.

    started: told the address once requests are taken.
    """
    chosen = options or Options()
    shelf = Shelf.open(paths, writable=chosen.writable, labels=chosen.labels)
    Server(application(shelf, chosen), chosen, started).run()


class Server(uvicorn.Server):
    """uvicorn that says where it listens, and does not wait for clients forever."""

    def __init__(self, app: Any, options: Options, started: Callable[[str], None] | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=options.host,
                port=options.port,
                http=Impatient,
                ws="none",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=int(options.timeout) + 1,
            )
        )
        self._told = started
        # Why it cannot listen is said by `startup`, once.
        logging.getLogger("uvicorn.error").addFilter(lambda record: not isinstance(record.msg, OSError))

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Listen, and tell."""
        config = self.config
        try:
            await super().startup(sockets)
        except SystemExit as stopped:  # because of what uvicorn would log
            cause = stopped.__context__
            why = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else str(cause)
            raise InputError(
                f"cannot listen on {config.host}, port {config.port}: {why}; choose another --port"
            ) from None
        if self.started and self._told is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._told(f"http://{f'[{host}]' if ':' in host else host}:{port}/")


class Impatient(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection that is closed where the head of a request does not come, or an answer is not taken."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._limit: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._arm()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:  # a whole head
            self._disarm()
        elif self._limit is None:
            self._arm()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._arm()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._disarm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        self._disarm()
        self._limit = self.loop.call_later(_PATIENCE, self.transport.abort)

    def _disarm(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
