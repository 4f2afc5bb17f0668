"""Compiles what searches need while the first build of a fresh install goes on, in a process beside it.

Most of numba's compiling is Python, which one thread of a process at a time can run. So a second core can help in
another process only. What that compiles it keeps on the disk, where the build and the searches find it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from longwave.threads import cores

#: The environment variable that keeps builds from it, with the value 0.
VARIABLE = "LONGWAVE_COMPILE_AHEAD"
# Seconds that a search waits for it at the most: then it compiles for itself.
_PATIENCE = 60
# Processes, each with the kind of basis that it compiles for.
_begun: list[tuple[subprocess.Popen[bytes], str]] = []


def begin(first: str, basis: str) -> subprocess.Popen[bytes] | None:
    """Start that process, once for each folder of compiled code; None where it was started before, or cannot help.

    first, basis: of the index that is built, as for `compiling.compile_searches`. Nothing is lost if it fails: what it
    did not compile is compiled when it is needed.
    """
    from longwave.rows import compiled

    folder = compiled.kept_in()
    plain = Path(sys.executable or "").name.startswith("python")  # and no program that has Python inside
    if os.environ.get(VARIABLE) == "0" or cores() < 2 or not plain or folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"ahead-{compiled.stamp().hex()[:16]}-{first}-{basis}").touch(exist_ok=False)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "longwave.compiling", first, basis],  # -P: no modules of the current folder
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the build
        )
    except OSError:
        return None
    threading.Thread(target=process.wait, name="longwave-compiling", daemon=True).start()
    logging.getLogger(__name__).info("compiling what searches need, in a process beside the build: once")
    _begun.append((process, basis))
    return process


def finish(basis: str | None = None) -> None:
    """Before the first search: wait for what is being compiled, which takes no longer than to compile it again.

    basis: of the index that will be searched, where it is known: nobody waits for loops of another kind.
    """
    while _begun:
        with suppress(subprocess.TimeoutExpired, IndexError):
            process, kind = _begun.pop()
            if basis in (None, kind):
                process.wait(_PATIENCE)


def _forget() -> None:
    """After a fork, in the child: it is the parent's."""
    _begun.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
