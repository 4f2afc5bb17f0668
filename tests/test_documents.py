"""What the documents name exists."""

import re
import shlex
from functools import reduce
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import longwave
from commands import run

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


def test_what_the_page_on_metadata_says_works(tmp_path, monkeypatch, digits_split):
    """Its Python, one block after the other, and its command lines."""
    page = (ROOT / "docs" / "metadata.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    vectors, labels = digits_split[0][:62], digits_split[1][:62].tolist()
    given = {
        "titles": [f"a {label}" for label in labels[:60]],
        "years": list(range(1970, 2030)),
        "vectors": vectors[:60],
        "names": [f"{row}.png" for row in range(60)],
        "new_vectors": vectors[60:],
        "new_names": ["sea.png", "hill.png"],
        "places": ["Oxford", "Paris", None, "Rome"] * 15 + ["Oxford", None],
        "query": vectors[0],
    }
    first, second = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(first, given)
    assert len(given["index"]) == 62
    exec(second, given)
    hits = given["hits"]
    assert set(hits.columns["place"][0]) == {"Oxford", "Paris"}
    assert hits.records()[0][0] == {
        "rank": 1, "id": "0.png", "score": pytest.approx(1.5, abs=0.01), "columns": {"place": "Oxford"}
    }  # fmt: skip

    np.save("photos.npy", vectors[:60])
    np.save("new.npy", vectors[60:])
    np.save("queries.npy", vectors[:3])
    Path("names.txt").write_text("\n".join(given["names"]))
    Path("new.txt").write_text("\n".join(given["new_names"]))
    cities = ["Oxford", "Paris", "", "Rome"] * 15
    lines = [f'"Sea, {row}",{1970 + row},{city}' for row, city in enumerate(cities)]
    Path("photos.csv").write_text("\n".join(["title,year,city", *lines]))
    Path("new.csv").write_text("title,year,city\nSea,2024,Oxford\nHill,,\n")
    commands = re.findall(r"^longwave (.*)$", page, re.M)
    assert len(commands) == 4
    for command in commands:
        arguments = shlex.split(command)
        code, out, err = run(*arguments, *(["--force"] if arguments[0] == "build" else []), cwd=tmp_path)
        assert code == 0, err
        if "--columns" in arguments:
            found = [line.split("\t") for line in out.splitlines()[1:]]
            assert {row[5] for row in found} <= {str(year) for year in range(2020, 2030)}
    rows = Path("hits.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 10
