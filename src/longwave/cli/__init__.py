"""The command line: every command is the library, with files in and tables out."""

from __future__ import annotations

import sys
from io import TextIOWrapper

# Their order is the order of the commands in the help.
# isort: off
from longwave.cli import building as building, describing as describing, searching as searching
from longwave.cli import inspecting as inspecting, judging as judging, showing as showing, experiments as experiments

# isort: on
from longwave.cli.application import app
from longwave.cli.display import warn_in_one_line
from longwave.errors import LongwaveError


def main() -> None:
    """Run the command line; an error of Longwave's is one line on stderr and exit code 1."""
    warn_in_one_line()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without × or λ still gets its answer
    try:
        app()
    except LongwaveError as error:
        print(f"longwave: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"longwave: cannot write the output: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("longwave: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
