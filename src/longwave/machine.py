"""What this machine has."""

from __future__ import annotations

import os
from pathlib import Path


def machine_memory() -> int | None:
    """Bytes of main memory that this process may use: the machine's, or less where a container says so."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text("utf-8")))
    except (OSError, ValueError):  # no such file, or "max"
        return total
