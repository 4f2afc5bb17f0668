"""`Record`: what an engine keeps beside the rows, so that a client can search them without the index."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from longwave.engines.foreign import AGAIN
from longwave.errors import CorruptIndexError, NewerIndexError

#: Of the rows and of this record. A client reads its own and earlier ones.
FORMAT = 1


@dataclass(frozen=True)
class Record:
    """One complete export.

    fingerprint: of the graph and the basis; rows of another one cannot stand beside these. version: of the collection,
    None for an index that belongs to none. items: rows. outside: how many of them were added after the graph was built.
    copies: whether some share a vector. rank: numbers in a row of Ū. eigenvalues: Λ. next_eigenvalue: the largest left
    out. filter, neighbors, blend, kernel: what searches do by default, as text. columns: name of each metadata column
    in the engine. schema: of the metadata, as Arrow writes it, base64; None without. approximate: whether the engine's
    own index of vectors was made.
    """

    fingerprint: str
    version: int | None
    items: int
    outside: int
    copies: bool
    text_ids: bool
    dimension: int
    rank: int
    n_vertices: int
    eigenvalues: list[float]
    next_eigenvalue: float | None
    filter: str
    neighbors: int
    blend: str
    kernel: str
    balanced: bool
    columns: dict[str, str]
    schema: str | None
    approximate: bool
    format: int = FORMAT

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str, place: str) -> Record:
        """From text. place: of the export, for messages."""
        try:
            known: dict[str, Any] = json.loads(text)
            written = int(known["format"])
            if written > FORMAT:
                raise NewerIndexError(
                    f"{place} was written by a later version of Longwave (format {written}, this one reads {FORMAT}); "
                    f"upgrade Longwave here, or {AGAIN}, from here"
                )
            return cls(**{own.name: known[own.name] for own in fields(cls)})
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptIndexError(f"the record of {place} cannot be read ({error!r:.100}); {AGAIN}") from error

    def arrow_schema(self) -> Any:
        """The metadata's columns and types; None without metadata."""
        from longwave.metadata.arrow import need

        if self.schema is None:
            return None
        return need("pyarrow.ipc").read_schema(need().py_buffer(base64.b64decode(self.schema)))


def schema_text(schema: Any) -> str:
    """A schema of Arrow as text."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()
