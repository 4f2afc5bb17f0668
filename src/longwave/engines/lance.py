"""LanceDB: a folder (or a bucket) of tables, a table for each export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import COORDINATES, FACTS, VECTOR, Batch, Facts, Scored, asked_by, in_blocks
from longwave.engines.foreign import foreign_errors
from longwave.engines.opening import need
from longwave.engines.record import Record
from longwave.engines.tables import arrow_batch, facts_of, matrix
from longwave.errors import NotAnIndexError
from longwave.metadata import Condition
from longwave.metadata.arrow import is_list
from longwave.metadata.arrow import need as need_arrow
from longwave.metadata.conditions import AllOf, AnyOf, Compare, Exists, Not, OneOf
from longwave.types import Array

# Rows from which on Lance can make its index, and rows for each of its cells.
_INDEXED, _CELL = 2_000, 1_000
# Cells looked at: at least so many, and this share of all.
_LEAST, _PROBED = 16, 0.35


class Lance:
    """lance:PATH. Tables NAME_1, NAME_2, …; the table NAME_exports says which is the newest complete one."""

    def __init__(self, url: str, name: str, *, exact: bool, write: bool) -> None:
        """Open the database; see `opening.open_engine`."""
        self._lancedb = need("lancedb", "an export to LanceDB", "lancedb")
        self._expr = need("lancedb.expr", "an export to LanceDB", "lancedb")
        self._uri, self._name, self._exact = url.partition(":")[2], name, exact
        if not write and "://" not in self._uri and not Path(self._uri).is_dir():
            raise NotAnIndexError(f"there is no folder {self._uri}; write it with: longwave export INDEX {url}")
        with self._asking():
            self._db = self._lancedb.connect(self._uri)
        self._record: Record | None = None
        self._number = self._draft = 0
        self._table: Any = None
        self._ascending: NDArray[np.int64] | None = None

    @property
    def place(self) -> str:
        """The folder and the name."""
        return f"lance:{self._uri} ({self._name})"

    def _asking(self) -> AbstractContextManager[None]:
        return foreign_errors(self.place, self._told)

    def _told(self, kind: str, text: str) -> str | None:
        if kind in ("NotADirectoryError", "PermissionError", "FileExistsError") or "ermission denied" in text:
            return f"cannot write {self.place}: {text}; choose a folder that may be written"
        if "://" in self._uri and any(
            word in text.lower() for word in ("region", "connect", "timed out", "credential")
        ):
            return f"cannot reach {self.place}: {text}; check the bucket, its region and the keys in the environment"
        return None

    def _tables(self) -> set[str]:
        return set(self._db.list_tables(limit=10_000).tables)

    def _exports(self) -> Any:
        """The table that says which exports there are."""
        name, arrow = f"{self._name}_exports", need_arrow()
        if name in self._tables():
            return self._db.open_table(name)
        kinds = [("number", arrow.int64()), ("complete", arrow.bool_()), ("record", arrow.string())]
        return self._db.create_table(name, schema=arrow.schema(kinds))

    def _listed(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._exports().to_arrow().to_pylist()
        return sorted(rows, key=lambda row: int(row["number"]))

    def _note(self, number: int, record: Record, *, complete: bool) -> None:
        """One row of that table, at once; those of numbers below a complete one go with it."""
        arrow, table = need_arrow(), self._exports()
        row = arrow.table({"number": [number], "complete": [complete], "record": [record.to_json()]})
        table.merge_insert("number").when_matched_update_all().when_not_matched_insert_all().execute(row)

    def record(self) -> Record | None:
        """See `Engine`."""
        with self._asking():
            if f"{self._name}_exports" not in self._tables():
                return None
            complete = [row for row in self._listed() if row["complete"]]
            if not complete:
                return None
            self._number = int(complete[-1]["number"])
            self._record = Record.parse(complete[-1]["record"], self.place)
            self._table = self._db.open_table(f"{self._name}_{self._number}")
            self._ascending = None
        return self._record

    def begin(self, record: Record) -> int:
        """See `Engine`."""
        self._record = record
        with self._asking():
            tables = self._tables()
            try:
                known = self._listed()
            except Exception:  # the table of exports is damaged: none of them can be told from a draft
                self._db.drop_table(f"{self._name}_exports")
                known = self._listed()
            for row in known:
                number, name = int(row["number"]), f"{self._name}_{row['number']}"
                if row["complete"]:
                    continue
                if row["record"] == record.to_json():
                    self._draft = number
                    if name not in tables:
                        return -1
                    self._table = self._db.open_table(name)
                    written = self._table.search().select(["number"]).limit(None).to_arrow()["number"].to_numpy()
                    return int(written.max()) if len(written) else -1
                if name in tables:
                    self._db.drop_table(name)
                self._exports().delete(f"number = {number}")
            self._draft = max([0, *(int(row["number"]) for row in known)]) + 1
            if f"{self._name}_{self._draft}" in tables:  # what no export names
                self._db.drop_table(f"{self._name}_{self._draft}")
            self._note(self._draft, record, complete=False)
        self._table = None
        return -1

    def write(self, batch: Batch) -> None:
        """See `Engine`."""
        with self._asking():
            rows = arrow_batch(batch)
            if self._table is None:
                self._table = self._db.create_table(f"{self._name}_{self._draft}", data=rows)
            else:
                self._table.add(rows)

    def finish(self) -> None:
        """See `Engine`."""
        assert self._record is not None
        with self._asking():
            for column in ("number", "row", "id"):
                self._table.create_index(column, config=self._lancedb.index.BTree(), replace=True)
            if self._record.approximate and self._record.items >= _INDEXED:
                for column in (VECTOR, COORDINATES):
                    cells = max(2, self._record.items // _CELL)
                    config = self._lancedb.index.IvfFlat(distance_type="dot", num_partitions=cells)
                    self._table.create_index(column, config=config, replace=True)
            self._table.optimize()
            self._note(self._draft, self._record, complete=True)
            self._exports().delete(f"number < {self._draft}")
            keep = {f"{self._name}_{self._draft}", f"{self._name}_exports"}
            for name in self._tables() - keep:
                if name.startswith(f"{self._name}_") and name.rpartition("_")[2].isdigit():
                    self._db.drop_table(name)

    def change(self, record: Record, removed: NDArray[np.int64], batches: Iterable[Batch]) -> None:
        """See `Engine`: each step may be done twice; the record comes last."""
        self._record = record
        with self._asking():
            for block in in_blocks(removed, 1000):
                self._table.delete(self._among("number", block))
        for batch in batches:
            with self._asking():
                merge = self._table.merge_insert("number").when_matched_update_all().when_not_matched_insert_all()
                merge.execute(arrow_batch(batch))
        with self._asking():
            self._table.optimize()
            self._note(self._number, record, complete=True)

    def _among(self, column: str, values: Array) -> str:
        own = self._expr.col(column).isin(np.asarray(values).tolist())
        return str(own.to_sql())

    def known(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """See `Engine`."""
        with self._asking():
            found = self._table.search().select(["number", "id", "leader"]).limit(None).to_arrow().sort_by("number")
        ids = np.array(found["id"].to_pylist())
        return found["number"].to_numpy(), ids, np.array(found["leader"].to_pylist(), dtype=bool)

    def search(
        self, column: str, query: NDArray[np.float32], k: int, *, where: Condition | None = None, leaders: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`. Lance's distance is 1 − the inner product."""
        assert self._record is not None
        texts = ([] if where is None else [self._where(where)]) + (["leader"] if leaders else [])
        with self._asking():
            find = self._table.search(query, vector_column_name=column).distance_type("dot")
            if self._exact:
                find = find.bypass_vector_index()
            elif self._record.approximate and self._record.items >= _INDEXED:
                cells = max(2, self._record.items // _CELL)
                find = find.nprobes(min(cells, max(_LEAST, round(_PROBED * cells))))
            if texts:
                find = find.where(" AND ".join(texts), prefilter=True)
            found = find.limit(int(k)).select(["number", "_distance"]).to_arrow()
        numbers = found["number"].to_numpy()
        products = 1 - found["_distance"].to_numpy()
        best = np.lexsort((numbers, -products))
        return numbers[best], products[best].astype(np.float32)

    def _rows(self, column: str, wanted: Array, more: Sequence[str]) -> Any:
        parts = []
        with self._asking():
            for block in in_blocks(np.asarray(wanted), 1000):
                find = self._table.search().where(self._among(column, block)).select(list(more))
                parts.append(find.limit(None).to_arrow())
            if not parts:
                return self._table.search().select(list(more)).limit(0).to_arrow()
        return need_arrow().concat_tables(parts)

    def facts(
        self, *, numbers: Array | None = None, rows: Array | None = None, ids: Array | None = None, waves: bool = False
    ) -> Facts:
        """See `Engine`."""
        column, wanted = asked_by(number=numbers, row=rows, id=ids)
        assert self._record is not None
        names = ("number", "id", *FACTS, *((COORDINATES,) if waves else ()))
        return facts_of(self._rows(column, wanted, names), self._record.text_ids)

    def scored(self, numbers: Array, query: NDArray[np.float32], waves: NDArray[np.float32]) -> Scored:
        """See `Engine`."""
        assert self._record is not None
        found = self._rows("number", numbers, ("number", "id", *FACTS, VECTOR, COORDINATES))
        facts = facts_of(found, self._record.text_ids)
        assert facts.coordinates is not None
        return Scored(facts, matrix(found[VECTOR]) @ query, facts.coordinates @ waves)

    def vectors(self, after: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`. Lance has no order of rows, so the numbers are read once."""
        if self._ascending is None:
            self._ascending = self.known()[0]
        numbers = self._ascending
        wanted = numbers[np.searchsorted(numbers, after, side="right") :][:count]
        found = self._rows("number", wanted, ("number", VECTOR)).sort_by("number")
        return found["number"].to_numpy(), matrix(found[VECTOR])

    def metadata(self, numbers: Array, columns: Sequence[str]) -> Mapping[str, list[Any]]:
        """See `Engine`."""
        found = self._rows("number", numbers, ("number", *columns))
        place = {number: at for at, number in enumerate(found["number"].to_pylist())}
        order = [place[number] for number in np.asarray(numbers).tolist()]
        return {name: [own[at] for at in order] for name, own in ((n, found[n].to_pylist()) for n in columns)}

    def close(self) -> None:
        """See `Engine`."""
        self._table = None

    def _where(self, condition: Condition) -> str:
        """As Lance's SQL. Names and values are written by Lance's own expressions, never by hand."""
        if isinstance(condition, Not):
            return f"(NOT coalesce({self._where(condition.part)}, false))"
        if isinstance(condition, AllOf | AnyOf):
            joint, empty = (" AND ", "true") if isinstance(condition, AllOf) else (" OR ", "false")
            return f"({joint.join(map(self._where, condition.parts)) or empty})"
        assert isinstance(condition, Compare | OneOf | Exists)
        column, lit = self._expr.col(condition.column), self._expr.lit
        if isinstance(condition, Exists):
            return f"({column.to_sql()} IS NOT NULL)"
        if isinstance(condition, Compare):
            value = lit(condition.value)
            signs = {"$lt": column < value, "$lte": column <= value, "$gt": column > value, "$gte": column >= value}
            return str(signs[condition.operator].to_sql())
        if not condition.values:
            return "false"
        if is_list(self._table.schema.field(condition.column).type):
            every = (f"array_has({column.to_sql()}, {lit(value).to_sql()})" for value in condition.values)
            return f"({' OR '.join(every)})"
        return str(column.isin([lit(value) for value in condition.values]).to_sql())
