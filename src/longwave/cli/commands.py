"""The application with all of its commands."""

from __future__ import annotations

# Their order is the order of the commands in the help.
# isort: off
from longwave.cli import building as building, advising as advising, tuning as tuning, describing as describing
from longwave.cli import searching as searching, embedding as embedding
from longwave.cli import learning as learning
from longwave.cli import inspecting as inspecting, living as living, versions as versions
from longwave.cli import judging as judging, serving as serving, exporting as exporting
from longwave.cli import compiling as compiling, showing as showing, experiments as experiments

# isort: on
from longwave.cli.application import app

__all__ = ["app"]
