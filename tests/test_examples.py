"""The examples run and are short; the version is written once."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run_and_are_short(path):
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert len(path.read_text().splitlines()) <= 30


def test_the_version_is_written_once():
    import longwave

    found = [
        p
        for p in ROOT.rglob("*.toml")
        if ".venv" not in p.parts and f'version = "{longwave.__version__}"' in p.read_text()
    ]
    assert not found


def test_links_of_the_readme_exist():
    import re

    for name in ("README.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text("utf-8")):
            assert target.startswith("https://") or (ROOT / target).exists(), target
