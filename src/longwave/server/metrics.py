"""What Prometheus is told: counts and times of requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

if TYPE_CHECKING:
    from longwave.server.context import Context
    from longwave.server.shelf import Served

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32)


class Metrics:
    """What a server counts. Each has a registry of its own."""

    def __init__(self, context: Context) -> None:
        self.registry = own = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("longwave_requests_total", "Requests answered.", labels, registry=own)
        self.seconds = Histogram(
            "longwave_request_seconds", "Time to answer a request.", labels[:2], buckets=_SECONDS, registry=own
        )
        self._waited = Histogram("longwave_queue_seconds", "Time a search waits.", buckets=_SECONDS, registry=own)
        self._together = Histogram("longwave_batch_queries", "Queries in one call.", buckets=_SIZES, registry=own)
        self._set("longwave_queue_requests", "Requests that wait.", lambda: context.searches.waiting)
        self._set("longwave_busy_threads", "Threads that search.", lambda: context.searches.busy)
        items = Gauge("longwave_items", "Items of a collection.", ("collection",), registry=own)
        version = Gauge("longwave_version", "Version of a collection.", ("collection",), registry=own)
        for served in context.shelf:
            items.labels(served.name).set_function(partial(_items, served))
            version.labels(served.name).set_function(partial(_version, served))

    def searched(self, waited: list[float]) -> None:
        """Count one call for some requests, which have waited for so many seconds each."""
        self._together.observe(len(waited))
        for seconds in waited:
            self._waited.observe(seconds)

    def _set(self, name: str, told: str, value: Callable[[], float]) -> None:
        Gauge(name, told, registry=self.registry).set_function(value)

    def text(self) -> tuple[bytes, str]:
        """All figures, and their media type."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST


def _items(served: Served) -> float:
    return len(served.now.index)


def _version(served: Served) -> float:
    return served.now.version
