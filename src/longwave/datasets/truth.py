"""Ground truth as it is made from official files: checked, then frozen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from longwave.datasets.benchmark import check_known
from longwave.errors import InputError
from longwave.evaluation.truth import GroundTruth as GroundTruth
from longwave.evaluation.truth import Judged


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
