"""`Cluster`: what a build asks of Ray, Dask or any other engine; and the one that runs in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

#: What stands for a value that is, or will be, somewhere on the cluster. It means nothing to the one who holds it.
Handle: TypeAlias = Any


class Cluster(Protocol):
    """A place where functions run. Nothing but these three methods is used.

    Functions are importable by name and depend on their arguments alone: after the loss of a worker the engine runs
    them again. A value lives as long as somebody has its handle, or a function that is to run needs it.
    """

    def put(self, value: Any) -> Handle:
        """Hand over a value that many calls need."""

    def submit(self, function: Callable[..., Any], *arguments: Any, parts: int | None = None) -> Handle:
        """Run a function somewhere, some time. Arguments that are handles arrive as the values that they stand for.

        parts: the function returns a list of so many values, and each gets a handle of its own: a list of handles. The
        first is for whoever goes on with it, the others are for others.
        """

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """The values of some handles, in order, when they are there. An error of a function is raised here."""


class InProcess:
    """Every function runs at once, in the calling process, which takes all its cores."""

    def put(self, value: Any) -> Handle:
        """The value itself."""
        return value

    def submit(self, function: Callable[..., Any], *arguments: Any, parts: int | None = None) -> Handle:
        """Call the function."""
        return function(*arguments)

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """The values themselves."""
        return list(handles)


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in one thread, as other workers have the other cores. Workers call everything through this."""
    import numba

    from longwave.threads import one_blas_thread

    library: Any = numba
    library.set_num_threads(1)
    with one_blas_thread():
        return function(*arguments)
