"""Work off the event loop: some threads, a bounded queue, and single queries that are answered together.

Nothing waits to be gathered. While all threads are busy requests pile up, and a thread that becomes free takes as many
as are quicker to answer in one call than one by one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from longwave.server.problems import Problem
from longwave.threads import use_one_thread

# Fewer are done one by one. Manifold searches that score all items, time of one thread, n = 1,797 to 20,000: calls of 2
# queries take 1.1 to 2.1 times as long as one by one, of 4 up to 1.2, of 8 they take 0.3 to 0.7, of 32 0.2 to 0.3.
_LEAST = 8
#: Does several jobs of one key in one call.
Do: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(eq=False)
class Job:
    """do: takes what some jobs were given, and returns the answer to each. key: None for a job of its own."""

    do: Do
    given: Any
    key: Hashable
    answer: asyncio.Future[Done]
    since: float


@dataclass(frozen=True, eq=False)
class Done:
    """An answer, the seconds that its job has waited, and how many were answered with it."""

    value: Any
    waited: float
    together: int


class Work:
    """At most `threads` jobs at a time, at most `queue` waiting, at most `batch` in one call.

    seen: told the seconds that each job of a call has waited. Its own state is touched by the event loop alone.
    """

    def __init__(
        self,
        *,
        threads: int,
        queue: int,
        batch: int = 1,
        name: str = "work",
        seen: Callable[[list[float]], None] = lambda waited: None,
    ) -> None:
        self.threads, self.queue, self.batch, self._seen = threads, queue, batch, seen
        self.busy, self.mean = 0, 0.05  # running calls; seconds that a job takes, a moving mean
        self._waiting: deque[Job] = deque()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"longwave-{name}", initializer=use_one_thread)

    @property
    def waiting(self) -> int:
        """Jobs that no thread has taken yet."""
        return len(self._waiting)

    async def run(self, do: Callable[[], Any], *, timeout: float | None = None) -> Any:
        """Call a function in a thread."""
        done = await self.join(lambda jobs: [do() for _ in jobs], None, timeout=timeout)
        return done.value

    async def join(self, do: Do, given: Any, *, key: Hashable = None, timeout: float | None = None) -> Done:
        """Answer one job, together with others of the same key where some wait. Problem 429 where too many do."""
        if len(self._waiting) >= self.queue:
            seconds = max(1, round(self.mean * len(self._waiting) / self.threads))
            raise Problem(
                429,
                f"{len(self._waiting)} requests are waiting, which is the limit; try again in {seconds} s",
                {"Retry-After": str(seconds)},
            )
        job = Job(do, given, key, asyncio.get_running_loop().create_future(), time.perf_counter())
        self._waiting.append(job)
        self._start()
        try:
            async with asyncio.timeout(timeout):
                return await job.answer
        except TimeoutError:
            raise Problem(
                503,
                f"no answer within {timeout:g} s; ask for less, or allow more with --timeout",
                {"Retry-After": str(max(1, round(self.mean)))},
            ) from None
        finally:
            if job in self._waiting:  # given up before a thread took it
                self._waiting.remove(job)

    async def close(self) -> None:
        """Wait for what is running, and end the threads."""
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=False)

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self.busy < self.threads:
            jobs = self._take()
            self.busy += 1
            call = loop.run_in_executor(self._pool, _do, jobs)
            call.add_done_callback(partial(self._finish, jobs))

    def _take(self) -> list[Job]:
        """The job that has waited longest, and others that can be done with it."""
        first = self._waiting.popleft()
        if first.key is None or self.batch == 1:
            return [first]
        mates = [job for job in self._waiting if job.key == first.key][: self.batch - 1]
        if len(mates) + 1 < min(_LEAST, self.batch):
            return [first]
        for job in mates:
            self._waiting.remove(job)
        return [first, *mates]

    def _finish(self, jobs: list[Job], done: asyncio.Future[tuple[float, list[Any]]]) -> None:
        self.busy -= 1
        began, answers = done.result()
        self._seen([began - job.since for job in jobs])
        self.mean += 0.05 * ((time.perf_counter() - began) / len(jobs) - self.mean)
        for job, answer in zip(jobs, answers, strict=True):
            if job.answer.done():  # given up
                continue
            if isinstance(answer, BaseException):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(Done(answer, began - job.since, len(jobs)))
        self._start()


def _do(jobs: list[Job]) -> tuple[float, list[Any]]:
    """In a thread: when it began, and for every job its answer, or its own error."""
    began = time.perf_counter()
    try:
        return began, list(jobs[0].do([job.given for job in jobs]))
    except Exception as error:
        if len(jobs) == 1:
            return began, [error]
        return began, [_do([job])[1][0] for job in jobs]
