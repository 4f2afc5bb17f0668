"""What the documents name exists."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

import longwave

ROOT = Path(longwave.__file__).parents[2]
PAPER = (ROOT / "docs" / "paper.md").read_text("utf-8").split("## Equations and stages")[1].split("\n## ")[0]
ROOMS = {path.stem for path in (ROOT / "src" / "longwave").iterdir()}
TESTS = {path.stem: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}


def found(name):
    """The module, class or function of a dotted name below longwave."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(["longwave", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[end:], module)
    raise AttributeError(name)


@pytest.mark.parametrize(
    "name", sorted({n for n in re.findall(r"`([a-z_]+(?:\.\w+)+)`", PAPER) if n.split(".")[0] in ROOMS})
)
def test_every_function_of_the_paper_exists(name):
    assert found(name) is not None


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+(?:::test_\w+…?)?)`", PAPER))))
def test_every_test_of_the_paper_exists(name):
    module, _, test = name.partition("::")
    assert module in TESTS
    assert f"def {test.removesuffix('…')}" in TESTS[module] or not test


def test_the_table_is_read():
    assert len(re.findall(r"`test_", PAPER)) > 25
