"""Known answers in any form that people have them, as one judgement for each query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from longwave.errors import InputError, plural
from longwave.evaluation.average_precision import Judgement, label_judgements
from longwave.evaluation.revisited import Graded
from longwave.evaluation.truth_file import judgements_from_file
from longwave.files.names import Names
from longwave.types import Array

Judged = TypeVar("Judged", Judgement, Graded)


@dataclass(frozen=True)
class GroundTruth(Generic[Judged]):
    """What the readers of official files return.

    images: names, one for each row of the descriptors. queries: names. judgements: of each query, by row number. boxes:
    of each query, in pixels of its image (left, top, right, bottom), where the file has them.
    """

    images: Sequence[str]
    queries: Sequence[str]
    judgements: Sequence[Judged]
    boxes: Sequence[tuple[float, ...]] | None = None

    @property
    def left_out(self) -> int:
        """Queries without a positive: no measure is defined for them, and evaluation leaves them out."""
        return sum(not positives(judged) for judged in self.judgements)


@dataclass(frozen=True, eq=False)
class Labels:
    """Right is what has the label of the query. items: (N,) in the order of `index.ids`. queries: (Q,)."""

    items: ArrayLike
    queries: ArrayLike


#: What `evaluate` takes as known answers; see `judgements_from`.
Truth: TypeAlias = str | Path | GroundTruth[Any] | Labels | Mapping[Any, Any] | Sequence[Any]


def positives(judged: Judgement | Graded) -> list[Any]:
    """All that is right for a query, easy or hard."""
    return list(judged.positive) if isinstance(judged, Judgement) else [*judged.easy, *judged.hard]


def judgements_from(
    truth: Truth, ids: Array, *, names: Sequence[Any] | None = None, count: int | None = None, setup: str = "medium"
) -> list[Judgement]:
    """One judgement for each query, by ids of the index.

    truth:

    - a path: a truth file, {"queries": [{"positive": […], "junk": […]}, …]} or [[3, 17], [5]] in JSON, or a qrels file
      of TREC, which finds queries by `names`, or by their numbers;
    - `GroundTruth`, as the readers of `longwave.datasets` return it;
    - `Labels`: right is what has the same label;
    - a mapping from each query, by number or by one of `names`, to its answer; queries without an entry have none;
    - a sequence with the answer of each query.

    An answer is a `Judgement`, a `Graded`, a collection of the right ids, a mapping from id to grade (0 for wrong), or
    {"positive": ids, "junk": ids}. ids: (N,) of the index. count: how many queries there are, where a mapping does not
    name all of them. setup: of `Graded` answers, easy, medium or hard.
    """
    if isinstance(truth, str | Path):
        return judgements_from_file(truth, ids, names=names, count=count)
    if isinstance(truth, GroundTruth):
        return _by_images(truth, ids, setup)
    if isinstance(truth, Labels):
        items, queries = np.asarray(truth.items), np.asarray(truth.queries)
        if len(items) != len(ids):
            raise InputError(f"there must be a label for each item of the index, {len(ids)}, got {len(items)}")
        return label_judgements(queries.tolist(), items, ids)
    known = set(ids.tolist())
    if isinstance(truth, Mapping):
        answers = _in_order(truth, names, count)
    elif isinstance(truth, Sequence):
        answers = list(truth)
    else:
        raise InputError(
            f"truth must be a path, ground truth, labels, or the right ids of each query, got {type(truth).__name__}"
        )
    return [_checked(_judgement(answer, setup), known, number) for number, answer in enumerate(answers)]


def _by_images(truth: GroundTruth[Any], ids: Array, setup: str) -> list[Judgement]:
    """Row numbers of the images as ids: by name where the index has names, by place where it has numbers."""
    if ids.dtype.kind == "U":
        paths = Names(ids.tolist())
        found = [paths.find(str(name)) for name in truth.images]
        if not any(name is not None for name in found):
            raise InputError(
                f"the index has none of the {len(found):,} images of the ground truth; its ids look like "
                f"{ids[0].item()!r}, those of the truth like {truth.images[0]!r}"
            )
    elif len(ids) < len(truth.images):
        raise InputError(
            f"the ground truth is of {len(truth.images):,} images but the index has {plural(len(ids), 'item')}; build "
            "it with their names as ids, or of all of them"
        )
    else:
        found = ids[: len(truth.images)].tolist()
    made = [_judgement(answer, setup) for answer in truth.judgements]
    return [
        Judgement(*([found[i] for i in part if found[i] is not None] for part in (judged.positive, judged.junk)))
        for judged in made
    ]


def _in_order(truth: Mapping[Any, Any], names: Sequence[Any] | None, count: int | None) -> list[Any]:
    """The answers of a mapping, in the order of the queries."""
    queries: list[Any] = list(range(len(truth) if count is None else count) if names is None else names)
    known = set(queries)
    unknown = [key for key in truth if key not in known]
    if unknown:
        what = f"they are 0 … {len(queries) - 1}" if names is None else f"they are called {queries[0]!r} and so on"
        raise InputError(f"truth names query {unknown[0]!r}, but there is no such query; {what}")
    return [truth.get(query, ()) for query in queries]


def _judgement(answer: Any, setup: str) -> Judgement:
    if isinstance(answer, Judgement):
        return answer
    if isinstance(answer, Graded):
        return answer.setup(setup)
    if isinstance(answer, Mapping):
        if "positive" in answer and not isinstance(answer["positive"], int | float):
            return Judgement(list(answer["positive"]), list(answer.get("junk", ())))
        wrong = [grade for grade in answer.values() if not (isinstance(grade, int | float) and grade >= 0)]
        if wrong:
            raise InputError(f"grades must be numbers of at least 0, got {wrong[0]!r}")
        grades = {_plain(item): float(grade) for item, grade in answer.items() if grade > 0}
        return Judgement(list(grades), grades=grades)
    if isinstance(answer, str) or not isinstance(answer, Collection | np.ndarray):
        raise InputError(f"the answer of a query is a collection of ids, got {answer!r}")
    return Judgement([_plain(item) for item in answer])


def _checked(judged: Judgement, known: set[Any], number: int) -> Judgement:
    wrong = [item for part in (judged.positive, judged.junk) for item in part if item not in known]
    if wrong:
        raise InputError(f"query {number} names item {wrong[0]!r}, which the index does not have")
    return judged


def _plain(item: Any) -> Any:
    """A numpy number as a Python number."""
    return item.item() if isinstance(item, np.generic) else item
