"""What the documents name exists."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

import longwave

ROOT = Path(longwave.__file__).parents[2]
WHOLE = (ROOT / "docs" / "paper.md").read_text("utf-8")
PAPER = WHOLE.split("## Equations and stages")[1].split("\n## ")[0]
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
    assert len(re.findall(r"`test_", PAPER)) > 40


@pytest.mark.parametrize("number", range(1, 13))
def test_every_numbered_equation_has_a_row(number):
    rows = [line for line in PAPER.splitlines() if line.startswith(f"| eq. ({number})")]
    assert rows
    assert all(len(re.findall(r"`[^`]+`", row)) >= 2 for row in rows)  # a function and a test


SECTIONS = ["§2.1", "§2.2", "§2.3", "§3.1", "§3.2", "§4.3", "§5.1", "§5.2", "§5.3", "§5.5", "§6", "§7", "§8.1", "§9"]


@pytest.mark.parametrize("part", SECTIONS)
def test_every_section_that_states_something_has_a_row(part):
    assert re.search(rf"^\|.*{part}\b", PAPER, re.M)


def test_every_experiment_named_exists_and_every_one_is_named():
    from longwave.experiments import REGISTRY

    table = WHOLE.split("Every figure and table has an experiment")[1]
    named = set(re.findall(r"\| `(\w+)`", table)) | set(re.findall(r"`(\w+)` and `(\w+)` go beyond", table)[0])
    assert named == set(REGISTRY)


@pytest.mark.parametrize("call", sorted(set(re.findall(r"`(?:solver=|filter=|spectrum=|blend=)?lw\.(\w+)\(", WHOLE))))
def test_every_public_name_in_it_exists(call):
    assert hasattr(longwave, call)
