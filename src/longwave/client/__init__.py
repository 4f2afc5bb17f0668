"""A server of Longwave's, asked from Python: the same calls, the same `Hits`. Leans on the search's own values."""

from longwave.client.client import Client
from longwave.client.remote import RemoteCollection

__all__ = ["Client", "RemoteCollection"]
