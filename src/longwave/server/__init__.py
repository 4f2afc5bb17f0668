"""Collections over HTTP (extra `serve`): search, compare, explain, change, and a page to look at them.

`application` is the ASGI application; `serve` runs it. Leans on the collection, pictures and their layout.
"""

from longwave.server.asgi import application
from longwave.server.options import Options
from longwave.server.running import serve
from longwave.server.shelf import Shelf

__all__ = ["Options", "Shelf", "application", "serve"]
