"""Loss of power after every single call of a writer, and kill -9: the state before or after, never less."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import samples
import simulated

from longwave import storage as st
from longwave.errors import NotAnIndexError


def facts_only(path, files):
    with st.writer(path, files=files) as own:
        own.commit(samples.facts(2), {name: st.Kept(name) for name in samples.arrays(1)})


def commit_and_vacuum(path, files):
    with st.writer(path, files=files) as own:
        own.commit(samples.facts(2), samples.arrays(2))
        own.vacuum(grace=0)


BEFORE = {
    "nothing": lambda path: None,
    "empty": lambda path: path.mkdir(),
    "one": lambda path: samples.folder(path, 1),
    "some": lambda path: samples.folder(path, 7, 8, 1),
    "old": lambda path: samples.old_folder(path, 1),
    "older": lambda path: samples.old_folder(path, 1, version=2),
    "converted": lambda path: samples.folder(samples.old_folder(path, 8), 1),
}
# What is there before, what is done, and what of state 1 is in state 2.
SCENARIOS = [
    ("nothing", samples.replace_all, ()),
    ("empty", samples.replace_all, ()),
    ("one", samples.replace_all, ()),
    ("some", samples.replace_all, ()),
    ("some", samples.commit_with_kept, ("ids", "packed", "mean", "none")),
    ("one", facts_only, tuple(samples.arrays(1))),
    ("old", samples.replace_all, ()),
    ("old", samples.commit_with_kept, ("ids", "packed", "mean", "none")),
    ("older", facts_only, tuple(samples.arrays(1))),
    ("some", samples.vacuum, None),
    ("converted", samples.vacuum, None),
    ("some", commit_and_vacuum, ()),
    ("old", commit_and_vacuum, ()),
]


@pytest.mark.parametrize(("before", "work", "kept"), SCENARIOS, ids=lambda value: getattr(value, "__name__", None))
def test_power_lost_after_every_call(scratch, before, work, kept):
    disk, trial = scratch / "disk", scratch / "trial"
    disk.mkdir()
    BEFORE[before](disk / "i")
    shutil.copytree(disk, scratch / "copy")
    files = simulated.Recorder(disk)
    work(disk / "i", files)
    assert len(files.calls) > 3
    seen, trials, states = set(), 0, set()
    for count in range(len(files.calls) + 1):
        state = simulated.replay(lambda: simulated.from_disk(scratch / "copy"), files.calls[:count])
        for crash in simulated.CRASHES:
            left = simulated.after(state, crash)
            done = count == len(files.calls)
            if (simulated.key(left), done) in seen:
                continue
            seen.add((simulated.key(left), done))
            simulated.to_disk(left, trial)
            states.add(check(trial / "i", before, kept, done, f"call {count}, {crash}"))
            shutil.rmtree(trial)
            trials += 1
    assert trials > len(files.calls) / 2
    assert states == ({1} if kept is None else {None, 2} if before in ("nothing", "empty") else {1, 2})


def check(path, before, kept, done, what):
    """The state that a crash left, which must be the one before or the one after; then life goes on."""
    kept_arrays = dict.fromkeys(kept or (), 1)
    try:
        state = st.read(path, verify=True)
        assert not state.passed_over, what
        found = 1 if kept is None or samples.same(state, 1) else 2
        assert samples.same(state, found, **(kept_arrays if found == 2 else {})), what
        assert st.verify(path).ok, what
        assert st.history(path)[-1] == state.commit, what
        for commit in st.history(path):
            if commit.number:  # what is listed can be opened; an old folder is cleared file by file
                st.read(path, commit.number, verify=True)
    except NotAnIndexError:
        assert before in ("nothing", "empty"), what
        found = None
    assert found == (1 if kept is None else 2) or not done, f"what was acknowledged is lost: {what}"
    samples.commit(path, 3, files=simulated.Careless())
    assert samples.same(st.read(path, verify=True), 3), what
    st.vacuum(path, grace=0, files=simulated.Careless())
    assert samples.same(st.read(path, verify=True), 3), what
    assert len(samples.tree(path)) == 3 + 1 + len(samples.arrays(3)), what  # nothing is left behind for ever
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [(facts_only, samples.vacuum), (samples.replace_all, samples.vacuum), (facts_only, samples.replace_all)],
)
def test_a_writer_is_killed_at_every_call_and_power_is_lost_during_the_next_one(scratch, first, second):
    """What the first one did is seen by the second, but nobody has synced it."""
    start, trial = scratch / "start", scratch / "trial"
    start.mkdir()
    samples.folder(start / "i", 1)
    shutil.copytree(start, scratch / "copy")
    files = simulated.Recorder(start)
    first(start / "i", files)
    seen, of_the_first = set(), dict.fromkeys(samples.arrays(1), 1)
    for killed in range(len(files.calls) + 1):
        kept = simulated.replay(lambda: simulated.from_disk(scratch / "copy"), files.calls[:killed])
        disk = scratch / f"disk{killed}"
        simulated.to_disk(simulated.after(kept, simulated.Crash("kept", "kept")), disk)
        later = simulated.Recorder(disk)
        second(disk / "i", later)
        for count in range(len(later.calls) + 1):
            calls = files.calls[:killed] + later.calls[:count]
            state = simulated.replay(lambda: simulated.from_disk(scratch / "copy"), calls)
            for crash in [simulated.Crash("lost", "lost"), *simulated.CRASHES[-17:]]:
                left = simulated.after(state, crash)
                if simulated.key(left) in seen:
                    continue
                seen.add(simulated.key(left))
                simulated.to_disk(left, trial)
                found = st.read(trial / "i", verify=True)
                states = [samples.same(found, 1), samples.same(found, 2), samples.same(found, 2, **of_the_first)]
                assert any(states), (killed, count, crash)
                assert not found.passed_over
                shutil.rmtree(trial)
    assert len(seen) > 5


def test_the_replay_finds_what_it_is_for(scratch):
    """Without syncs, the same replay loses data: or it would show nothing."""

    disk, trial = scratch / "disk", scratch / "trial"
    disk.mkdir()
    samples.folder(disk / "i", 1)
    shutil.copytree(disk, scratch / "copy")
    files = simulated.Recorder(disk)
    samples.commit(disk / "i", 2, files=files)
    calls, lost = [call for call in files.calls if call[0] != "sync"], set()
    for crash in simulated.CRASHES:
        state = simulated.replay(lambda: simulated.from_disk(scratch / "copy"), calls)
        simulated.to_disk(simulated.after(state, crash), trial)
        try:
            check(trial / "i", "one", (), True, crash)
        except (AssertionError, st.writing.CorruptIndexError):
            lost.add(crash)
        shutil.rmtree(trial)
    assert len(lost) > 10


def test_a_commit_of_one_small_array_is_a_handful_of_syncs(tmp_path):
    samples.folder(tmp_path / "i", 1)
    files = simulated.Recorder(tmp_path)
    with st.writer(tmp_path / "i", files=files) as own:
        own.commit({}, {"one": samples.arrays(2)["ids"], **{n: st.Kept(n) for n in samples.arrays(1)}})
    synced = [Path(*path).parent.name or path[-1] for what, path, *_ in files.calls if what == "sync"]
    assert len(synced) == 4
    assert [what for what, *_ in files.calls if what in ("link", "create", "unlink")] == [
        "create",
        "create",
        "link",
        "unlink",
    ]


def run_kills(tmp_path, count, seed):
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), str(tmp_path / "i"), str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == count
    assert len({line.split()[0] for line in lines}) > 1  # killed at different moments


def test_kill_9_of_a_committing_process(tmp_path):
    run_kills(tmp_path, 40, 1)


@pytest.mark.slow
def test_many_kill_9_of_a_committing_process(tmp_path):
    run_kills(tmp_path, 400, 2)
