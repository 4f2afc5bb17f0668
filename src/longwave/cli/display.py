"""What commands show: progress bars, tables, errors and warnings of one line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from longwave.types import Progress

out = Console()
err = Console(stderr=True)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """A bar per stage on stderr, as `Progress` callback; nothing where stderr is not a terminal."""
    columns = (
        TextColumn("{task.description:<42}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=err, disable=not err.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            name = stage.partition(":")[0]
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            if done < bars.tasks[tasks[name]].completed:
                bars.reset(tasks[name])  # another round, with a time left of its own
            bars.update(tasks[name], description=stage, completed=done, total=total)

        yield report


def readable(score: float) -> str:
    """A score with three digits that say something, without an exponent: 0.0572, 12.3, 0.0000124."""
    return np.format_float_positional(float(f"{score:.3g}"), trim="-") if abs(score) >= 1e-9 else "0"


def warn_in_one_line() -> None:
    """Print warnings as `longwave: warning: ...` on stderr, without file and line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"longwave: warning: {message}", file=sys.stderr)

    warnings.showwarning = show
