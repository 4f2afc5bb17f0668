"""Collections on a Longwave server, searched from Python with the same calls and the same `Hits`."""

from longwave.client.client import Client
from longwave.client.remote import RemoteCollection

__all__ = ["Client", "RemoteCollection"]
