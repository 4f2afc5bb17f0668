"""What commands show: tables, errors and warnings of one line."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from rich.console import Console

out = Console()
err = Console(stderr=True)


def readable(score: float) -> str:
    """A score with three digits that say something, without an exponent: 0.0572, 12.3, 0.0000124."""
    return np.format_float_positional(float(f"{score:.3g}"), trim="-") if abs(score) >= 1e-9 else "0"


def warn_in_one_line() -> None:
    """Print warnings as `longwave: warning: ...` on stderr, without file and line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"longwave: warning: {message}", file=sys.stderr)

    warnings.showwarning = show
