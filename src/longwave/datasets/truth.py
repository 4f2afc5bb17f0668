"""Ground truth as a value, whatever official file it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from longwave.datasets.benchmark import check_known
from longwave.errors import InputError
from longwave.evaluation import Graded, Judgement

Judged = TypeVar("Judged", Judgement, Graded)


@dataclass(frozen=True)
class GroundTruth(Generic[Judged]):
    """images: names, one for each row of the descriptors. queries: names. judgements: of each query, by row number.

    boxes: of each query, in pixels of its image (left, top, right, bottom), where the file has them.
    """

    images: Sequence[str]
    queries: Sequence[str]
    judgements: Sequence[Judged]
    boxes: Sequence[tuple[float, ...]] | None = None

    @property
    def left_out(self) -> int:
        """Queries without a positive: no measure is defined for them, and evaluation leaves them out."""
        return sum(not positives(judged) for judged in self.judgements)


def positives(judged: Judgement | Graded) -> list[int]:
    """All that is right for a query, easy or hard."""
    return list(judged.positive) if isinstance(judged, Judgement) else [*judged.easy, *judged.hard]


def made(
    where: str,
    images: Iterable[str],
    queries: Iterable[str],
    judgements: Iterable[Judged],
    boxes: Sequence[tuple[float, ...]] | None = None,
) -> GroundTruth[Judged]:
    """Check and freeze: no image twice, as many judgements as queries, nothing unknown named."""
    names: tuple[tuple[Any, ...], ...] = tuple(images), tuple(queries)
    other = [name for part in names for name in part if not isinstance(name, str)]
    if other:
        raise InputError(f"{where}: images and queries must be named by text, got {str(other[0])[:40]!r}")
    truth = GroundTruth(names[0], names[1], tuple(judgements), boxes)
    numbers(truth.images, where)
    if len(truth.queries) != len(truth.judgements):
        raise InputError(f"{where}: {len(truth.queries)} queries but judgements for {len(truth.judgements)}")
    check_known(truth.judgements, len(truth.images), where)
    return truth


def numbers(images: Sequence[str], where: str) -> dict[str, int]:
    """The row of every image; an image that is listed twice has none."""
    rows = {name: row for row, name in enumerate(images)}
    if len(rows) < len(images):
        twice = next(name for row, name in enumerate(images) if rows[name] != row)
        raise InputError(f"{where}: image {twice!r} is listed more than once; name every image once")
    return rows
