"""What all requests of a server share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from longwave.errors import LongwaveError
from longwave.layout import prepare
from longwave.server import schemas
from longwave.server.metrics import Metrics
from longwave.server.options import Options
from longwave.server.problems import Problem, problem_of
from longwave.server.shelf import Served, Shelf
from longwave.server.uploads import Uploads
from longwave.server.work import Work
from longwave.threads import one_blas_thread

log = logging.getLogger("longwave.server")
_IDLE, _RUNNING = schemas.Refresh("idle"), schemas.Refresh("running")


class Context:
    """The collections, the threads that work on them, and pictures that were uploaded.

    searches: many threads. changes: one, as changes follow each other. renewals: new graphs, which take long and let
    changes go on. slow: maps.
    """

    def __init__(self, shelf: Shelf, options: Options) -> None:
        self.shelf, self.options = shelf, options
        self.metrics = Metrics(self)
        self.searches = Work(
            threads=options.threads,
            queue=options.queue,
            batch=options.batch,
            name="search",
            seen=self.metrics.searched,
        )
        self.changes = Work(threads=1, queue=options.queue, name="change")
        self.renewals = Work(threads=1, queue=64, name="refresh")
        self.slow = Work(threads=1, queue=64, name="slow")
        self.uploads = Uploads()
        self.ready = False
        self._stopping = False
        self._refreshes: dict[str, schemas.Refresh] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the first request to the last: new versions are followed, and every job is done at the end."""
        with one_blas_thread():
            await self.slow.run(prepare)  # compiling holds up all other threads
            following = asyncio.create_task(self._follow())
            self.ready = True
            try:
                yield
            finally:
                self.ready, self._stopping = False, True
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await following
                await asyncio.gather(*self._tasks)
                for work in (self.searches, self.changes, self.renewals, self.slow):
                    await work.close()
                for served in self.shelf:
                    served.close()

    def refreshed(self, served: Served) -> schemas.Refresh:
        """What the refresh of a collection does."""
        return self._refreshes.get(served.name, _IDLE)

    def refresh(self, served: Served) -> schemas.Refresh:
        """Begin one, unless one is running."""
        if self.refreshed(served).state != "running":
            self._refreshes[served.name] = _RUNNING
            task = asyncio.create_task(self._refresh(served))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return _RUNNING

    async def _refresh(self, served: Served) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            if self._stopping:
                raise Problem(503, "the server was stopped before the new graph was made; the old one stays")

        try:
            await self.renewals.run(lambda: served.change(lambda collection: collection.refresh(progress=progress)))
        except Exception as error:
            self._refreshes[served.name] = schemas.Refresh("failed", problem_of(error).detail)
        else:
            self._refreshes[served.name] = _IDLE

    async def _follow(self) -> None:
        """Take new versions, and make the map of each before it is asked for."""
        mapped: dict[str, int] = {}
        while True:
            for served in self.shelf:
                try:
                    await self.changes.run(served.follow)
                except (LongwaveError, Problem) as error:  # a folder that is being copied: the old version stays
                    log.warning("%s: version %d stays: %s", served.path, served.now.version, error)
                if mapped.get(served.name) != served.now.version:
                    mapped[served.name] = served.now.version
                    self._map(served)
            await asyncio.sleep(self.options.follow)

    def _map(self, served: Served) -> None:
        state = served.now
        task = asyncio.create_task(self._made(self.slow.run(lambda: state.map)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _made(self, work: object) -> None:
        try:
            await work  # type: ignore[misc]
        except Exception as error:  # the request for it will tell its client
            log.warning("the map could not be made: %s", error)
