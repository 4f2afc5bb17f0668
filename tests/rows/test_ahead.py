"""What searches need is compiled beside the first build: once, where it helps, and the very loops that they take."""

import json
import os
import subprocess
import sys

import pytest

import longwave as lw
from longwave.building import build
from longwave.rows import ahead, compiled

# Functions of ours that the first search of an index compiles, by name.
SEARCHED = """
import json, sys
import longwave as lw
from numba.core import event

names = []

class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("longwave"):
            names.append(function.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
index = lw.Index.load(sys.argv[1])
assert str(index.settings.plan.vectors).startswith("Structure(kind='codes'")
assert index.search(lw.datasets.digits().vectors[1700], 10).route == "sublinear"
print(json.dumps(names))
"""


# Kinds of bases whose processes were waited for.
waited = []


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """The commands of processes that would be started."""
    commands = []
    waited.clear()

    class Process:
        def __init__(self, command, **_):
            commands.append(command)

            self.kind = command[-1]

        def wait(self, timeout=None):
            if timeout is not None:
                waited.append(self.kind)

    monkeypatch.setattr(ahead.subprocess, "Popen", Process)
    monkeypatch.setattr(ahead, "_begun", [])
    monkeypatch.setattr(compiled, "kept_in", lambda: tmp_path / "kept")
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    monkeypatch.delenv(ahead.VARIABLE)
    return commands


def test_once_for_each_folder_and_kind(begun):
    assert ahead.begin("codes", "float32") is not None
    assert ahead.begin("codes", "float32") is None
    assert ahead.begin("", "int8") is not None
    assert [command[-2:] for command in begun] == [["codes", "float32"], ["", "int8"]]
    assert "-P" in begun[0]  # a folder of the user's is not searched for modules
    ahead.finish("int8")
    assert not ahead._begun
    assert waited == ["int8"]


@pytest.mark.parametrize("what", ["one core", "not wanted", "nowhere to keep it", "no folder", "another program"])
def test_not_where_it_cannot_help(begun, monkeypatch, tmp_path, what):
    if what == "one core":
        monkeypatch.setattr(ahead, "cores", lambda: 1)
    elif what == "not wanted":
        monkeypatch.setenv(ahead.VARIABLE, "0")
    elif what == "nowhere to keep it":
        monkeypatch.setattr(compiled, "kept_in", lambda: None)
    elif what == "no folder":
        (tmp_path / "kept").write_text("a file")
    else:
        monkeypatch.setattr(ahead.sys, "executable", "/opt/app/serves-pictures")
    assert ahead.begin("", "float32") is None
    assert not begun


def test_builds_that_will_be_walked_ask_for_it(monkeypatch, digits_split):
    asked = []
    monkeypatch.setattr(build.ahead, "begin", lambda *kinds: asked.append(kinds))
    vectors = digits_split[0]
    lw.Index.build(vectors[:1000], progress=False)  # all pairs are kept
    lw.Index.build(vectors, spectrum=lw.Lanczos(20), progress=False)
    assert not asked
    lw.Index.build(vectors, progress=False)
    lw.Index.build(vectors, store_basis="int8", progress=False)
    assert asked == [("", "float32"), ("", "int8")]


def test_what_was_compiled_ahead_is_what_a_search_takes(tmp_path, digits_split):
    index = lw.Index.build(digits_split[0], progress=False).accelerate(first="codes", second="walk")
    index.save(tmp_path / "index")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    subprocess.run(
        [sys.executable, "-m", "longwave.compiling", "codes", "float32"], env=environment, check=True, timeout=300
    )
    done = subprocess.run(
        [sys.executable, "-c", SEARCHED, str(tmp_path / "index")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert json.loads(done.stdout) == []
