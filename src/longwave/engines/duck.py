"""DuckDB: one file, a table for each export, searched by a scan or by the index of its extension vss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import COORDINATES, FACTS, VECTOR, Batch, Facts, Scored, asked_by
from longwave.engines.foreign import foreign_errors
from longwave.engines.opening import need
from longwave.engines.record import Record
from longwave.engines.sql import Dialect, quoted, sql_type
from longwave.engines.tables import arrow_batch, facts_of, matrix
from longwave.errors import InputError, NotAnIndexError
from longwave.metadata import Condition
from longwave.types import Array

_TYPES = {
    "boolean": "BOOLEAN", "whole": "BIGINT", "float32": "FLOAT", "float64": "DOUBLE", "text": "VARCHAR",
    "date": "DATE", "time": "TIMESTAMP", "zoned": "TIMESTAMPTZ",
}  # fmt: skip
_AMONG = "list_contains({mark}::{kind}[], {name})"
_ELEMENT = "list_has_any({name}, {mark}::{kind}[])"
# What the index looks at for one query, in times of what is asked for.
_EFFORT = 4


class Duck:
    """duckdb:PATH. Tables NAME_1, NAME_2, … of which the table NAME_exports says which is the newest complete one."""

    def __init__(self, url: str, name: str, *, exact: bool, write: bool) -> None:
        """Open the file; see `opening.open_engine`."""
        self._duckdb = need("duckdb", "an export to DuckDB", "duckdb")
        need("pyarrow", "an export to DuckDB", "duckdb")
        self._path, self._name, self._exact = Path(url.partition(":")[2]), name, exact
        if not write and not self._path.is_file():
            raise NotAnIndexError(f"there is no file {self._path}; write it with: longwave export INDEX {url}")
        with foreign_errors(self.place, self._told):
            self._base = self._duckdb.connect(str(self._path), read_only=not write)
        self._db = self._base.cursor()
        self._number: int | None = None
        self._record: Record | None = None
        self._draft = 0
        self._vss = False
        if write:
            self._run(f"CREATE TABLE IF NOT EXISTS {self._exports} (number INTEGER, record VARCHAR, complete BOOLEAN)")

    @property
    def place(self) -> str:
        """The file and the name."""
        return f"duckdb:{self._path} ({self._name})"

    @property
    def _exports(self) -> str:
        return quoted(f"{self._name}_exports")

    def _table(self, number: int | None = None) -> str:
        return quoted(f"{self._name}_{self._number if number is None else number}")

    def _run(self, text: str, values: Sequence[Any] = ()) -> Any:
        with foreign_errors(self.place, self._told):
            return self._db.execute(text, list(values))

    def _told(self, kind: str, text: str) -> str | None:
        if "lock on file" in text:
            return (
                f"{self.place} is open elsewhere: {text}; one process writes such a file, or several read it: close "
                "the other one, or export to another file"
            )
        if "Cannot open file" in text:
            return f"cannot open {self.place}: {text}; choose a file in a folder that is there and may be written"
        if kind == "IOException" or "Corrupt" in text:
            return f"{self.place} is no whole file of DuckDB's: {text}; export to another file, or remove this one"
        return None

    def record(self) -> Record | None:
        """See `Engine`."""
        have = "SELECT count(*) FROM information_schema.tables WHERE table_name = ?"
        if not self._run(have, [f"{self._name}_exports"]).fetchone()[0]:
            return None
        last = f"SELECT number, record FROM {self._exports} WHERE complete ORDER BY number DESC LIMIT 1"
        found = self._run(last).fetchone()
        if found is None:
            return None
        self._number, self._record = int(found[0]), Record.parse(found[1], self.place)
        if self._record.approximate:
            self._load_vss()
        return self._record

    def begin(self, record: Record) -> int:
        """See `Engine`."""
        if record.approximate:
            self._load_vss()
        self._record = record
        rows = self._run(f"SELECT number, record FROM {self._exports} WHERE NOT complete").fetchall()
        for number, text in rows:
            if text == record.to_json():
                self._draft = int(number)
                last = self._run(f"SELECT max(number) FROM {self._table(number)}").fetchone()[0]
                return -1 if last is None else int(last)
            self._run(f"DROP TABLE IF EXISTS {self._table(number)}")
            self._run(f"DELETE FROM {self._exports} WHERE number = ?", [number])
        self._draft = self._run(f"SELECT coalesce(max(number), 0) + 1 FROM {self._exports}").fetchone()[0]
        kinds = {record.columns[field.name]: sql_type(field.type, _TYPES) for field in record.arrow_schema() or ()}
        metadata = "".join(f", {quoted(name)} {kind}" for name, kind in kinds.items())
        self._run("BEGIN")
        self._run(
            f"CREATE TABLE {self._table(self._draft)} (number BIGINT, id {'VARCHAR' if record.text_ids else 'BIGINT'}, "
            f"leader BOOLEAN, row BIGINT, gain FLOAT, scale FLOAT, reach FLOAT, norm FLOAT, kind UTINYINT, "
            f"component BIGINT, psi_rows BIGINT[], psi_weights FLOAT[], vector FLOAT[{record.dimension}], "
            f"coordinates FLOAT[{record.rank}]{metadata})"
        )
        self._run(f"INSERT INTO {self._exports} VALUES (?, ?, FALSE)", [self._draft, record.to_json()])
        self._run("COMMIT")
        return -1

    def write(self, batch: Batch) -> None:
        """See `Engine`."""
        self._insert(batch, self._table(self._draft))

    def _insert(self, batch: Batch, table: str) -> None:
        self._db.register("longwave_batch", arrow_batch(batch))
        self._run(f"INSERT INTO {table} BY NAME SELECT * FROM longwave_batch")
        self._db.unregister("longwave_batch")

    def finish(self) -> None:
        """See `Engine`."""
        assert self._record is not None
        table = self._table(self._draft)
        self._run("BEGIN")
        if self._record.approximate:
            for column in (VECTOR, COORDINATES):
                index = quoted(f"{self._name}_{self._draft}_{column}")
                self._run(f"CREATE INDEX {index} ON {table} USING HNSW ({column}) WITH (metric = 'ip', M = 32)")
        self._run(f"UPDATE {self._exports} SET complete = TRUE WHERE number = ?", [self._draft])
        old = self._run(f"SELECT number FROM {self._exports} WHERE number < ?", [self._draft]).fetchall()
        for (number,) in old:
            self._run(f"DROP TABLE IF EXISTS {self._table(number)}")
        self._run(f"DELETE FROM {self._exports} WHERE number < ?", [self._draft])
        self._run("COMMIT")
        self._run("CHECKPOINT")

    def change(self, record: Record, removed: NDArray[np.int64], batches: Iterable[Batch]) -> None:
        """See `Engine`: one transaction."""
        self._record = record
        self._run("BEGIN")
        try:
            self._drop_rows(removed)
            for batch in batches:
                self._drop_rows(batch.facts.numbers)
                self._insert(batch, self._table())
            self._run(f"UPDATE {self._exports} SET record = ? WHERE number = ?", [record.to_json(), self._number])
            self._run("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _drop_rows(self, numbers: NDArray[np.int64]) -> None:
        if len(numbers):
            text = f"DELETE FROM {self._table()} WHERE number IN (SELECT unnest(?::BIGINT[]))"
            self._run(text, [numbers.tolist()])

    def known(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """See `Engine`."""
        found = self._run(f"SELECT number, id, leader FROM {self._table()} ORDER BY number").to_arrow_table()
        ids = np.array(found["id"].to_pylist())
        return found["number"].to_numpy(), ids, np.array(found["leader"].to_pylist(), dtype=bool)

    def search(
        self, column: str, query: NDArray[np.float32], k: int, *, where: Condition | None = None, leaders: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`. DuckDB's index serves searches without a condition alone: with one, it scans."""
        text, values = ("TRUE", []) if where is None else self._dialect().where(where)
        text = f" WHERE {text}{' AND leader' if leaders else ''}" if where is not None or leaders else ""
        if self._vss:
            self._run(f"SET hnsw_ef_search = {max(64, _EFFORT * k)}")
        # The index knows the negative product alone, and drops what a condition forbids only after it has looked.
        scan = self._exact or bool(text)
        form, order = ("array_inner_product", "DESC") if scan else ("array_negative_inner_product", "ASC")
        find = f"SELECT number, {form}({column}, ?::FLOAT[{len(query)}]) AS product FROM {self._table()}{text} "
        found = self._run(f"{find} ORDER BY product {order} LIMIT {int(k)}", [_text(query), *values]).fetchnumpy()
        numbers = np.asarray(found["number"], dtype=np.int64)
        products = np.asarray(found["product"], dtype=np.float32) * np.float32(1 if scan else -1)
        best = np.lexsort((numbers, -products))
        return numbers[best], products[best]

    def facts(
        self, *, numbers: Array | None = None, rows: Array | None = None, ids: Array | None = None, waves: bool = False
    ) -> Facts:
        """See `Engine`."""
        return facts_of(self._select(numbers, rows, ids, [COORDINATES] if waves else []), self._text_ids)

    @property
    def _text_ids(self) -> bool:
        assert self._record is not None
        return self._record.text_ids

    def _select(self, numbers: Array | None, rows: Array | None, ids: Array | None, more: Sequence[str]) -> Any:
        column, wanted = asked_by(number=numbers, row=rows, id=ids)
        kind = "VARCHAR" if column == "id" and self._text_ids else "BIGINT"
        names = ", ".join(("number", "id", *FACTS, *more))
        text = f"SELECT {names} FROM {self._table()} WHERE {column} IN (SELECT unnest(?::{kind}[]))"
        return self._run(text, [np.asarray(wanted).tolist()]).to_arrow_table()

    def scored(self, numbers: Array, query: NDArray[np.float32], waves: NDArray[np.float32]) -> Scored:
        """See `Engine`."""
        names = ", ".join(("number", "id", *FACTS))
        found = self._run(
            f"SELECT {names}, array_inner_product(vector, ?::FLOAT[{len(query)}]) AS similarity, "
            f"array_inner_product(coordinates, ?::FLOAT[{len(waves)}]) AS product FROM {self._table()} "
            "WHERE number IN (SELECT unnest(?::BIGINT[]))",
            [_text(query), _text(waves), np.asarray(numbers).tolist()],
        ).to_arrow_table()
        similar, products = (found[name].to_numpy() for name in ("similarity", "product"))
        return Scored(facts_of(found, self._text_ids), similar, products)

    def vectors(self, after: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        text = f"SELECT number, vector FROM {self._table()} WHERE number > ? ORDER BY number LIMIT ?"
        found = self._run(text, [int(after), int(count)]).to_arrow_table()
        return found["number"].to_numpy(), matrix(found["vector"])

    def metadata(self, numbers: Array, columns: Sequence[str]) -> Mapping[str, list[Any]]:
        """See `Engine`."""
        names = ", ".join(map(quoted, columns))
        text = f"SELECT number, {names} FROM {self._table()} WHERE number IN (SELECT unnest(?::BIGINT[]))"
        found = self._run(text, [np.asarray(numbers).tolist()]).to_arrow_table()
        place = {number: at for at, number in enumerate(found["number"].to_pylist())}
        order = [place[number] for number in np.asarray(numbers).tolist()]
        return {name: [own[at] for at in order] for name, own in ((n, found[n].to_pylist()) for n in columns)}

    def close(self) -> None:
        """See `Engine`."""
        self._db.close()
        self._base.close()

    def _dialect(self) -> Dialect:
        assert self._record is not None
        names, schema = self._record.columns, self._record.arrow_schema()
        kinds = {names[field.name]: sql_type(field.type, _TYPES) for field in schema}
        return Dialect("?", _AMONG, _ELEMENT, "", kinds)

    def _load_vss(self) -> None:
        """The extension that indexes vectors, from the package that carries it, or as the user installed it."""
        self._vss = True
        try:
            self._db.execute(f"LOAD '{_carried(self._duckdb.__version__)}'")
            self._db.execute("SET hnsw_enable_experimental_persistence = TRUE")
        except self._duckdb.Error as error:
            raise InputError(
                f"DuckDB {self._duckdb.__version__} has no extension vss here ({str(error).splitlines()[0]:.120}); "
                f"install it with: pip install 'duckdb-extension-vss=={self._duckdb.__version__}', or export with "
                "approximate=False (--exact), which needs none"
            ) from error


def _text(query: NDArray[np.float32]) -> str:
    """A vector as DuckDB reads it: as text in a tenth of the time that a list of numbers takes."""
    return str(query.tolist())


def _carried(version: str) -> str:
    """The file of the extension; its bare name where no package has it."""
    try:
        package = need("duckdb_extension_vss", "DuckDB's index", "duckdb")
    except ImportError:
        return "vss"
    file = Path(package.__file__).parent / "extensions" / f"v{version}" / "vss.duckdb_extension"
    return str(file).replace("'", "''") if file.is_file() else "vss"
