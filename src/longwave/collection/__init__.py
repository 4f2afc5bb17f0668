"""A living collection: a folder that is added to, removed from and searched. Many readers, one writer.

Its state is a base (graph, basis, vectors: what `longwave build` writes) and segments: what was added and removed
since. A commit writes what is new and nothing else.
"""

from longwave.collection.collection import Collection
from longwave.collection.opening import create, open
from longwave.collection.staleness import Staleness

__all__ = ["Collection", "Staleness", "create", "open"]
