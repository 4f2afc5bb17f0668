"""How texts were encoded: a question must be treated as the collection was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.rows.vectors import normalize
from longwave.texts.encoders import TextEncoder

#: The entry of `index.about` that tells of texts.
KEY = "texts"
# What an encoder is tried with, numbers kept of its answer, and the cosine of two answers of the same encoder at least.
_PROBE, _ANSWER, _ALIKE = "A sentence about the sea, and another one about hills.", 32, 0.995


@dataclass(frozen=True)
class Recipe:
    """Texts can be compared if they were treated alike.

    encoder: its name, path or address. Where it lies does not matter; what it does, does: weights (a checksum), answer
    (its output for a fixed sentence), dimension. words: of a passage at most; a question is not cut.
    """

    encoder: str
    weights: str
    dimension: int
    answer: tuple[float, ...]
    words: int

    @classmethod
    def of(cls, encoder: TextEncoder, *, words: int) -> Recipe:
        """With this encoder, which is tried once."""
        found = np.asarray(encoder([_PROBE]), dtype=np.float32)
        start = normalize(found[:, :_ANSWER])[0]
        return cls(encoder.name, encoder.weights, found.shape[1], tuple(round(float(x), 6) for x in start), words)

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_about(cls, about: Mapping[str, Any]) -> Recipe:
        """From `index.about`."""
        if KEY not in about:
            raise InputError(
                "this index does not know how texts are encoded; build it with --texts F, or search with vectors"
            )
        facts = about[KEY]["recipe"]
        try:
            known = {field.name: facts[field.name] for field in fields(cls)}
            return cls(**{**known, "answer": tuple(known["answer"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"this index of texts lacks {error} of its recipe; build it again") from error

    def check_same(self, other: Recipe) -> None:
        """Raise unless vectors of both can be compared; the message names what differs."""
        differ = [
            f"{name} {getattr(other, name)!r} instead of {getattr(self, name)!r}"
            for name in ("dimension", "weights")
            if getattr(self, name) != getattr(other, name)
        ]
        if self.dimension == other.dimension and self.answer != other.answer:
            alike = float(np.dot(self.answer, other.answer))
            if alike < _ALIKE:
                differ.append(f"an answer to the same sentence of cosine {alike:.2f}")
        if differ:
            raise InputError(
                f"the encoder {other.encoder} is not the one that the index was built with, {self.encoder}: "
                f"{'; '.join(differ)}"
            )
