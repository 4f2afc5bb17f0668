"""How an index was made, and what its searches do unless told otherwise: what its manifest says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Structure:
    """An approximate search that the index holds: its kind as faiss names it, effort, recall of the best k."""

    kind: str
    effort: int
    recall: float
    k: int


@dataclass(frozen=True)
class Stored:
    """Rows kept in fewer bytes: their kind, such as "float16" or "PQ64", and their relative error, measured."""

    kind: str
    error: float


@dataclass(frozen=True)
class Defaults:
    """What `Index.search` does where nothing is said; all but the number as text, which their modules read.

    filter: as `filters.parse` reads it. neighbors: vertices that a query observes. blend: as `blending.parse` reads it.
    """

    filter: str = "lowpass:0.99"
    neighbors: int = 5
    blend: str = "anchor"


@dataclass(frozen=True)
class Settings:
    """How an index was built: what was asked for, what was possible (`k_used`), the lists' measured recall.

    kernel: as `kernels.parse` reads it. balanced: scores are divided by the root of a vertex's degree. fidelity: what
    the basis finds of the exact answer, measured on vertices of the collection (`advice.fidelity`); None if it was not.
    """

    k: int
    k_used: int
    recall: float | None
    kernel: str
    balanced: bool
    spectrum: str
    rank: int | None
    components: str
    min_rank: int
    pooling: str
    sparsity: float | None
    seed: int
    fidelity: float | None = None
    first: Structure | None = None
    second: tuple[Structure | None, ...] | None = None
    rows: str | None = None
    vectors_as: Stored | None = None
    basis_as: Stored | None = None
    search: Defaults = Defaults()

    @classmethod
    def parse(cls, entries: Mapping[str, Any]) -> Settings:
        """From the manifest. Raises TypeError or ValueError where it does not fit."""
        values = dict(entries)
        if values.get("second") is not None:
            values["second"] = tuple(None if entry is None else Structure(**entry) for entry in values["second"])
        parts = {"first": Structure, "vectors_as": Stored, "basis_as": Stored, "search": Defaults}
        for name, kind in parts.items():
            if values.get(name) is not None:
                values[name] = kind(**values[name])
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})
