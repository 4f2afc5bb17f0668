"""The command line: every command is the library, with files in and tables out."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper

from longwave.errors import LongwaveError, reason

INTERRUPTED = 130


def main() -> None:
    """Run the command line; a LongwaveError is one line on stderr and exit code 1, Ctrl-C is exit code 130."""
    # Imports take most of a second and leave nothing to tidy up; in the middle of one, an exception may get lost.
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:  # not where the shell has us ignore it
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from longwave.cli.commands import app
    from longwave.cli.screen import tell_of_compiling, warn_in_one_line

    signal.signal(signal.SIGINT, heard)
    warn_in_one_line()
    tell_of_compiling()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × or λ still gets its answer
    try:
        app()
    except LongwaveError as error:
        print(f"longwave: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"longwave: {error.filename or 'cannot write the output'}: {reason(error)}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
