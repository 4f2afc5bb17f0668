"""What a collection survives: loss of power after any call, kill -9 at any moment, readers beside a writer."""

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import living_samples
import numpy as np
import pytest
from living_work import answer

import longwave as lw
from longwave.collection import Collection
from longwave.errors import ConflictError
from storage import simulated

WORK = Path(__file__).with_name("living_work.py")
CHANGES = {
    "add": lambda c: c.add(living_samples.vectors(3, 5), metadata={"n": np.arange(3)}),
    "remove": lambda c: c.remove([3, 4]),
    "replace": lambda c: c.replace(living_samples.vectors(2, 6), ids=[7, 8]),
    "change": lambda c: c.change(
        living_samples.vectors(2, 9), ids=[3, 900], remove=[3, 4], rename={7: 4, 42: 7}, attach={"x": np.arange(3)}
    ),
    "refresh": lambda c: c.refresh(progress=False),
    "compact": lambda c: c.compact(keep=1, grace=0),
}


@pytest.fixture
def scratch(tmp_path):
    """A folder in memory where there is one: for folders that are made and thrown away by the hundred."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def seen(path, **options):
    with lw.open(path, **options) as living:
        return answer(living)


@pytest.mark.parametrize("kind", CHANGES)
def test_power_lost_after_every_call_of_a_change(scratch, kind):
    disk, trial = scratch / "disk", scratch / "trial"
    disk.mkdir()
    path = living_samples.copy("plain", disk)
    with Collection(path, files=simulated.Careless()) as living:  # segments, something removed, something to tidy up
        living.add(living_samples.vectors(4, 8), metadata={"n": np.arange(4)})
        living.remove([0, 41])
    shutil.copytree(disk, scratch / "copy")
    before, files = seen(path), simulated.Recorder(disk)
    with Collection(path, files=files) as living:
        CHANGES[kind](living)
    after, found, disks = seen(path), set(), set()
    assert (after == before) == (kind == "compact")
    for count in range(len(files.calls) + 1):
        state = simulated.replay(lambda: simulated.from_disk(scratch / "copy"), files.calls[:count])
        for crash in simulated.CRASHES[:16]:
            left, done = simulated.after(state, crash), count == len(files.calls)
            if (simulated.key(left), done) in disks:
                continue
            disks.add((simulated.key(left), done))
            simulated.to_disk(left, trial)
            own = seen(trial / path.name, verify=True)
            assert own == after or (own == before and not done), (count, crash)
            found.add(own)
            shutil.rmtree(trial)
    assert found == {before, after}
    assert len(disks) > 10


def run(what, path, *numbers):
    command = [sys.executable, str(WORK), what, str(path), *map(str, numbers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines_of(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return [tuple(int(number) for number in line.split()[:2]) for line in out.splitlines()]


def readers_beside_a_writer(path, readers, seconds):
    writing = run("write", path, seconds, 0)
    reading = [run("read", path, seconds) for _ in range(readers)]
    committed = dict(lines_of(writing))
    assert len(committed) > 3
    for process in reading:
        own = lines_of(process)
        assert own
        wrong = [(version, seen) for version, seen in own if version in committed and committed[version] != seen]
        assert not wrong
        yield len(own), len({version for version, _ in own}), len({v for v, _ in own} - set(committed))


def test_readers_beside_a_writer(tmp_path):
    counts = list(readers_beside_a_writer(living_samples.copy("plain", tmp_path), 2, 4))
    assert sum(answers for answers, _, _ in counts) >= 10


@pytest.mark.slow
def test_eight_readers_beside_a_writer_for_minutes(tmp_path):
    counts = list(readers_beside_a_writer(living_samples.copy("plain", tmp_path), 8, 300))
    assert all(answers > 200 and versions > 20 for answers, versions, _ in counts), counts


def kills(path, count, seed):
    """Kill the writer at random moments: the last state that it told of is there, or the one that it was at."""
    chance, number = random.Random(seed), 0
    ends = set()
    for _ in range(count):
        process = run("write", path, 60, number)
        told = [process.stdout.readline().split() for _ in range(2)]
        time.sleep(chance.expovariate(1 / 0.2))
        process.send_signal(signal.SIGKILL)
        told += [line.split() for line in process.communicate()[0].splitlines()]
        version, known = int(told[-1][0]), int(told[-1][1])
        with lw.open(path, verify=True) as living:
            assert living.version in (version, version + 1)
            assert answer(living) == known or living.version == version + 1
            ends.add((told[-1][2], living.version - version))
        number += len(told)
    return ends


def test_kill_9_of_a_writer(tmp_path):
    assert len(kills(living_samples.copy("plain", tmp_path), 4, 1)) > 1


@pytest.mark.slow
def test_many_kill_9_of_a_writer(tmp_path):
    assert len(kills(living_samples.copy("plain", tmp_path), 200, 2)) > 4


def test_the_second_writer_is_told(tmp_path):
    path = living_samples.copy("plain", tmp_path)
    with lw.open(path) as first, lw.open(path) as second:
        first.remove([1])
        with pytest.raises(ConflictError, match=r"another process|writes|lock"):
            second.remove([2])
        assert len(first) == 39
        first.close()
        second.remove([2])  # and goes on from what the first has made
        assert len(second) == 38
