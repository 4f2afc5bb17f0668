"""Threads and forks: what must be settled before OpenMP is loaded, what it needs around a fork, work side by side.

numba and faiss each bring an OpenMP of their own, next to BLAS's threads. `prepare` is called by ``import longwave``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Any, TypeVar

_T = TypeVar("_T")


# Rows up to which LAPACK takes one thread.
_SMALL = 2000
_PAUSE_HARD = 2  # omp_pause_hard: give up the threads, keep the settings


def prepare() -> None:
    """Let waiting threads sleep, and make forks safe.

    Two pools of threads that wait by spinning, on cores that others want too, made a search of one query take 52
    ms instead of 2 to 4. OpenMP reads the setting once, when it is loaded; a setting of the user stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
        os.register_at_fork(before=_give_up_threads, after_in_child=_use_one_thread)
        os.register_at_fork(after_in_child=_new_turns)


class Turns:
    """So many threads at a time go on, the others wait.

    Tokens in a queue, which is C. `threading.Semaphore` is Python, and cost a tenth of the answers to eight threads.
    """

    def __init__(self, count: int) -> None:
        self._tokens: SimpleQueue[None] = SimpleQueue()
        for _ in range(count):
            self._tokens.put(None)

    def __enter__(self) -> None:
        self._tokens.get()

    def __exit__(self, *_: object) -> None:
        self._tokens.put(None)


def turn() -> Turns:
    """To be held while a query is answered: one thread more than there are cores has one, the others wait.

    Many more are not quicker: one that the system sets aside while it holds the interpreter lets all others wait. One
    more is, by some per cent, as a thread that waits for the interpreter leaves its core to others.
    """
    return _turns


def _new_turns() -> None:
    """After a fork, in the child: the threads that have a turn do not exist."""
    global _turns
    _turns = Turns(turns())


def turns() -> int:
    """How many have a turn at a time."""
    return cores() + 1


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_turns = Turns(turns())


@contextmanager
def one_lapack_thread(size: int) -> Iterator[None]:
    """Let LAPACK factor a matrix of up to 2,000 rows in the calling thread.

    Its threads meet after every few columns. On an idle machine two gain nothing at this size; where others want the
    cores, they wait for each other: eigenpairs of a matrix of 395 rows took 4.0 s instead of 0.07, of 1,270 rows 11.5
    instead of 0.7.
    """
    if size > _SMALL:
        yield
        return
    with _blas().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS work in the calling threads, whichever these are: it has one setting for the whole process."""
    with _blas().limit(limits=1, user_api="blas"):
        yield


def use_one_thread() -> None:
    """Let the calling thread work alone from now on, where OpenMP and numba are asked: their settings are its own."""
    import faiss
    import numba

    faiss.omp_set_num_threads(1)
    library: Any = numba
    library.set_num_threads(1)


@contextmanager
def side_by_side() -> Iterator[Executor]:
    """As many threads as BLAS may take, while BLAS itself keeps to the thread that calls it, in all of the process.

    For many products of a few hundred rows: threads that share one product wait for each other, and where others want
    the cores, for long. And a product does not depend on the number of threads, to the last bit.
    """
    blas = _blas()
    count = max((library.num_threads for library in blas.lib_controllers if library.user_api == "blas"), default=1)
    with blas.limit(limits=1, user_api="blas"), ThreadPoolExecutor(count) as pool:
        yield pool


def run(
    pool: Executor,
    work: Callable[[_T], None],
    parts: Sequence[_T],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Do the work on all parts, and tell how many are done. After an error, or Ctrl-C, no other part is begun."""
    waiting = [pool.submit(work, part) for part in parts]
    try:
        for number, part in enumerate(waiting):
            part.result()
            if progress is not None:
                progress(number + 1, len(waiting))
    finally:
        for part in waiting:
            part.cancel()


@cache
def _blas() -> Any:
    """The copies of BLAS in this process, scipy's among them."""
    import scipy.linalg  # noqa: F401  before they are counted
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _give_up_threads() -> None:
    """Before a fork, GNU OpenMP ends the threads that it keeps for the calling one.

    They do not exist in the child, which would wait for them forever. Parent and child start new ones when they need
    them, within a tenth of a millisecond.
    """
    for library in _gnu_openmp():
        if hasattr(library, "omp_pause_resource_all"):
            library.omp_pause_resource_all(_PAUSE_HARD)


def _use_one_thread() -> None:
    """After a fork, in the child: where the threads could not be given up (before GCC 9), none are waited for."""
    for library in _gnu_openmp():
        if not hasattr(library, "omp_pause_resource_all"):
            library.omp_set_num_threads(1)


def _gnu_openmp() -> list[Any]:
    """Every copy of GNU OpenMP in this process, whoever loaded it. Other OpenMPs mind forks themselves."""
    from threadpoolctl import ThreadpoolController

    return [library.dynlib for library in ThreadpoolController().lib_controllers if library.prefix == "libgomp"]
