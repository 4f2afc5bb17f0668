"""Batches of rows as tables of Arrow, and back, for the engines that take Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.engines.engine import COORDINATES, VECTOR, Batch, Facts
from longwave.metadata.arrow import is_list, need


def arrow_batch(batch: Batch) -> Any:
    """One table: facts, both searched columns as lists of a fixed size, metadata."""
    arrow = need()
    known = batch.columns()
    fixed = {"psi_rows": arrow.list_(arrow.int64()), "psi_weights": arrow.list_(arrow.float32())}
    columns = {name: arrow.array(own, type=fixed.get(name)) for name, own in known.items()}
    assert batch.facts.coordinates is not None
    for name, values in ((VECTOR, batch.vectors), (COORDINATES, batch.facts.coordinates)):
        flat = arrow.array(np.ascontiguousarray(values, dtype=np.float32).ravel())
        columns[name] = arrow.FixedSizeListArray.from_arrays(flat, values.shape[1])
    table = arrow.table(columns)
    if batch.metadata is None:
        return table
    for name in batch.metadata.column_names:
        own = batch.metadata.column(name)
        kind = own.type
        if need("pyarrow.types").is_dictionary(kind):
            own = own.cast(kind.value_type)
        elif need("pyarrow.types").is_integer(kind):
            own = own.cast(arrow.int64())
        elif is_list(kind) and need("pyarrow.types").is_integer(kind.value_type):
            own = own.cast(arrow.list_(arrow.int64()))
        elif need("pyarrow.types").is_null(kind):
            own = own.cast(arrow.string())
        table = table.append_column(name, own)
    return table


def facts_of(table: Any, text_ids: bool) -> Facts:
    """From a table with the names of `Facts`, with or without coordinates."""
    kinds: dict[str, Any] = {
        "row": np.int64, "gain": np.float32, "scale": np.float32, "reach": np.float32, "norm": np.float32,
        "kind": np.uint8, "component": np.int64,
    }  # fmt: skip
    plain: dict[str, Any] = {name: table[name].to_numpy().astype(kind) for name, kind in kinds.items()}
    psi: dict[str, Any] = {name: [own or [] for own in table[name].to_pylist()] for name in ("psi_rows", "psi_weights")}
    ids = np.array(table["id"].to_pylist(), dtype=str if text_ids else np.int64)
    coordinates = None
    if COORDINATES in table.column_names:
        coordinates = matrix(table[COORDINATES])
    numbers = table["number"].to_numpy().astype(np.int64)
    return Facts(numbers=numbers, ids=ids, coordinates=coordinates, **plain, **psi)


def matrix(column: Any) -> NDArray[np.float32]:
    """A column of lists of one size as rows. (c, d)"""
    width = column.type.list_size
    parts = [np.asarray(chunk.flatten(), dtype=np.float32).reshape(-1, width) for chunk in column.chunks]
    return np.concatenate([np.zeros((0, width), dtype=np.float32), *parts])
