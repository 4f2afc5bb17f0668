"""What commands write to the screen: tables on stdout, progress and warnings of one line on stderr."""

from __future__ import annotations

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
