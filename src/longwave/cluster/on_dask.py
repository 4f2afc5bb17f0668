"""`Dask`: functions run on a Dask cluster. Needs the extra `dask`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import getitem
from typing import Any

from longwave.cluster.engine import Handle, alone
from longwave.errors import MissingExtraError, RemoteError

# How often a call is tried again that failed for a reason of the system.
_RETRIES = 3


class Dask:
    """Values live in the memory of the workers. What is lost with a worker is computed again by the scheduler.

    address: of a scheduler, such as "tcp://head:8786"; None starts one on this machine, with so many workers. They are
    processes of their own that do not read the calling program again, so that it needs no `__main__` guard.
    """

    def __init__(self, address: str | None = None, *, workers: int = 1) -> None:
        try:
            distributed: Any = import_module("distributed")
            start: Any = import_module("distributed.deploy.subprocess").SubprocessCluster
        except ImportError as error:
            raise MissingExtraError("a Dask cluster", "dask") from error
        self._local: Any = None
        if address is None:
            own = {"nthreads": 1, "memory_limit": 0, "dashboard": False}
            self._local = start(n_workers=workers, dashboard_address=None, worker_kwargs=own)
        try:
            self._client: Any = distributed.Client(self._local or address, set_as_default=False)
            self._client.wait_for_workers(workers if address is None else 1, timeout=120)
        except (OSError, TimeoutError) as error:
            self.close()
            raise RemoteError(f"there is no Dask cluster at {address}: {error}; check that it runs") from error

    def put(self, value: Any) -> Handle:
        """A call that returns the value: the scheduler keeps it, so that it outlives the workers that have it."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(_same, value, pure=False)

    def submit(self, function: Callable[..., Any], *arguments: Any, parts: int | None = None) -> Handle:
        """As `Cluster` says."""
        first = tuple(place for place, own in enumerate(arguments) if isinstance(own, _First))
        plain = [own.whole if isinstance(own, _First) else own for own in arguments]
        done = self._client.submit(_called, function, first, *plain, pure=False, retries=_RETRIES)
        if parts is None:
            return done
        return [_First(done), *(self._client.submit(getitem, done, number, pure=False) for number in range(1, parts))]

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for the values."""
        taken = [self._client.submit(getitem, own.whole, 0) if isinstance(own, _First) else own for own in handles]
        return list(self._client.gather(taken))

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if hasattr(self, "_client"):
            self._client.close()
        if self._local is not None:
            self._local.close()


@dataclass(frozen=True, eq=False)
class _First:
    """The first part of what a call has made. It is mostly used where it was made, so it is not worth a call there."""

    whole: Any


def _called(function: Callable[..., Any], first: tuple[int, ...], *arguments: Any) -> Any:
    """Call a function. first: the places of arguments of which only the first part is meant."""
    return alone(function, *(own[0] if place in first else own for place, own in enumerate(arguments)))


def _same(value: Any) -> Any:
    return value
