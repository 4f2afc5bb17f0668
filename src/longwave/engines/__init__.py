"""Searches inside a vector engine that you already have: PostgreSQL, Qdrant, LanceDB, DuckDB, or files of faiss.

`export` writes an index there, a row for each item; `Remote` searches it: two searches by inner product in the engine,
the mathematics between them in the client. An engine is one file; each is imported when its address is first used.

Leans on `search` and `stores`.
"""

from longwave.engines.exporting import Exported, export
from longwave.engines.remote import Remote

__all__ = ["Exported", "Remote", "export"]
