"""Commands run as a user runs them."""

import os
import re
import subprocess
import sys


def run(*arguments, cwd=None, **environment):
    """Exit code, stdout, stderr."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "longwave", *map(str, arguments)]
    env = os.environ | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, check=False)
    return done.returncode, done.stdout, done.stderr


def instead_of(module, code, place):
    """Environment in which a module is this code."""
    (place / f"{module}.py").write_text(code)
    return {"PYTHONPATH": os.pathsep.join([str(place), *sys.path])}


def map_of(text):
    return float(re.search(r"mAP ([\d.]+)", text).group(1))
