"""PostgreSQL with pgvector: a schema for each collection, a table for each export, and `manifold_search` in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import COORDINATES, FACTS, VECTOR, Batch, Facts, Scored, asked_by, in_blocks
from longwave.engines.foreign import AGAIN, Harmed, line_of
from longwave.engines.opening import need, shown_address
from longwave.engines.postgres_function import gain_function, search_function
from longwave.engines.record import Record
from longwave.engines.sql import Dialect, quoted, sql_type
from longwave.errors import InputError, RemoteError
from longwave.metadata import Condition
from longwave.types import Array

_TYPES = {
    "boolean": "boolean", "whole": "bigint", "float32": "real", "float64": "double precision", "text": "text",
    "date": "date", "time": "timestamp", "zoned": "timestamptz",
}  # fmt: skip
_AMONG = "{name} = ANY({mark}::{kind}[])"
_ELEMENT = "{name} && {mark}::{kind}[]"
# What pgvector can index: numbers of a vector, and of one in 2 bytes a number.
_INDEXED, _HALF = 2000, 4000
#: What HNSW looks at for one query: at least so much, twice what is asked for, and no more than pgvector allows.
LEAST_EFFORT, MOST_EFFORT = 200, 1000
_SECONDS = 10


class Postgres:
    """postgresql://… The schema NAME has the tables items_1, items_2, …, the view items, and what was exported."""

    def __init__(self, url: str, name: str, *, exact: bool, write: bool) -> None:
        """Connect; see `opening.open_engine`."""
        self._psycopg = need("psycopg", "an export to PostgreSQL", "pgvector")
        self._pgvector = need("pgvector.psycopg", "an export to PostgreSQL", "pgvector")
        self._url, self._schema, self._exact = url, name, exact
        self._tuned: dict[str, str] = {}
        self._draft = 0
        self._number: int | None = None
        self._record: Record | None = None
        try:
            self._db = self._psycopg.connect(url, autocommit=True, connect_timeout=_SECONDS)
        except self._psycopg.Error as error:
            raise RemoteError(
                f"cannot reach {self.place}: {line_of(error)}; check that the server runs, and user, password and "
                "database of the address"
            ) from error
        try:
            with self._asking():
                if write:
                    self._prepare()
                if self._is_there("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
                    self._pgvector.register_vector(self._db)
                if exact:
                    self._db.execute("SET enable_indexscan = off")
        except BaseException:
            self._db.close()
            raise

    @property
    def place(self) -> str:
        """The address and the schema."""
        return f"{shown_address(self._url)} ({self._schema})"

    def _name(self, table: str) -> str:
        return f"{quoted(self._schema)}.{quoted(table)}"

    def _items(self, number: int | None = None) -> str:
        return self._name(f"items_{self._number if number is None else number}")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """What PostgreSQL refuses, as an error that says what to do."""
        errors = self._psycopg.errors
        try:
            yield
        except errors.InsufficientPrivilege as error:
            raise RemoteError(
                f"{self.place} lacks a right: {line_of(error)}; docs/engines.md lists those that an export and a "
                "search need"
            ) from error
        except (errors.UndefinedTable, errors.UndefinedColumn) as error:
            raise Harmed(
                f"{self.place} has changed or is damaged: {line_of(error)}; open it again, or {AGAIN}"
            ) from error
        except errors.QueryCanceled as error:
            raise RemoteError(
                f"{self.place} took too long: {line_of(error)}; raise statement_timeout, or export with its index"
            ) from error
        except self._psycopg.OperationalError as error:
            raise RemoteError(f"{self.place} broke off: {line_of(error)}; try again when the server runs") from error
        except self._psycopg.Error as error:
            raise Harmed(f"{self.place} refuses: {line_of(error)}; if somebody has changed it, {AGAIN}") from error

    def _is_there(self, text: str, values: Sequence[Any] = ()) -> bool:
        return self._db.execute(text, values).fetchone() is not None

    def _prepare(self) -> None:
        """The extension, the schema and the table of exports, where they are missing: rights may not allow more."""
        if not self._is_there("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
            if not self._is_there("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
                raise RemoteError(
                    f"{self.place} has no extension 'vector'; install pgvector on the server "
                    "(https://github.com/pgvector/pgvector), then export again"
                )
            self._db.execute("CREATE EXTENSION vector")
        if not self._is_there("SELECT 1 FROM pg_namespace WHERE nspname = %s", [self._schema]):
            self._db.execute(f"CREATE SCHEMA {quoted(self._schema)}")
        if not self._has_exports():
            self._db.execute(
                f"CREATE TABLE {self._name('exports')} (number integer PRIMARY KEY, complete boolean NOT NULL, "
                "record text NOT NULL, eigenvalues double precision[] NOT NULL, written timestamptz DEFAULT now())"
            )

    def _has_exports(self) -> bool:
        have = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'exports'"
        return self._is_there(have, [self._schema])

    def record(self) -> Record | None:
        """See `Engine`."""
        with self._asking():
            if not self._has_exports():
                return None
            last = f"SELECT number, record FROM {self._name('exports')} WHERE complete ORDER BY number DESC LIMIT 1"
            found = self._db.execute(last).fetchone()
        if found is None:
            return None
        self._number, self._record = int(found[0]), Record.parse(found[1], self.place)
        return self._record

    def begin(self, record: Record) -> int:
        """See `Engine`."""
        for column, width in ((VECTOR, record.dimension), (COORDINATES, record.rank)):
            if record.approximate and width > _HALF:
                remedy = "build with a smaller rank" if column == COORDINATES else "reduce the vectors (PCA)"
                raise InputError(
                    f"pgvector indexes up to {_HALF:,} numbers a row, and {column} has {width:,}; {remedy}, or export "
                    "with approximate=False (--exact), which scans"
                )
        self._record = record
        exports = self._name("exports")
        with self._asking():
            for number, text in self._db.execute(f"SELECT number, record FROM {exports} WHERE NOT complete").fetchall():
                if text == record.to_json():
                    self._draft = int(number)
                    found = self._db.execute(f"SELECT max(number) FROM {self._items(number)}").fetchone()
                    return -1 if found is None or found[0] is None else int(found[0])
                with self._db.transaction():
                    self._db.execute(f"DROP TABLE IF EXISTS {self._items(number)}")
                    self._db.execute(f"DELETE FROM {exports} WHERE number = %s", [number])
            found = self._db.execute(f"SELECT coalesce(max(number), 0) + 1 FROM {exports}").fetchone()
            assert found is not None
            self._draft = int(found[0])
            own = ", ".join(f"{quoted(name)} {kind}" for name, kind in self._columns(record).items())
            with self._db.transaction():
                self._db.execute(f"CREATE TABLE {self._items(self._draft)} ({own})")
                self._db.execute(
                    f"INSERT INTO {exports} (number, complete, record, eigenvalues) VALUES (%s, FALSE, %s, %s)",
                    [self._draft, record.to_json(), record.eigenvalues],
                )
        return -1

    def _columns(self, record: Record) -> dict[str, str]:
        """Columns of the table and their types."""
        metadata = {record.columns[field.name]: sql_type(field.type, _TYPES) for field in record.arrow_schema() or ()}
        return {
            "number": "bigint", "id": "text" if record.text_ids else "bigint", "leader": "boolean", "row": "bigint",
            "gain": "real", "scale": "real", "reach": "real", "norm": "real", "kind": "smallint", "component": "bigint",
            "psi_rows": "bigint[]", "psi_weights": "real[]", VECTOR: f"vector({record.dimension})",
            COORDINATES: f"vector({record.rank})", **metadata,
        }  # fmt: skip

    def write(self, batch: Batch) -> None:
        """See `Engine`."""
        with self._asking(), self._db.transaction():
            self._copy(batch, self._items(self._draft))

    def _copy(self, batch: Batch, table: str) -> None:
        assert self._record is not None
        kinds = {name: kind.partition("(")[0] for name, kind in self._columns(self._record).items()}
        known: dict[str, list[Any]] = {
            name: own.tolist() if isinstance(own, np.ndarray) else list(own) for name, own in batch.columns().items()
        }
        assert batch.facts.coordinates is not None
        known |= {VECTOR: list(batch.vectors), COORDINATES: list(batch.facts.coordinates)}
        if batch.metadata is not None:
            known |= {name: batch.metadata.column(name).to_pylist() for name in batch.metadata.column_names}
        names = ", ".join(map(quoted, known))
        with self._db.cursor().copy(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types([kinds[name] for name in known])
            for row in zip(*known.values(), strict=True):
                copy.write_row(row)

    def finish(self) -> None:
        """See `Engine`: indexes first, then one transaction."""
        assert self._record is not None
        table = self._items(self._draft)
        with self._asking():
            for name in self._db.execute(
                "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND tablename = %s",
                [self._schema, f"items_{self._draft}"],
            ).fetchall():  # of a finish that was broken off
                self._db.execute(f"DROP INDEX {self._name(name[0])}")
            for column in ("number", "id"):
                self._db.execute(f"CREATE UNIQUE INDEX ON {table} ({column})")
            self._db.execute(f"CREATE INDEX ON {table} (row)")
            if self._record.approximate:
                for column, width in ((VECTOR, self._record.dimension), (COORDINATES, self._record.rank)):
                    kind = "halfvec" if width > _INDEXED else "vector"
                    make = f"CREATE INDEX ON {table} USING hnsw ({_cast(column, width)} {kind}_ip_ops) "
                    make += "WITH (m = 16, ef_construction = 128)"
                    self._db.execute(make)
                    if column == VECTOR and self._record.copies:
                        self._db.execute(f"{make} WHERE leader")
            self._db.execute(f"ANALYZE {table}")
            with self._db.transaction():
                self._install(self._draft, self._record)
                exports = self._name("exports")
                self._db.execute(f"UPDATE {exports} SET complete = TRUE WHERE number = %s", [self._draft])
                old = f"SELECT number FROM {exports} WHERE number < %s"
                for (number,) in self._db.execute(old, [self._draft]).fetchall():
                    self._db.execute(f"DROP TABLE IF EXISTS {self._items(number)}")
                self._db.execute(f"DELETE FROM {exports} WHERE number < %s", [self._draft])

    def _install(self, number: int, record: Record) -> None:
        """The view and the functions over one export, in the place of those before."""
        found = self._db.execute(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        ).fetchone()
        assert found is not None
        self._db.execute(f"DROP VIEW IF EXISTS {self._name('items')}")
        self._db.execute(f"CREATE VIEW {self._name('items')} AS SELECT * FROM {self._items(number)}")
        self._db.execute(f"DROP FUNCTION IF EXISTS {self._name('manifold_search')}")
        self._db.execute(gain_function(self._schema))
        self._db.execute(search_function(self._schema, number, record, found[0]))

    def change(self, record: Record, removed: NDArray[np.int64], batches: Iterable[Batch]) -> None:
        """See `Engine`: one transaction."""
        assert self._number is not None
        self._record = record
        with self._asking(), self._db.transaction():
            self._drop_rows(removed)
            for batch in batches:
                self._drop_rows(batch.facts.numbers)
                self._copy(batch, self._items())
            self._install(self._number, record)
            self._db.execute(
                f"UPDATE {self._name('exports')} SET record = %s, written = now() WHERE number = %s",
                [record.to_json(), self._number],
            )

    def _drop_rows(self, numbers: NDArray[np.int64]) -> None:
        for block in in_blocks(numbers, 10_000):
            self._db.execute(f"DELETE FROM {self._items()} WHERE number = ANY(%s)", [block.tolist()])

    def known(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """See `Engine`."""
        with self._asking():
            rows = self._db.execute(f"SELECT number, id, leader FROM {self._items()} ORDER BY number").fetchall()
        numbers, ids, leader = zip(*rows, strict=True) if rows else ((), (), ())
        return np.array(numbers, dtype=np.int64), np.array(ids), np.array(leader, dtype=bool)

    def search(
        self, column: str, query: NDArray[np.float32], k: int, *, where: Condition | None = None, leaders: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        text, values = ("TRUE", []) if where is None else self._dialect().where(where)
        text = f" WHERE {text}{' AND leader' if leaders else ''}" if where is not None or leaders else ""
        cast = "::halfvec" if len(query) > _INDEXED else ""
        order = f"{_cast(column, len(query))} <#> %s{cast}"
        find = f"SELECT number, -({column} <#> %s) FROM {self._items()}{text} ORDER BY {order} LIMIT {int(k)}"
        with self._asking():
            self._tune(k, scan=where is not None)
            rows = self._db.execute(find, [query, *values, query], binary=True).fetchall()
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        products = np.array([row[1] for row in rows], dtype=np.float32)
        best = np.lexsort((numbers, -products))
        return numbers[best], products[best]

    def _tune(self, k: int, *, scan: bool) -> None:
        """How hard HNSW looks, and that it is used: a plan does not know what it costs to read vectors.

        scan: a condition may leave so few rows that a scan is better; the plan decides.
        """
        assert self._record is not None
        wanted = {
            "hnsw.ef_search": str(min(MOST_EFFORT, max(LEAST_EFFORT, 2 * k))),
            "hnsw.iterative_scan": "strict_order",
            "enable_seqscan": "on" if scan or self._exact or not self._record.approximate else "off",
            "jit": "off",
        }
        if wanted != self._tuned:
            text = ", ".join(["set_config(%s, %s, FALSE)"] * len(wanted))
            self._db.execute(f"SELECT {text}", [word for pair in wanted.items() for word in pair])
            self._tuned = wanted

    def facts(
        self, *, numbers: Array | None = None, rows: Array | None = None, ids: Array | None = None, waves: bool = False
    ) -> Facts:
        """See `Engine`."""
        column, wanted = asked_by(number=numbers, row=rows, id=ids)
        assert self._record is not None
        kind = "text" if column == "id" and self._record.text_ids else "bigint"
        found = self._select([COORDINATES] if waves else [], [], f"{column} = ANY(%s::{kind}[])", wanted)
        return self._facts(found, waves=waves)

    def _select(self, more: Sequence[str], values: list[Any], where: str, wanted: Array) -> list[Any]:
        names = ", ".join(("number", "id", *FACTS, *more))
        text = f"SELECT {names} FROM {self._items()} WHERE {where}"
        with self._asking():
            rows: list[Any] = self._db.execute(text, [*values, np.asarray(wanted).tolist()], binary=True).fetchall()
        return rows

    def _facts(self, rows: list[Any], *, waves: bool) -> Facts:
        assert self._record is not None
        kinds: list[Any] = [np.int64, np.float32, np.float32, np.float32, np.float32, np.uint8, np.int64]
        columns = list(zip(*rows, strict=True)) if rows else [()] * (2 + len(FACTS) + waves)
        plain: list[Any] = [np.array(own, dtype=kind) for own, kind in zip(columns[2:9], kinds, strict=True)]
        rank = self._record.rank
        coordinates = np.array([_numbers(own) for own in columns[11]], dtype=np.float32) if waves else None
        return Facts(
            numbers=np.array(columns[0], dtype=np.int64),
            ids=np.array(columns[1], dtype=str if self._record.text_ids else np.int64),
            psi_rows=columns[9],
            psi_weights=columns[10],
            coordinates=None if coordinates is None else coordinates.reshape(-1, rank),
            **dict(zip(FACTS, plain, strict=False)),
        )

    def scored(self, numbers: Array, query: NDArray[np.float32], waves: NDArray[np.float32]) -> Scored:
        """See `Engine`."""
        products = [f"-({VECTOR} <#> %s)", f"-({COORDINATES} <#> %s)"]
        rows = self._select(products, [query, waves], "number = ANY(%s::bigint[])", numbers)
        similar, found = (np.array([row[place] for row in rows], dtype=np.float32) for place in (-2, -1))
        return Scored(self._facts(rows, waves=False), similar, found)

    def vectors(self, after: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        text = f"SELECT number, vector FROM {self._items()} WHERE number > %s ORDER BY number LIMIT %s"
        with self._asking():
            rows = self._db.execute(text, [int(after), int(count)], binary=True).fetchall()
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        return numbers, np.array([_numbers(row[1]) for row in rows], dtype=np.float32)

    def metadata(self, numbers: Array, columns: Sequence[str]) -> Mapping[str, list[Any]]:
        """See `Engine`."""
        names = ", ".join(map(quoted, columns))
        text = f"SELECT number, {names} FROM {self._items()} WHERE number = ANY(%s::bigint[])"
        wanted = np.asarray(numbers).tolist()
        with self._asking():
            found = {row[0]: row[1:] for row in self._db.execute(text, [wanted]).fetchall()}
        return {name: [found[number][place] for number in wanted] for place, name in enumerate(columns)}

    def close(self) -> None:
        """See `Engine`."""
        self._db.close()

    def _dialect(self) -> Dialect:
        assert self._record is not None
        kinds = {name: kind for name, kind in self._columns(self._record).items() if name in self._names}
        return Dialect("%s", _AMONG, _ELEMENT, ' COLLATE "C"', kinds)

    @property
    def _names(self) -> set[str]:
        assert self._record is not None
        return set(self._record.columns.values())


def _cast(column: str, width: int) -> str:
    """A column as its index has it: beyond 2,000 numbers in 2 bytes each."""
    return f"({column}::halfvec({width}))" if width > _INDEXED else column


def _numbers(own: Any) -> Array:
    """A vector of pgvector as an array, in whichever form this release returns it."""
    return np.asarray(own.to_numpy() if hasattr(own, "to_numpy") else own, dtype=np.float32)
