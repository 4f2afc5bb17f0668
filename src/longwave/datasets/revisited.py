"""ROxford and RParis: `gnd_roxford5k.pkl`, `gnd_rparis6k.pkl` and the feature files of revisitop."""

from __future__ import annotations

from os import PathLike
from typing import Any

from longwave.datasets.truth import GroundTruth, made
from longwave.errors import FileError
from longwave.evaluation import Graded
from longwave.files.plain_pickle import read_plain_pickle
from longwave.files.vectors import read_vectors
from longwave.types import Array


def read_revisited(path: str | PathLike[str]) -> GroundTruth[Graded]:
    """Easy, hard and junk images of every query. The pickle is read as plain data; nothing in it is run."""
    content = read_plain_pickle(path)
    try:
        images, queries, entries = content["imlist"], content["qimlist"], content["gnd"]
        graded = [Graded(*([int(i) for i in entry[name]] for name in ("easy", "hard", "junk"))) for entry in entries]
        boxes = tuple(tuple(float(side) for side in entry["bbx"]) for entry in entries)
        images, queries = tuple(images), tuple(queries)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise FileError(
            f"{path} is not ground truth of the revisited sets ({type(error).__name__}: {str(error)[:60]}): expected "
            f"imlist, qimlist and gnd with easy, hard, junk and bbx, found {_keys(content)}"
        ) from error
    return made(str(path), images, queries, graded, boxes)


def read_revisitop_features(path: str | PathLike[str]) -> tuple[Array, Array]:
    """Images and queries, (n, d) and (q, d), of a revisitop `.mat`, whose columns are the vectors X and Q."""
    return read_vectors(path, name="X").T, read_vectors(path, name="Q").T


def _keys(content: Any) -> str:
    return ", ".join(map(str, content))[:200] if isinstance(content, dict) else type(content).__name__
