"""What commands write to the screen: tables on stdout, progress and warnings of one line on stderr."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

from rich.console import Console

out = Console()
err = Console(stderr=True)


def warn_in_one_line() -> None:
    """Print warnings as `longwave: warning: ...` on stderr, without file and line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"longwave: warning: {message}", file=sys.stderr)

    warnings.showwarning = show


class _Line(logging.Handler):
    """Log records as `longwave: ...` on stderr, also where a bar is drawn there."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"longwave: {record.getMessage()}", file=sys.stderr)


def tell_of_compiling() -> None:
    """On a terminal, say why the first command after an installation waits."""
    if sys.stderr.isatty():
        log = logging.getLogger("longwave.rows.compiled")
        log.addHandler(_Line())
        log.setLevel(logging.INFO)
