"""The commands that look after an index folder: verify, history, vacuum."""

import numpy as np
import pytest
from typer.testing import CliRunner

import longwave as lw
from commands import run
from longwave import storage
from longwave.cli.commands import app
from longwave.errors import CorruptIndexError


@pytest.fixture
def index(tmp_path):
    """A folder of two versions."""
    for n in (12, 14):
        vectors = np.random.default_rng(n).normal(size=(n, 5)) + 0.5
        lw.Index.build(vectors, k=3, spectrum=lw.Exact()).save(tmp_path / "i", force=True)
    return tmp_path / "i"


def called(*arguments):
    """What a command prints; raises what it raises."""
    done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "110"}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def damage(index, version, *names):
    entries = storage.read(index, version).entries
    for name in names:
        file = index / "data" / entries[name].file
        file.write_bytes(file.read_bytes()[:-1] + b"x")


def test_history_lists_every_version(index):
    lines = called("history", index).splitlines()
    assert lines[0].split() == ["version", "from", "time", "(UTC)", "what", "was", "done"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2"]
    assert [line.partition("saved ")[2].strip() for line in lines[1:]] == ["12 items", "14 items"]


def test_verify_reads_everything_and_changes_nothing(index):
    before = {p: p.stat().st_ctime_ns for p in index.rglob("*")}
    count = len(storage.read(index).arrays)
    assert called("verify", index) == f"version 2: {count} arrays, all as they were written; they fit each other\n"
    assert called("verify", index, "--version", 1).startswith("version 1: ")
    assert {p: p.stat().st_ctime_ns for p in index.rglob("*")} == before


def test_verify_of_a_damaged_index_is_one_line_and_exit_code_1(index):
    count = len(storage.read(index).arrays)
    damage(index, 2, "vectors", "ids")
    code, out, err = run("verify", index)
    assert code == 1
    assert err == f"longwave: {index} is damaged; version 1 is whole: open it with Index.load(path, version=1)\n"
    assert [line[:5] for line in out.splitlines()] == ["lost:", "lost:", "whole"]
    assert out.splitlines()[-1] == f"whole in version 2: {count - 2} of {count} arrays"
    assert len(lw.Index.load(index, 1, verify=True)) == 12
    damage(index, 1, "vectors")
    with pytest.raises(CorruptIndexError, match="no other version is whole: copy the folder again, or build"):
        called("verify", index)


def test_verify_names_a_manifest_that_cannot_be_read(index):
    (index / "manifests" / "00000002.json").write_text("{")
    with pytest.raises(CorruptIndexError, match=r"version 1 is whole, but 1 other manifest cannot be read"):
        called("verify", index)
    (index / "manifests" / "00000001.json").write_text("{")
    with pytest.raises(CorruptIndexError, match=r"00000002\.json is cut short or altered"):
        called("verify", index)


def test_verify_finds_numbers_outside_of_what_they_point_to(index):
    state = storage.read(index)
    with storage.writer(index) as own:
        wrong = {name: storage.Kept(name) for name in state.arrays}
        own.commit(state.facts, {**wrong, "graph_indices": state.arrays["graph_indices"] + 99})
    with pytest.raises(CorruptIndexError, match="graph_indices has numbers outside of"):
        called("verify", index)


def test_verify_says_what_it_cannot_check(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(12, 5)) + 0.5
    own = lw.Index.build(vectors, k=3, spectrum=lw.Exact(), kernel=lambda x, one, other: np.maximum(x, 0) ** 2)
    own.save(tmp_path / "i")
    told = called("verify", tmp_path / "i")
    assert "all as they were written; whether they fit each other was not checked" in told


def test_vacuum_keeps_what_it_is_told_to(index):
    assert called("vacuum", index).startswith("removed 0 versions and 0 files")
    assert called("vacuum", index, "--keep", 2, "--grace", 0).endswith("2 versions left\n")
    assert called("vacuum", index, "--grace", 0).startswith("removed 1 version and ")
    assert [commit.number for commit in storage.history(index)] == [2]
    assert len(lw.Index.load(index, verify=True)) == 14


@pytest.mark.parametrize("command", ["verify", "history", "vacuum"])
def test_what_is_not_an_index_is_left_alone(tmp_path, command):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("x")
    for path, words in ((tmp_path / "photos", "is not a Longwave index"), (tmp_path / "no", "does not exist")):
        with pytest.raises(lw.errors.NotAnIndexError, match=words):
            called(command, path)
    assert [p.name for p in (tmp_path / "photos").iterdir()] == ["me.jpg"]
