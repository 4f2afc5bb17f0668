"""What all requests of a server share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from longwave.errors import LongwaveError
from longwave.server.metrics import Metrics
from longwave.server.options import Options
from longwave.server.shelf import Served, Shelf
from longwave.server.uploads import Uploads
from longwave.server.work import Work
from longwave.threads import one_blas_thread

log = logging.getLogger("longwave.server")


class Context:
    """The collections, the threads that work on them, and pictures that were uploaded."""

    def __init__(self, shelf: Shelf, options: Options) -> None:
        self.shelf, self.options = shelf, options
        self.searches = Work(threads=options.threads, queue=options.queue, batch=options.batch, name="search")
        self.changes = Work(threads=1, queue=options.queue, name="change")
        self.renewals = Work(threads=1, queue=64, name="refresh")
        self.slow = Work(threads=1, queue=64, name="slow")
        self.uploads = Uploads()
        self.refreshing: dict[str, asyncio.Future[None]] = {}
        self.metrics = Metrics(self)
        self.ready = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the first request to the last: warm, following new versions, and every job done at the end."""
        with one_blas_thread():
            for served in self.shelf:
                await self.searches.run(served.warm)
            following = asyncio.create_task(self._follow())
            self.ready = True
            try:
                yield
            finally:
                self.ready = False
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await following
                for work in (self.searches, self.changes, self.renewals, self.slow):
                    await work.close()
                for served in self.shelf:
                    served.close()

    async def _follow(self) -> None:
        """Take new versions, and make the map of each before it is asked for."""
        mapped: dict[str, int] = {}
        while True:
            for served in self.shelf:
                try:
                    await self._look(served, mapped)
                except LongwaveError as error:  # a folder that is being copied: the old version stays
                    log.warning("%s: version %d stays: %s", served.path, served.now.version, error)
            await asyncio.sleep(self.options.follow)

    async def _look(self, served: Served, mapped: dict[str, int]) -> None:
        await self.slow.run(served.follow)
        state = served.now
        if mapped.get(served.name) != state.version:
            mapped[served.name] = state.version
            await self.slow.run(state.map)
