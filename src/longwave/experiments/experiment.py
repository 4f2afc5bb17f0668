"""What an experiment is: a function from a session to plain data, and what is drawn and claimed from it alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from longwave.datasets.shared import lacking
from longwave.index import Index

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Plain data, as JSON holds it.
Data: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """A claim of the paper, the figures measured for it, and whether they bear it out.

    fitted: only with a constant that was chosen on the same queries, which the paper does not give.
    """

    claim: str
    measured: str
    reproduced: bool
    fitted: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text or numbers; `note` says what to think of them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


@dataclass(frozen=True, eq=False)
class Session:
    """What an experiment is given, and where it leaves its times.

    quick: small sets and low ranks. data: the data folder, None for the usual place. times: seconds or milliseconds by
    name, apart from the results, which must not depend on the machine. kept: indexes that the next experiment may use.
    """

    quick: bool = False
    seed: int = 0
    data: Path | None = None
    times: dict[str, float] = field(default_factory=dict)
    kept: dict[str, Index] = field(default_factory=dict)

    @contextmanager
    def seconds(self, name: str) -> Iterator[None]:
        """Note how long the block takes."""
        start = time.perf_counter()
        yield
        self.times[name] = time.perf_counter() - start

    def keep(self, name: str, build: Callable[[], Index]) -> Index:
        """The index of that name, built at the first asking; at most four are kept, the oldest goes first."""
        if name not in self.kept:
            while len(self.kept) >= 4:
                self.kept.pop(next(iter(self.kept)))
            self.kept[name] = build()
        return self.kept[name]


def _nothing(results: Data, times: Data) -> list[Any]:
    return []


@dataclass(frozen=True, eq=False)
class Experiment:
    """One figure, table or claim of the paper.

    run: session -> results. draw: (results, times) -> figure. checks, tables: likewise, for the report. needs: names of
    `datasets.shared.FILES` that it reads. quick_needs: those of its quick form, where they are fewer.
    """

    name: str
    title: str
    paper: str
    says: str
    run: Callable[[Session], dict[str, Any]]
    draw: Callable[[Data, Data], Figure] | None = None
    checks: Callable[[Data, Data], list[Check]] = _nothing
    tables: Callable[[Data, Data], list[Table]] = _nothing
    needs: tuple[str, ...] = ()
    quick_needs: tuple[str, ...] | None = None

    def lacks(self, session: Session) -> list[str]:
        """The files that it reads and that are not there."""
        quick = session.quick and self.quick_needs is not None
        return lacking(self.quick_needs or () if quick else self.needs, session.data)
