"""Qdrant's own engine inside this process, with the few methods of its client that `Qdrant` calls."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.engines.opening import need
from longwave.errors import InputError

# Vectors of so many kilobytes are indexed rather than scanned.
_INDEXED_FROM = 1_000


@dataclass(frozen=True)
class _Answer:
    points: list[Any]


class EdgeClient:
    """qdrant-edge:PATH. Every collection is a folder of PATH."""

    def __init__(self, path: Path) -> None:
        """path: made where it is missing."""
        self._edge = need("qdrant_edge", "Qdrant inside this process", "qdrant-edge")
        self._path = path
        self._open: dict[str, Any] = {}
        path.mkdir(parents=True, exist_ok=True)

    def _shard(self, name: str) -> Any:
        if name not in self._open:
            self._open[name] = self._edge.EdgeShard.load(str(self._path / name))
        return self._open[name]

    def collection_exists(self, name: str) -> bool:
        """Whether there is such a collection."""
        return (self._path / name).is_dir()

    def create_collection(self, name: str, vectors_config: Any, hnsw_config: Any = None) -> None:
        """An empty collection."""
        edge, named = self._edge, vectors_config if isinstance(vectors_config, dict) else {"": vectors_config}
        vectors = {key: edge.EdgeVectorParams(size=own.size, distance=edge.Distance.Dot) for key, own in named.items()}
        links = None if hnsw_config is None else {"m": hnsw_config.m, "ef_construct": hnsw_config.ef_construct}
        config = edge.EdgeConfig(
            vectors=vectors,
            hnsw_config=None if links is None else edge.HnswIndexConfig(full_scan_threshold=1, **links),
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=_INDEXED_FROM),
        )
        (self._path / name).mkdir()
        self._open[name] = edge.EdgeShard.create(str(self._path / name), config)

    def delete_collection(self, name: str) -> None:
        """Take a collection away."""
        if name in self._open:
            self._open.pop(name).close()
        shutil.rmtree(self._path / name, ignore_errors=True)

    def upsert(self, name: str, points: list[Any], wait: bool) -> None:
        """Write points in the place of those of their ids."""
        edge = self._edge
        rows = [edge.Point(p.id, p.vector if isinstance(p.vector, dict) else {"": p.vector}, p.payload) for p in points]
        self._shard(name).update(edge.UpdateOperation.upsert_points(rows))
        if wait:
            self._shard(name).flush()

    def delete(self, name: str, ids: list[int], wait: bool) -> None:
        """Take points away."""
        self._shard(name).update(self._edge.UpdateOperation.delete_points(ids))
        if wait:
            self._shard(name).flush()

    def update_collection_aliases(self, operations: Any) -> None:
        """There are none: folders have one name."""

    def create_payload_index(self, name: str, column: str, field_schema: str, wait: bool) -> None:
        """An index of a column of the payload."""
        kind = getattr(self._edge.PayloadSchemaType, field_schema.capitalize())
        self._shard(name).update(self._edge.UpdateOperation.create_field_index(column, kind))

    def optimize(self, name: str) -> None:
        """Index what was written."""
        self._shard(name).optimize()

    def scroll(self, name: str, scroll_filter: Any = None, **options: Any) -> tuple[list[Any], Any]:
        """Points in the order of their ids."""
        made = self._edge.ScrollRequest(
            offset=options.get("offset"),
            limit=options.get("limit"),
            filter=self._filter(scroll_filter),
            with_payload=options.get("with_payload", True),
            with_vector=options.get("with_vectors", False),
        )
        found: tuple[list[Any], Any] = self._shard(name).scroll(made)
        return found

    def retrieve(self, name: str, ids: list[int], with_payload: Any = True, with_vectors: Any = False) -> list[Any]:
        """Points of these ids."""
        found: list[Any] = self._shard(name).retrieve(ids, with_payload=with_payload, with_vector=with_vectors)
        return found

    def query_points(
        self, name: str, query: list[float], query_filter: Any, using: str, limit: int, with_payload: Any,
        search_params: Any,
    ) -> _Answer:  # fmt: skip
        """The nearest points."""
        edge = self._edge
        made = edge.QueryRequest(
            query=edge.Query.Nearest(query, using=using),
            limit=limit,
            filter=self._filter(query_filter),
            with_payload=with_payload,
            params=edge.SearchParams(hnsw_ef=search_params.hnsw_ef, exact=search_params.exact),
        )
        return _Answer(self._shard(name).query(made))

    def close(self) -> None:
        """Close all collections."""
        while self._open:
            self._open.popitem()[1].close()

    def _filter(self, own: Any) -> Any:
        """A filter of the client, as the engine has it."""
        if own is None:
            return None
        parts = {name: getattr(own, name) for name in ("must", "should", "must_not")}
        made = {name: [self._condition(part) for part in part_list] for name, part_list in parts.items() if part_list}
        return self._edge.Filter(**made)

    def _condition(self, own: Any) -> Any:
        edge, kind = self._edge, type(own).__name__
        if kind == "Filter":
            return self._filter(own)
        if kind == "HasIdCondition":
            return edge.HasIdCondition(set(own.has_id))
        if kind == "IsNullCondition":
            return edge.IsNullCondition(own.is_null.key)
        if own.range is None:
            match = own.match
            if isinstance(getattr(match, "value", None), bool):
                raise InputError(
                    f"Qdrant inside this process takes true for 1, so that a condition on '{own.key}' finds nothing; "
                    "keep 0 and 1 in that column, or ask a Qdrant server"
                )
            made = edge.MatchAny(match.any) if hasattr(match, "any") else edge.MatchValue(match.value)
            return edge.FieldCondition(own.key, match=made)
        bounds = {name: getattr(own.range, name) for name in ("gte", "gt", "lte", "lt")}
        if type(own.range).__name__ == "DatetimeRange":
            texts = {name: value.isoformat() for name, value in bounds.items() if value is not None}
            return edge.FieldCondition(own.key, range=edge.RangeDateTime(**texts))
        return edge.FieldCondition(own.key, range=edge.RangeFloat(**bounds))
