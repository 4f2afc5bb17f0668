"""Clusters from text, as the command line gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longwave.cluster.engine import Cluster, InProcess
from longwave.errors import InputError

_FORMS = "local, ray:local[3], ray://HOST:10001, ray:auto, dask:local[3] or dask://HOST:8786"


@contextmanager
def opened(cluster: str | Cluster) -> Iterator[Cluster]:
    """The cluster that a text names, until the block ends; a cluster of the caller's own is used as it is.

    "local": calls in this process. "ray:local[3]", "dask:local[3]": three workers on this machine. "ray://HOST:PORT",
    "dask://HOST:PORT": a cluster that runs. "ray:auto": the one of this machine.
    """
    if not isinstance(cluster, str):
        missing = [name for name in ("put", "submit", "gather") if not hasattr(cluster, name)]
        if missing:
            raise InputError(f"a cluster must have put, submit and gather; {cluster!r} lacks {', '.join(missing)}")
        yield cluster
        return
    made = _made(cluster)
    try:
        yield made
    finally:
        getattr(made, "close", lambda: None)()


def check_name(text: str) -> None:
    """Raise unless the text names a cluster; nothing is started."""
    _parse(text)


def _parse(text: str) -> tuple[str, str | None, int | None]:
    """Engine, address, workers."""
    if text == "local":
        return "local", None, None
    own = re.fullmatch(r"(ray|dask):local\[(\d{1,4})\]", text)
    if own and int(own[2]) > 0:
        return own[1], None, int(own[2])
    there = re.fullmatch(r"(ray|dask)://([^/\s]+:\d+)", text)
    if there:
        return there[1], text if there[1] == "ray" else f"tcp://{there[2]}", None
    if text == "ray:auto":
        return "ray", "auto", None
    raise InputError(f"a cluster is {_FORMS}, got {text!r}")


def _made(text: str) -> Any:
    engine, address, workers = _parse(text)
    if engine == "local":
        return InProcess()
    if engine == "ray":
        from longwave.cluster.on_ray import Ray

        return Ray(address, workers=workers)
    from longwave.cluster.on_dask import Dask

    return Dask(address, workers=workers or 1)
