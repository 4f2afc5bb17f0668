"""Run a server until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from longwave.server.application import application
from longwave.server.options import Options
from longwave.server.shelf import Shelf


def serve(
    paths: Sequence[str | Path], options: Options | None = None, *, started: Callable[[str], None] | None = None
) -> None:
    """Serve index folders until SIGINT or SIGTERM; what was taken is answered first.

    started: told the address once requests are taken.
    """
    chosen = options or Options()
    shelf = Shelf.open(paths, writable=chosen.writable, labels=chosen.labels)
    server = Server(application(shelf, chosen), chosen, started)
    server.run()


class Server(uvicorn.Server):
    """uvicorn that says when and where it listens."""

    def __init__(self, app: object, options: Options, started: Callable[[str], None] | None) -> None:
        super().__init__(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                host=options.host,
                port=options.port,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_graceful_shutdown=int(options.timeout) + 1,
            )
        )
        self._told = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Listen, and tell."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started and self._told is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._told(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
