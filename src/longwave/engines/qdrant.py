"""Qdrant: a collection for each export, with two named vectors a point."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from longwave.engines.edge import EdgeClient
from longwave.engines.engine import COORDINATES, FACTS, VECTOR, Batch, Facts, Scored, in_blocks
from longwave.engines.foreign import foreign_errors, line_of
from longwave.engines.opening import need
from longwave.engines.record import Record
from longwave.errors import InputError, NotAnIndexError
from longwave.metadata import Condition
from longwave.metadata.arrow import need as need_arrow
from longwave.metadata.conditions import AllOf, AnyOf, Compare, Exists, Not, OneOf
from longwave.types import Array

# Points of one request: Qdrant takes 32 MB of JSON, a number is some 12 bytes.
_POINT_NUMBERS = 1 << 20
_PAGE = 1000
_SECONDS = 30
_LEAST_EFFORT = 512
#: Where the key of a server is, so that it stands in no address.
KEY = "QDRANT_API_KEY"


class Qdrant:
    """qdrant://HOST:6333, qdrant+https://HOST; qdrant-edge:PATH, its engine inside this process.

    qdrant:PATH is a small engine that the client has for tests: it scans, and is slow.

    Collections NAME_1, NAME_2, …, the alias NAME, and NAME_exports, which says which is the newest complete one.
    """

    def __init__(self, url: str, name: str, *, exact: bool, write: bool) -> None:
        """Connect; see `opening.open_engine`."""
        library = need("qdrant_client", "an export to Qdrant", "qdrant")
        self._models = need("qdrant_client.models", "an export to Qdrant", "qdrant")
        self._url, self._name, self._exact = url, name, exact
        self._record: Record | None = None
        self._number = self._draft = 0
        self._embedded = not url.partition(":")[2].startswith("//")
        if self._embedded:
            path = Path(url.partition(":")[2])
            edge = url.startswith("qdrant-edge:")
            if not write and not path.is_dir():
                raise NotAnIndexError(f"there is no folder {path}; write it with: longwave export INDEX {url}")
            make: dict[str, Any] = {"path": path} if edge else {"path": str(path)}
            self._embedded, maker = not edge, EdgeClient if edge else library.QdrantClient
        else:
            parts = urlsplit(url)
            scheme = "https" if parts.scheme.endswith("+https") else "http"
            port = parts.port or 6333
            make = {"url": f"{scheme}://{parts.hostname}:{port}", "api_key": os.environ.get(KEY), "timeout": _SECONDS}
            make["check_compatibility"], maker = False, library.QdrantClient
        with self._asking():
            self._db = maker(**make)
            self._is_there(f"{name}_exports")  # says at once whether it can be reached

    @property
    def place(self) -> str:
        """The address and the name."""
        return f"{self._url} ({self._name})"

    def _asking(self) -> AbstractContextManager[None]:
        return foreign_errors(self.place, self._told)

    def _told(self, kind: str, text: str) -> str | None:
        """Of the client, of HTTP, of its local mode, of the engine inside this process."""
        if "timed out" in text or "Timeout" in kind:
            return f"{self.place} took too long: {text}; try again when the server has less to do"
        if kind in ("ResponseHandlingException", "ConnectError", "ConnectionError"):
            return f"cannot reach {self.place}: {text}; check that the server runs, and the port (6333)"
        if "Unexpected Response: 401" in text or "Unexpected Response: 403" in text:
            return f"{self.place} refuses: {text}; put a key with the right to read and write into the variable {KEY}"
        if "Unexpected Response: 5" in text:
            return f"{self.place} fails: {text}; look into the log of the server, and try again"
        if kind == "JSONDecodeError":
            return f"what answers at {self.place} is no Qdrant: {text}; check the host and the port (6333)"
        if "WouldBlock" in text or "already accessed" in text:
            return f"{self.place} is open elsewhere, and only one program may have it open: close the other one"
        if kind in ("NotADirectoryError", "PermissionError"):
            return f"cannot write {self.place}: {text}; choose a folder that may be written"
        return None

    def _is_there(self, name: str) -> bool:
        return bool(self._db.collection_exists(name))

    def _called(self, number: int | None = None) -> str:
        return f"{self._name}_{self._number if number is None else number}"

    def _listed(self) -> list[tuple[int, bool, str]]:
        """Number, whether it is complete, and record of every export."""
        if not self._is_there(f"{self._name}_exports"):
            return []
        points, _ = self._db.scroll(f"{self._name}_exports", limit=_PAGE, with_payload=True)
        return sorted((int(p.id), bool(p.payload["complete"]), str(p.payload["record"])) for p in points)

    def _note(self, number: int, record: Record, *, complete: bool) -> None:
        models, name = self._models, f"{self._name}_exports"
        if not self._is_there(name):
            self._db.create_collection(name, vectors_config=models.VectorParams(size=1, distance=models.Distance.DOT))
        payload = {"complete": complete, "record": record.to_json()}
        self._db.upsert(name, [models.PointStruct(id=number, vector=[1.0], payload=payload)], wait=True)

    def record(self) -> Record | None:
        """See `Engine`."""
        with self._asking():
            complete = [entry for entry in self._listed() if entry[1]]
        if not complete:
            return None
        self._number, _, text = complete[-1]
        self._record = Record.parse(text, self.place)
        return self._record

    def begin(self, record: Record) -> int:
        """See `Engine`."""
        models, self._record = self._models, record
        with self._asking():
            try:
                listed = self._listed()
            except Exception as error:  # what lists the exports is damaged: none of them can be told from a draft
                if self._told(type(error).__name__, line_of(error)) is not None:
                    raise
                self._db.delete_collection(f"{self._name}_exports")
                listed = []
            for number, complete, text in listed:
                if not complete and text == record.to_json() and self._is_there(self._called(number)):
                    self._draft = number
                    return max((int(point.id) for point in self._all(self._called(number), False)), default=-1)
                if not complete:
                    self._db.delete_collection(self._called(number))
                    self._db.delete(f"{self._name}_exports", [number], wait=True)
            self._draft = max([0, *(number for number, _, _ in listed)]) + 1
            if self._is_there(self._called(self._draft)):  # what no export names
                self._db.delete_collection(self._called(self._draft))
            links = models.HnswConfigDiff(m=32 if record.approximate else 0, ef_construct=256)
            sizes = ((VECTOR, record.dimension), (COORDINATES, record.rank))
            vectors = {name: models.VectorParams(size=size, distance=models.Distance.DOT) for name, size in sizes}
            self._db.create_collection(self._called(self._draft), vectors_config=vectors, hnsw_config=links)
            self._note(self._draft, record, complete=False)
        return -1

    def _all(self, name: str, payload: Any) -> Iterator[Any]:
        """All points, ascending."""
        after = None
        while True:
            points, after = self._db.scroll(name, limit=_PAGE, offset=after, with_payload=payload)
            yield from points
            if after is None:
                return

    def write(self, batch: Batch) -> None:
        """See `Engine`."""
        with self._asking():
            self._upsert(batch, self._called(self._draft))

    def _upsert(self, batch: Batch, name: str) -> None:
        assert self._record is not None
        assert batch.facts.coordinates is not None
        known = {
            key: own.tolist() if isinstance(own, np.ndarray) else list(own) for key, own in batch.columns().items()
        }
        if batch.metadata is not None:
            table = batch.metadata
            known |= {key: [_plain(own) for own in table.column(key).to_pylist()] for key in table.column_names}
        known["leader"] = [int(own) for own in known["leader"]]
        numbers = known.pop("number")
        rows = [dict(zip(known, own, strict=True)) for own in zip(*known.values(), strict=True)]
        step = max(1, _POINT_NUMBERS // (self._record.dimension + self._record.rank))
        for start in range(0, len(rows), step):
            points = [
                self._models.PointStruct(
                    id=numbers[at],
                    vector={VECTOR: batch.vectors[at].tolist(), COORDINATES: batch.facts.coordinates[at].tolist()},
                    payload=rows[at],
                )
                for at in range(start, min(start + step, len(rows)))
            ]
            self._db.upsert(name, points, wait=True)

    def finish(self) -> None:
        """See `Engine`."""
        assert self._record is not None
        models, name = self._models, self._called(self._draft)
        with self._asking():
            if not self._embedded:
                self._index_payload(name)
            if isinstance(self._db, EdgeClient):
                self._db.optimize(name)
            self._note(self._draft, self._record, complete=True)
            point = models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=name, alias_name=self._name)
            )
            self._db.update_collection_aliases([point])
            for number, _, _ in self._listed():
                if number < self._draft:
                    self._db.delete_collection(self._called(number))
                    self._db.delete(f"{self._name}_exports", [number], wait=True)

    def _index_payload(self, name: str) -> None:
        """What conditions ask for is found without a scan."""
        assert self._record is not None
        kinds = {"row": "integer", "leader": "integer", "id": "keyword" if self._record.text_ids else "integer"}
        types = need_arrow("pyarrow.types") if self._record.columns else None
        for field in self._record.arrow_schema() or ():
            assert types is not None
            kind = getattr(field.type, "value_type", field.type)
            tests = (
                ("bool", types.is_boolean), ("integer", types.is_integer), ("float", types.is_floating),
                ("datetime", types.is_temporal), ("keyword", lambda _: True),
            )  # fmt: skip
            kinds[self._record.columns[field.name]] = next(word for word, test in tests if test(kind))
        for column, kind in kinds.items():
            self._db.create_payload_index(name, column, field_schema=kind, wait=True)

    def change(self, record: Record, removed: NDArray[np.int64], batches: Iterable[Batch]) -> None:
        """See `Engine`: each step may be done twice; the record comes last."""
        self._record = record
        with self._asking():
            for block in in_blocks(removed, _PAGE):
                self._db.delete(self._called(), block.tolist(), wait=True)
        for batch in batches:
            with self._asking():
                self._upsert(batch, self._called())
        with self._asking():
            self._note(self._number, record, complete=True)

    def known(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """See `Engine`."""
        with self._asking():
            points = sorted(
                (int(p.id), p.payload["id"], p.payload["leader"]) for p in self._all(self._called(), ["id", "leader"])
            )
        numbers, ids, leader = zip(*points, strict=True) if points else ((), (), ())
        return np.array(numbers, dtype=np.int64), np.array(ids), np.array(leader, dtype=bool)

    def search(
        self, column: str, query: NDArray[np.float32], k: int, *, where: Condition | None = None, leaders: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        models = self._models
        must = [] if where is None else [self._where(where)]
        if leaders:
            must.append(models.FieldCondition(key="leader", match=models.MatchValue(value=1)))
        return self._find(column, query, k, models.Filter(must=must) if must else None)

    def _find(
        self, column: str, query: NDArray[np.float32], k: int, allowed: Any, *, exact: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        options: dict[str, Any] = {"using": column, "limit": int(k), "with_payload": False}
        if not self._embedded:  # which always scans
            effort = max(_LEAST_EFFORT, 2 * k)
            options["search_params"] = self._models.SearchParams(hnsw_ef=effort, exact=exact or self._exact)
        with self._asking():
            found = self._db.query_points(self._called(), query=query.tolist(), query_filter=allowed, **options).points
        numbers = np.array([point.id for point in found], dtype=np.int64)
        products = np.array([point.score for point in found], dtype=np.float32)
        best = np.lexsort((numbers, -products))
        return numbers[best], products[best]

    def facts(
        self, *, numbers: Array | None = None, rows: Array | None = None, ids: Array | None = None, waves: bool = False
    ) -> Facts:
        """See `Engine`."""
        payload, vectors = ["id", *FACTS], [COORDINATES] if waves else False
        with self._asking():
            if numbers is not None:
                wanted = np.asarray(numbers).tolist()
                points = self._db.retrieve(self._called(), wanted, with_payload=payload, with_vectors=vectors)
            else:
                column, values = ("row", rows) if rows is not None else ("id", ids)
                among = self._models.MatchAny(any=np.asarray(values).tolist())
                allowed = self._models.Filter(must=[self._models.FieldCondition(key=column, match=among)])
                points, after = [], None
                while True:
                    some, after = self._db.scroll(
                        self._called(), allowed, limit=_PAGE, offset=after, with_payload=payload, with_vectors=vectors
                    )
                    points += some
                    if after is None:
                        break
        return self._facts(points, waves=waves)

    def _facts(self, points: list[Any], *, waves: bool) -> Facts:
        assert self._record is not None
        kinds: dict[str, Any] = {
            "row": np.int64, "gain": np.float32, "scale": np.float32, "reach": np.float32, "norm": np.float32,
            "kind": np.uint8, "component": np.int64,
        }  # fmt: skip
        plain: dict[str, Any] = {
            name: np.array([point.payload[name] for point in points], dtype=kind) for name, kind in kinds.items()
        }
        psi: dict[str, Any] = {name: [point.payload[name] for point in points] for name in ("psi_rows", "psi_weights")}
        coordinates = None
        if waves:
            rows = [point.vector[COORDINATES] for point in points]
            coordinates = np.array(rows, dtype=np.float32).reshape(-1, self._record.rank)
        return Facts(
            numbers=np.array([point.id for point in points], dtype=np.int64),
            ids=np.array([point.payload["id"] for point in points], dtype=str if self._record.text_ids else np.int64),
            coordinates=coordinates,
            **plain,
            **psi,
        )

    def scored(self, numbers: Array, query: NDArray[np.float32], waves: NDArray[np.float32]) -> Scored:
        """See `Engine`. Products are computed there: rows stay where they are."""
        facts = self.facts(numbers=numbers)
        allowed = self._models.Filter(must=[self._models.HasIdCondition(has_id=facts.numbers.tolist())])
        products = []
        for column, asked in ((VECTOR, query), (COORDINATES, waves)):
            found, own = self._find(column, asked, len(facts), allowed, exact=True)  # links may miss some
            placed = np.zeros(len(facts), dtype=np.float32)
            placed[facts.places(found)] = own
            products.append(placed)
        return Scored(facts, products[0], products[1])

    def vectors(self, after: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        with self._asking():
            points, _ = self._db.scroll(
                self._called(), limit=int(count), offset=int(after) + 1, with_payload=False, with_vectors=[VECTOR]
            )
        rows = np.array([point.vector[VECTOR] for point in points], dtype=np.float32)
        return np.array([point.id for point in points], dtype=np.int64), rows

    def metadata(self, numbers: Array, columns: Sequence[str]) -> Mapping[str, list[Any]]:
        """See `Engine`. Dates and times are text in Qdrant."""
        assert self._record is not None
        wanted = np.asarray(numbers).tolist()
        with self._asking():
            points = self._db.retrieve(self._called(), wanted, with_payload=list(columns))
        found = {int(point.id): point.payload for point in points}
        back = {own: name for name, own in self._record.columns.items()}
        schema = self._record.arrow_schema()
        return {
            name: [_python(found[number].get(name), schema.field(back[name]).type) for number in wanted]
            for name in columns
        }

    def close(self) -> None:
        """See `Engine`."""
        self._db.close()

    def _where(self, condition: Condition) -> Any:
        """The condition as a filter of Qdrant."""
        models = self._models
        if isinstance(condition, Not):
            return models.Filter(must_not=[self._where(condition.part)])
        if isinstance(condition, AllOf):
            return models.Filter(must=[self._where(part) for part in condition.parts] or [models.Filter()])
        if isinstance(condition, AnyOf):
            parts = [self._where(part) for part in condition.parts]
            return models.Filter(should=parts) if parts else models.Filter(must=[models.HasIdCondition(has_id=[])])
        assert isinstance(condition, Compare | OneOf | Exists)
        key = condition.column
        if isinstance(condition, Exists):
            null = models.PayloadField(key=key)
            return models.Filter(must_not=[models.IsNullCondition(is_null=null)])
        if isinstance(condition, Compare):
            return self._range(key, {condition.operator.removeprefix("$"): condition.value})
        if not condition.values:
            return models.Filter(must=[models.HasIdCondition(has_id=[])])
        first = condition.values[0]
        if isinstance(first, bool):
            parts = [models.FieldCondition(key=key, match=models.MatchValue(value=own)) for own in condition.values]
            return models.Filter(should=parts)
        if isinstance(first, float | datetime.date):
            return models.Filter(should=[self._range(key, {"gte": own, "lte": own}) for own in condition.values])
        return models.FieldCondition(key=key, match=models.MatchAny(any=list(condition.values)))

    def _range(self, key: str, bounds: dict[str, Any]) -> Any:
        models, value = self._models, next(iter(bounds.values()))
        if isinstance(value, str):
            raise InputError(
                f"Qdrant has no order of text, which a condition on '{key}' asks for; compare with $eq or $in, or "
                "keep a number or a date for it"
            )
        if isinstance(value, datetime.date):
            return models.FieldCondition(key=key, range=models.DatetimeRange(**bounds))
        return models.FieldCondition(key=key, range=models.Range(**bounds))


def _plain(value: Any) -> Any:
    """A value as JSON has it: dates and times as text."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def _python(value: Any, kind: Any) -> Any:
    """A value as the metadata have it."""
    types = need_arrow("pyarrow.types")
    if value is None or not types.is_temporal(kind):
        return value
    maker = datetime.date if types.is_date(kind) else datetime.datetime
    return maker.fromisoformat(value)
