"""`Ray`: functions run on a Ray cluster. Needs the extra `ray`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from longwave.cluster.engine import Handle, alone
from longwave.errors import MissingExtraError, RemoteError

# How often a call is tried again whose worker was lost.
_RETRIES = 5


class Ray:
    """Values live in Ray's object store, which the workers of a machine share; calls whose worker dies run again.

    Values that are lost with a machine are computed again by Ray from the calls that made them. address: of a cluster,
    such as "ray://head:10001"; None starts one on this machine, of so many workers and with an object store of `store`
    bytes (None: as Ray chooses). Where the program has called `ray.init`, that cluster is used and left running.
    """

    def __init__(self, address: str | None = None, *, workers: int | None = None, store: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("a Ray cluster", "ray") from error
        self._ray: Any = ray
        self._calls: dict[bool, Any] = {True: ray.remote(_only), False: ray.remote(alone)}  # sent to the workers once
        self._started = not ray.is_initialized()
        if not self._started:
            return
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "WARNING", "configure_logging": False}
        if address is None:
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray warns of a default that changes
            os.environ.setdefault("RAY_worker_niceness", "0")  # by default 15: behind everything else on the machine
            options |= {"num_cpus": workers, "object_store_memory": store, "include_dashboard": False}
        try:
            ray.init(address="local" if address is None else address, **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = "on this machine" if address is None else f"at {address}"
            raise RemoteError(f"there is no Ray cluster {where}: {error}; check that it runs (ray status)") from error

    def put(self, value: Any) -> Handle:
        """Store the value once for all machines."""
        return self._ray.put(value)

    def submit(self, function: Callable[..., Any], *arguments: Any, parts: int | None = None) -> Handle:
        """As `Cluster` says. Every call counts as one processor."""
        options = {"num_cpus": 1, "max_retries": _RETRIES, "num_returns": parts or 1}
        call = self._calls[parts == 1].options(name=function.__name__, **options)
        done = call.remote(function, *arguments)
        return [done] if parts == 1 else done

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for the values; one that a task raised is raised here as what it was."""
        try:
            return list(self._ray.get(list(handles)))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._started:
            self._ray.shutdown()


def _only(function: Callable[..., Any], *arguments: Any) -> Any:
    """The only part: Ray does not take a list of one apart."""
    (part,) = alone(function, *arguments)
    return part
