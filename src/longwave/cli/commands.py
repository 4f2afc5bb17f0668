"""The application with all of its commands."""

from __future__ import annotations

# Their order is the order of the commands in the help.
# isort: off
from longwave.cli import building as building, describing as describing, searching as searching, living as living
from longwave.cli import inspecting as inspecting, versions as versions, judging as judging
from longwave.cli import showing as showing, experiments as experiments

# isort: on
from longwave.cli.application import app

__all__ = ["app"]
