"""Progress of long work: bars in a terminal or a notebook, a line per stage in the log elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longwave.types import Progress

log = logging.getLogger("longwave")


@contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress]:
    """What a build reports to: the function given; bars or the log for None and True; nothing for False."""
    if progress is False:
        yield lambda stage, done, total: None
    elif callable(progress):
        yield progress
    elif _is_watched():
        with bars() as report:
            yield report
    else:
        yield _Log()


@contextmanager
def bars() -> Iterator[Progress]:
    """A bar per stage on stderr, as a `Progress` function; nothing where nobody looks at stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<42}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), disable=not _is_watched()) as shown_bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            name = stage.partition(":")[0]
            if name not in tasks:
                tasks[name] = shown_bars.add_task(name, total=total)
            if done < shown_bars.tasks[tasks[name]].completed:
                shown_bars.reset(tasks[name])  # another round, with a time left of its own
            shown_bars.update(tasks[name], description=stage, completed=done, total=total)

        yield report


def _is_watched() -> bool:
    """Whether stderr is a terminal, or this is a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _Log:
    """One line when a stage is finished."""

    def __init__(self) -> None:
        self.finished: set[str] = set()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if done >= total and stage not in self.finished:
            self.finished.add(stage)
            log.info("%s: done", stage)
