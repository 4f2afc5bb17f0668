"""How pictures were described: what a query must have in common with the collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from longwave.checks import check_counts
from longwave.descriptors.encoders import Encoder, Scale
from longwave.descriptors.regions import check_pool
from longwave.errors import InputError


@dataclass(frozen=True)
class Recipe:
    """Everything that makes a descriptor. encoder: where it was found; weights: its checksum, which is what counts.

    size: longest side. pool, scales: of regions. regions: kept apart, or summed to one vector. reduce: regions per
    picture of the collection at most; queries keep all of theirs. whitening: its checksum, or none.
    """

    encoder: str
    weights: str
    mean: Scale
    std: Scale
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
    def of(cls, encoder: Encoder, **choices: Any) -> Recipe:
        """With this encoder."""
        return cls(encoder.name, encoder.weights, encoder.mean, encoder.std, **choices)

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Recipe:
        """From `facts`."""
        try:
            known = {field.name: facts[field.name] for field in fields(cls)}
            for name in ("mean", "std"):
                known[name] = tuple(known[name]) if isinstance(known[name], list) else known[name]
            return cls(**known)
        except (KeyError, TypeError) as error:
            raise InputError(f"this recipe of description is not complete: {error} is missing") from error

    def check_same(self, other: Recipe, *, what: str = "the query") -> None:
        """Raise unless vectors of both can be compared; the message names what differs."""
        named = {f.name for f in fields(self)} - {"encoder", "reduce"}
        differ = [
            f"{name} {getattr(other, name)!r} instead of {getattr(self, name)!r}"
            for name in sorted(named)
            if getattr(self, name) != getattr(other, name)
        ]
        if differ:
            raise InputError(f"{what} was described otherwise than the index: {'; '.join(differ)}; describe both alike")
