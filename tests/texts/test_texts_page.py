"""What the page on texts says works: its commands and its Python, with a small encoder in place of MiniLM."""

import re
import shlex
from pathlib import Path

import pytest
from texts_samples import WordEncoder
from typer.testing import CliRunner

import longwave
from longwave.cli.commands import app
from longwave.texts import encoders

PAGE = (Path(longwave.__file__).parents[2] / "docs" / "texts.md").read_text("utf-8")


class Small(WordEncoder):
    name = encoders.DEFAULT


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.setattr(encoders, "default_encoder", Small)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "sea.md").write_text("# The sea\n\nHow deep is the sea? Nobody knows.")
    (tmp_path / "notes" / "hill.txt").write_text("Hills are high and green, with sheep on them.")
    (tmp_path / "more.jsonl").write_text('{"text": "A lake is a small sea.", "id": "lake"}')
    return tmp_path


def test_the_commands_run(notes):
    commands = re.findall(r"^longwave (.*)$", PAGE, re.M)
    told = []
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command))
        assert done.exit_code == 0, done
        told.append(done.output)
    assert len(told) == 4
    assert "\tsea.md\t" in told[1].splitlines()[1]
    assert "How deep is the sea? Nobody knows." in told[1].splitlines()[1]
    assert "1 passage added; 3 items" in told[2]
    assert "lake" in told[3]


def test_the_blocks_run(notes, capsys):
    first, second = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    given = {}
    exec(first, given)
    assert capsys.readouterr().out.startswith("sea.md # The sea")
    exec(second, given)
    with longwave.open("notes.longwave") as opened:
        assert len(opened) == 3
