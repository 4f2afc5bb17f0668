"""How pictures were described: a query must be treated as the collection was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from longwave.checks import check_counts
from longwave.errors import InputError
from longwave.pictures.encoders import Encoder, Scale, answer_of
from longwave.pictures.regions import check_pool

# Cosine of two answers. For one encoder by torch and by onnxruntime it is 0.9999; with its weights quantised to 8 bits
# 0.73.
_ALIKE = 0.995


@dataclass(frozen=True)
class Treatment:
    """All that is done to a picture to make its vectors. Pictures can be compared if they were treated alike.

    - encoder: the name or path of the network. Where it lies does not matter; what it does, does: weights (a checksum),
      answer (its output for a fixed picture), channels, mean and std (the pixels it takes).
    - size: longest side in pixels. pool, scales: how regions are made. regions: kept apart, or summed to one vector.
    - reduce: the most regions of a picture of the collection; queries keep all of theirs.
    - whitening: its checksum, or "none". dimensions: of the vectors.
    """

    encoder: str
    weights: str
    mean: Scale
    std: Scale
    channels: int
    answer: tuple[float, ...]
    size: int = 512
    pool: str = "max"
    scales: int = 3
    regions: bool = False
    reduce: int | None = None
    whitening: str = "none"
    dimensions: int = 0

    def __post_init__(self) -> None:
        check_counts(size=self.size)
        check_pool(self.pool)
        if self.size < 64:
            raise InputError(f"size must be at least 64 pixels, got {self.size}")
        if not 0 <= self.scales <= 6:
            raise InputError(f"scales must be a whole number from 0 to 6, got {self.scales!r}")
        if self.reduce is not None:
            check_counts(reduce=self.reduce)
            if not self.regions:
                raise InputError("reduce is for regions; add regions=True (--regions), or leave it out")

    @classmethod
    def of(cls, encoder: Encoder, **choices: Any) -> Treatment:
        """With this encoder, which is tried once."""
        mean, std = (_plain(scale) for scale in (encoder.mean, encoder.std))
        return cls(encoder.name, encoder.weights, mean, std, *answer_of(encoder), **choices)

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Treatment:
        """From `facts`."""
        try:
            known = {field.name: facts[field.name] for field in fields(cls)}
            known |= {name: _plain(known[name]) for name in ("mean", "std")}
            return cls(**{**known, "answer": tuple(known["answer"])})
        except (KeyError, TypeError) as error:
            raise InputError(
                f"this description of pictures is not complete: {error} is missing; "
                "another version of Longwave made it: describe the pictures again"
            ) from error

    def check_same(self, other: Treatment, *, what: str = "the query") -> None:
        """Raise unless vectors of both can be compared; the message names what differs."""
        named = {f.name for f in fields(self)} - {"encoder", "reduce", "answer"}
        differ = [
            f"{name} {getattr(other, name)!r} instead of {getattr(self, name)!r}"
            for name in sorted(named)
            if getattr(self, name) != getattr(other, name)
        ]
        alike = 1.0 if self.answer == other.answer else float(np.dot(self.answer, other.answer))
        if alike < _ALIKE:
            differ.append(f"an encoder whose answer to the same picture has the cosine {alike:.2f}")
        if differ:
            raise InputError(
                f"{what} was described in another way than the index: {'; '.join(differ)}; describe both alike"
            )


def _plain(scale: Any) -> Scale:
    """One number, or three in a tuple, however they were given."""
    values = tuple(float(value) for value in np.ravel(scale))
    return values[0] if len(values) == 1 else (values[0], values[1], values[2])
