"""Killed at the N-th call of the system by which a writer changes the disk, whoever makes the call: not our file layer.

Needs strace, which kills the process as it enters the call.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import samples
import simulated

from longwave import storage as st
from longwave.errors import NotAnIndexError

CALLS = ["fsync", "linkat", "unlinkat", "mkdirat", "write"]
# How strace ends whose command was killed.
KILLED = (-9, 137)
BEFORE = {
    "nothing": lambda path: None,
    "one": lambda path: samples.folder(path, 1),
    "old": lambda path: samples.old_folder(path, 1),
}


def traced(command, call, number):
    """Run a command that is killed at a call of this number."""
    trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    inject = ["-e", f"inject={call}:signal=KILL:when={number}"]
    return subprocess.run([*trace, *inject, *command], capture_output=True, text=True)


@pytest.fixture(scope="module", autouse=True)
def _strace():
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (Debian package strace)")
    done = traced([sys.executable, "-c", "print()"], "write", 1)
    if done.returncode not in KILLED:
        pytest.skip(f"strace cannot trace here: {done.stderr.strip() or done.returncode}")


def kill_at(scratch, before, call, number):
    """Whether the process was killed; what it left is the state before or after, and life goes on."""
    path = scratch / "i"
    shutil.rmtree(path, ignore_errors=True)
    BEFORE[before](path)
    script = Path(__file__).with_name("killed_at.py")
    done = traced([sys.executable, "-B", str(script), str(path)], call, number)
    told, what = done.stdout.split(), (before, call, number)
    if done.returncode == 0:
        assert told == ["committed", "cleared"]
        return False
    assert done.returncode in KILLED, done.stderr
    try:
        state = st.read(path, verify=True)
        assert not state.passed_over, what
        after = samples.same(state, 2, ids=1)
        assert after or (before != "nothing" and samples.same(state, 1)), what
        assert st.verify(path).ok, what
    except NotAnIndexError:
        assert before == "nothing", what
        after = False
    assert after or not told, f"what was acknowledged is lost: {what}"
    samples.commit(path, 3)  # the lock is free, and what is left is no hindrance
    st.vacuum(path, grace=0)
    assert samples.same(st.read(path, verify=True), 3), what
    assert len(samples.tree(path)) == 3 + 1 + len(samples.arrays(3)), what
    return True


@pytest.mark.parametrize(
    ("before", "call", "number"),
    [
        ("nothing", "mkdirat", 2),
        ("nothing", "fsync", 8),
        ("one", "fsync", 1),
        ("one", "fsync", 7),
        ("one", "linkat", 1),
        ("one", "unlinkat", 3),
        ("one", "write", 5),
        ("old", "linkat", 2),
    ],
)
def test_killed_at_a_call(scratch, before, call, number):
    assert kill_at(scratch, before, call, number)


@pytest.mark.slow
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("call", CALLS)
def test_killed_at_every_call(scratch, before, call):
    number = 1
    while kill_at(scratch, before, call, number):
        number += 1
    assert number > 1
    print(f"{number - 1} kills at {call}")


def test_nobody_else_changes_the_disk(scratch):
    """Every one of these calls is in the file layer: a trace of a commit has as many as it was asked for."""
    path = samples.folder(scratch / "i", 1)
    shutil.copytree(path, scratch / "other" / "i")
    files = simulated.Recorder(scratch / "other")
    with st.writer(scratch / "other" / "i", files=files) as own:
        own.commit(samples.facts(2), {**samples.arrays(2), "ids": st.Kept("ids")}, "state 2")
        own.vacuum(grace=0)
    log = scratch / "log"
    command = [sys.executable, "-B", str(Path(__file__).with_name("killed_at.py")), str(path)]
    calls = "fsync,linkat,unlinkat,renameat,renameat2,rename,unlink,link,ftruncate,truncate,fdatasync"
    subprocess.run(["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={calls}", *command], check=True)
    lines = [line.split()[1].partition("(")[0] for line in log.read_text().splitlines() if "(" in line]
    asked = [{"sync": "fsync", "link": "linkat", "unlink": "unlinkat"}.get(what) for what, *_ in files.calls]
    assert sorted(lines) == sorted(what for what in asked if what)
