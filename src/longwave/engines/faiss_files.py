"""A folder with two plain faiss indexes and the columns beside them: for programs that embed faiss themselves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import COORDINATES, FACTS, VECTOR, Batch, Facts, Scored, asked_by
from longwave.engines.foreign import AGAIN
from longwave.engines.record import Record
from longwave.errors import CorruptIndexError, FileError, InputError, NotAnIndexError, writing
from longwave.metadata import Condition
from longwave.metadata.arrow import need as need_arrow
from longwave.types import Array

# Links of a row in the graphs that faiss makes, what it looks at for each, and for a query at least.
_LINKS, _BUILD, _LEAST = 32, 128, 200
_PLAIN = tuple(name for name in FACTS if not name.startswith("psi"))


class FaissFiles:
    """faiss:PATH. PATH/NAME/1, 2, … are exports; the file PATH/NAME/current says which is the newest complete one.

    In an export: vector.faiss and coordinates.faiss, whose rows are in the order of number.npy and id.npy.
    """

    def __init__(self, url: str, name: str, *, exact: bool, write: bool) -> None:
        """Look at the folder; see `opening.open_engine`."""
        self._faiss: Any = import_module("faiss")
        self._folder, self._exact = Path(url.partition(":")[2]) / name, exact
        if not write and not self._folder.is_dir():
            raise NotAnIndexError(f"there is no folder {self._folder}; write it with: longwave export INDEX {url}")
        self._at, self._draft = self._folder, self._folder
        self._record: Record | None = None

    @property
    def place(self) -> str:
        """The folder."""
        return f"faiss:{self._folder}"

    def record(self) -> Record | None:
        """See `Engine`."""
        number = self._current()
        if number is None:
            return None
        self._at = self._folder / str(number)
        for name in ("_loaded", "_table"):
            vars(self).pop(name, None)
        try:
            text = (self._at / "record.json").read_text("utf-8")
        except OSError as error:
            raise CorruptIndexError(f"{self._at} is not whole: {error}; {AGAIN}") from error
        self._record = Record.parse(text, self.place)
        return self._record

    def _current(self) -> int | None:
        """The number of the newest complete export; None where there is none."""
        try:
            text = _text(self._folder / "current")
            return None if text is None else int(text)
        except ValueError as error:  # also of what is not UTF-8
            raise CorruptIndexError(f"{self._folder / 'current'} does not name an export; {AGAIN}") from error

    def begin(self, record: Record) -> int:
        """See `Engine`."""
        numbers = [int(path.name) for path in self._folder.glob("[0-9]*") if path.name.isdigit()]
        try:
            complete = self._current() or 0
        except CorruptIndexError:
            complete = 0
        self._record, done = record, -1
        for number in sorted(numbers):
            path = self._folder / str(number)
            same = _text(path / "record.json") == record.to_json()
            if number > complete and same and (path / "part").is_dir():
                self._draft = path
                return max((int(part.stem) for part in path.glob("part/*.npz")), default=done)
            if number != complete:
                shutil.rmtree(path)
        self._draft = self._folder / str(max([*numbers, complete]) + 1)
        with writing(self._draft):
            (self._draft / "part").mkdir(parents=True)
            (self._draft / "record.json").write_text(record.to_json(), "utf-8")
        return done

    def write(self, batch: Batch) -> None:
        """See `Engine`: a file for each batch, called by its last number."""
        known = {name: own for name, own in batch.columns().items() if not name.startswith("psi")}
        psi = json.dumps([batch.facts.psi_rows, batch.facts.psi_weights])
        last = int(batch.facts.numbers[-1])
        part = self._draft / "part"
        with writing(part):
            if batch.metadata is not None:
                need_arrow("pyarrow.parquet").write_table(batch.metadata, part / f"{last}.parquet")
            assert batch.facts.coordinates is not None
            arrays = {**known, VECTOR: batch.vectors, COORDINATES: batch.facts.coordinates, "psi": np.array(psi)}
            with (part / f"{last}.writing").open("wb") as file:
                np.savez(file, **arrays)
            (part / f"{last}.writing").rename(part / f"{last}.npz")

    def finish(self) -> None:
        """See `Engine`."""
        part = self._draft / "part"
        files = sorted(part.glob("*.npz"), key=lambda path: int(path.stem))
        with ExitStack() as held, writing(self._draft):
            try:
                parts: list[Any] = [np.load(held.enter_context(path.open("rb"))) for path in files]
            except (ValueError, BadZipFile) as error:
                shutil.rmtree(self._draft)
                raise CorruptIndexError(f"{part} is not whole: {error!s:.200}; export again") from error
            for name in ("number", "id", "leader", *_PLAIN):
                np.save(self._draft / f"{name}.npy", np.concatenate([own[name] for own in parts]))
            psi = [json.loads(str(own["psi"])) for own in parts]
            whole = [[row for own in psi for row in own[side]] for side in (0, 1)]
            (self._draft / "psi.json").write_text(json.dumps(whole), "utf-8")
            for column in (VECTOR, COORDINATES):
                self._index(column, parts)
            if any(part.glob("*.parquet")):
                parquet, arrow = need_arrow("pyarrow.parquet"), need_arrow()
                tables = [parquet.read_table(path.with_suffix(".parquet")) for path in files]
                parquet.write_table(arrow.concat_tables(tables), self._draft / "metadata.parquet")
            (self._folder / "current.writing").write_text(self._draft.name, "utf-8")
            (self._folder / "current.writing").replace(self._folder / "current")
        shutil.rmtree(part)
        for path in self._folder.glob("[0-9]*"):
            if path.name != self._draft.name:
                shutil.rmtree(path)

    def _index(self, column: str, parts: list[Any]) -> None:
        assert self._record is not None
        width = parts[0][column].shape[1]
        if self._record.approximate:
            index = self._faiss.IndexHNSWFlat(width, _LINKS, self._faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = _BUILD
        else:
            index = self._faiss.IndexFlatIP(width)
        for own in parts:
            index.add(np.ascontiguousarray(own[column], dtype=np.float32))
        try:
            self._faiss.write_index(index, str(self._draft / f"{column}.faiss"))
        except RuntimeError as error:  # faiss has no other
            raise FileError(f"cannot write {self._draft}: {error!s:.200}; is the disk full? export again") from error

    def change(self, record: Record, removed: NDArray[np.int64], batches: Iterable[Batch]) -> None:
        """See `Engine`. Files of faiss are not changed in place: kept rows and new ones make another export."""
        known, leader = self._loaded, self._loaded["leader"]
        changed = list(batches)
        out = np.concatenate([removed, *(batch.facts.numbers for batch in changed)])
        kept = np.flatnonzero(~np.isin(known["number"], out))
        table = self._table
        if len(kept):
            own = self._facts(kept, waves=True)
            rows = None if table is None else table.take(kept)
            changed.append(Batch(own, self._rows(VECTOR, kept), leader[kept], rows))
        for path in self._folder.glob("[0-9]*"):  # what was broken off
            if path.name != self._at.name:
                shutil.rmtree(path)
        self.begin(record)
        for batch in _by_number(changed):
            self.write(batch)
        self.finish()

    @cached_property
    def _loaded(self) -> dict[str, Any]:
        try:
            arrays = {name: np.load(self._at / f"{name}.npy") for name in ("number", "id", "leader", *_PLAIN)}
            rows, weights = json.loads((self._at / "psi.json").read_text("utf-8"))
            indexes = {
                column: self._faiss.read_index(str(self._at / f"{column}.faiss")) for column in (VECTOR, COORDINATES)
            }
        except (OSError, ValueError, RuntimeError) as error:
            raise CorruptIndexError(f"{self._at} is not whole: {error!s:.200}; {AGAIN}") from error
        lengths = {len(own) for own in (*arrays.values(), rows, weights)} | {own.ntotal for own in indexes.values()}
        if len(lengths) > 1:
            raise CorruptIndexError(f"{self._at} is not whole: its files have {sorted(lengths)} rows; {AGAIN}")
        return {**arrays, "psi_rows": rows, "psi_weights": weights, **indexes}

    @cached_property
    def _table(self) -> Any:
        path = self._at / "metadata.parquet"
        if self._record is None or self._record.schema is None:
            return None
        try:
            return need_arrow("pyarrow.parquet").read_table(path)
        except (OSError, need_arrow().ArrowException) as error:
            raise CorruptIndexError(f"{self._at} is not whole: {error!s:.200}; {AGAIN}") from error

    def _rows(self, column: str, places: NDArray[np.int64]) -> NDArray[np.float32]:
        index = self._loaded[column]
        storage = self._faiss.downcast_index(index.storage) if hasattr(index, "storage") else index
        flat = self._faiss.rev_swig_ptr(storage.get_xb(), storage.ntotal * storage.d)
        return np.array(flat.reshape(storage.ntotal, storage.d)[places])

    def known(self) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """See `Engine`."""
        return self._loaded["number"], self._loaded["id"], self._loaded["leader"]

    def search(
        self, column: str, query: NDArray[np.float32], k: int, *, where: Condition | None = None, leaders: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        index, mask = self._loaded[column], None
        if where is not None:
            mask = where.mask(self._table)
        if leaders:
            mask = self._loaded["leader"] if mask is None else mask & self._loaded["leader"]
        chosen = None if mask is None else np.flatnonzero(mask)
        selector = None if chosen is None else self._faiss.IDSelectorBatch(chosen)
        scan = self._exact or not hasattr(index, "hnsw") or mask is not None  # links lead through what is not allowed
        if scan:
            flat = self._faiss.downcast_index(index.storage) if hasattr(index, "storage") else index
            found = flat.search(query[None], k, params=self._faiss.SearchParameters(sel=selector))
        else:
            effort = self._faiss.SearchParametersHNSW(efSearch=max(_LEAST, 2 * k))
            found = index.search(query[None], k, params=effort)
        products, places = found[0][0], found[1][0]
        kept = places >= 0
        numbers = self._loaded["number"][places[kept]]
        best = np.lexsort((numbers, -products[kept]))
        return numbers[best], products[kept][best]

    def facts(
        self, *, numbers: Array | None = None, rows: Array | None = None, ids: Array | None = None, waves: bool = False
    ) -> Facts:
        """See `Engine`."""
        column, wanted = asked_by(number=numbers, row=rows, id=ids)
        return self._facts(np.flatnonzero(np.isin(self._loaded[column], wanted)), waves=waves)

    def _facts(self, places: NDArray[np.int64], *, waves: bool) -> Facts:
        known = self._loaded
        plain = {name: known[name][places] for name in _PLAIN}
        psi: dict[str, Any] = {name: [known[name][at] for at in places] for name in ("psi_rows", "psi_weights")}
        coordinates = self._rows(COORDINATES, places) if waves else None
        return Facts(numbers=known["number"][places], ids=known["id"][places], coordinates=coordinates, **plain, **psi)

    def scored(self, numbers: Array, query: NDArray[np.float32], waves: NDArray[np.float32]) -> Scored:
        """See `Engine`."""
        places = np.searchsorted(self._loaded["number"], np.sort(numbers))
        similar, products = self._rows(VECTOR, places) @ query, self._rows(COORDINATES, places) @ waves
        return Scored(self._facts(places, waves=False), similar, products)

    def vectors(self, after: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """See `Engine`."""
        start = int(np.searchsorted(self._loaded["number"], after, side="right"))
        places = np.arange(start, min(start + count, len(self._loaded["number"])))
        return self._loaded["number"][places], self._rows(VECTOR, places)

    def metadata(self, numbers: Array, columns: Sequence[str]) -> Mapping[str, list[Any]]:
        """See `Engine`."""
        if self._table is None:
            raise InputError(f"{self.place} has no metadata; give it to the index and export again")
        places = need_arrow().array(np.searchsorted(self._loaded["number"], numbers))
        return {name: self._table.column(name).take(places).to_pylist() for name in columns}

    def close(self) -> None:
        """See `Engine`: nothing is open."""


def _text(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def _by_number(batches: list[Batch]) -> list[Batch]:
    """All rows as one batch, ascending."""
    facts = {name: [own for batch in batches for own in getattr(batch.facts, name)] for name in vars(batches[0].facts)}
    order = np.argsort(facts["numbers"])
    moved: dict[str, Any] = {
        name: [own[place] for place in order] if name.startswith("psi") else np.array(own)[order]
        for name, own in facts.items()
    }
    vectors = np.concatenate([batch.vectors for batch in batches])[order]
    leader = np.concatenate([batch.leader for batch in batches])[order]
    tables = [batch.metadata for batch in batches if batch.metadata is not None]
    table = need_arrow().concat_tables([t.cast(tables[0].schema) for t in tables]).take(order) if tables else None
    return [Batch(Facts(**moved), vectors, leader, table)]
