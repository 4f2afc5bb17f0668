"""Writers and readers at the same time, in threads and processes: one writer wins, and readers see committed states."""

import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import samples

from longwave import storage as st
from longwave.errors import ConflictError, StorageError
from longwave.storage import reading

HERE = Path(__file__).parent


class NoLock(st.Files):
    """A lock that does not work, as on some network file systems."""

    def lock(self, folder, name):
        return st.Opened(folder.path / name, os.open(name, os.O_RDWR | os.O_CREAT, dir_fd=folder.handle))


def test_a_second_writer_is_told_at_once_or_waits(tmp_path):
    path = samples.folder(tmp_path / "i", 1)
    with st.writer(path) as own:
        works = [st.vacuum, lambda path: samples.commit(path, 9), lambda path: samples.commit(path, 9, timeout=0.1)]
        for work in works:
            with pytest.raises(ConflictError, match="is being written by another process or thread; try again"):
                work(path)
        waiting = threading.Thread(target=samples.commit, args=(path, 3), kwargs={"timeout": 60})
        waiting.start()
        own.commit(samples.facts(2), samples.arrays(2))
    waiting.join()
    assert [c.message for c in st.history(path)] == ["state 1", "", "state 3"]


def test_the_lock_is_free_again_after_an_error_and_after_a_fork(tmp_path):
    path = samples.folder(tmp_path / "i", 1)
    with pytest.raises(ZeroDivisionError), st.writer(path):
        raise ZeroDivisionError
    read, write = os.pipe()
    with st.writer(path):
        code = "import sys; sys.stdin.read()"
        child = subprocess.Popen([sys.executable, "-c", code], stdin=read, pass_fds=held_handles(path))
    samples.commit(path, 2)  # though the child still has the lock's file open
    os.close(read)
    os.close(write)
    assert child.wait() == 0


def held_handles(path):
    """The handles of this process that have the lock open."""
    known = (path / "lock").stat()
    return [int(p.name) for p in Path("/proc/self/fd").iterdir() if p.exists() and os.path.samestat(p.stat(), known)]


def test_without_a_lock_a_stale_writer_is_told_and_nothing_is_lost(tmp_path):
    path = samples.folder(tmp_path / "i", 1)
    with st.writer(path, files=NoLock()) as one, st.writer(path, files=NoLock()) as two:
        assert samples.same(two.state, 1)
        one.commit(samples.facts(2), samples.arrays(2))
        before = samples.tree(path)
        with pytest.raises(ConflictError, match=r"another writer has committed version 2 of .*; nothing was written"):
            two.commit(samples.facts(3), samples.arrays(3))
        assert samples.tree(path) == before
        one.commit(samples.facts(4), samples.arrays(4))
        one.vacuum(grace=0)  # version 2 is free again, and must not be taken
        with pytest.raises(ConflictError):
            two.commit(samples.facts(3), samples.arrays(3))
    assert samples.same(st.read(path, verify=True), 4)


def test_threads_with_one_writer_take_turns(tmp_path):
    path = samples.folder(tmp_path / "i", 1)
    outcomes, start = {}, threading.Barrier(3)
    with st.writer(path) as own:

        def work(state):
            start.wait()
            for number in range(state, state + 5):
                outcomes[own.commit(samples.facts(number), samples.arrays(number))] = number

        threads = [threading.Thread(target=work, args=(state,)) for state in (10, 20, 30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == list(range(2, 17))
    for version, number in outcomes.items():
        assert samples.same(st.read(path, version, verify=True), number)


def test_threads_race_to_create(tmp_path):
    for attempt in range(10):
        path, outcomes, start = tmp_path / str(attempt), [], threading.Barrier(4)

        def work(number, path=path, outcomes=outcomes, start=start):
            start.wait()
            try:
                outcomes.append((samples.commit(path, number), number))
            except ConflictError as error:
                outcomes.append((0, str(error)))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        won = sorted(outcome for outcome in outcomes if outcome[0])
        assert [number for number, _ in won] == list(range(1, len(won) + 1))
        for number, state in won:
            assert samples.same(st.read(path, number, verify=True), state)


@pytest.mark.parametrize("lock", ["lock", "no lock"])
def test_processes_race_and_no_commit_is_lost(tmp_path, lock):
    """Each adds its name to a list in the facts, again and again. All that were told so are in the list at the end."""
    path = tmp_path / "i"
    command = [sys.executable, str(HERE / "racing.py"), str(path), lock]
    racers = [subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name in "abc"]
    for racer in racers:
        assert racer.stdout.readline() == b"ready\n"
    for racer in racers:
        racer.stdin.write(b"go\n")
        racer.stdin.flush()
    told = [racer.communicate()[0].decode().split() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    state = st.read(path, verify=True)
    assert sorted(state.facts["names"]) == sorted(name for names in told for name in names)
    assert state.number == len(state.facts["names"])
    assert all(names for names in told)


# Readers


def test_a_vacuum_between_the_manifest_and_the_files_makes_a_reader_begin_again(tmp_path, monkeypatch):
    path = samples.folder(tmp_path / "i", 1)
    real, pending = reading.read_array, [2, 3]

    def meanwhile(folder, name, entry, verify):
        if name == "packed" and pending:
            samples.commit(path, pending.pop(0))
            st.vacuum(path, grace=0)
        return real(folder, name, entry, verify)

    monkeypatch.setattr(reading, "read_array", meanwhile)
    assert samples.same(st.read(path), 3)
    pending += [4]
    assert st.verify(path).ok
    pending += [5]
    with pytest.raises(StorageError, match="has no version 4; it has versions 5 to 5"):
        st.read(path, 4)
    real_find = reading.load_manifest
    pending += [6]

    def gone(root, number):
        if pending:
            samples.commit(path, pending.pop())
            st.vacuum(path, grace=0)
        return real_find(root, number)

    monkeypatch.setattr(reading, "load_manifest", gone)
    assert samples.same(st.read(path), 6)


def test_an_old_folder_is_turned_and_cleared_under_a_reader(tmp_path, monkeypatch):
    path = samples.old_folder(tmp_path / "i", 1)
    real, pending = reading.read_array, [2]

    def meanwhile(folder, name, entry, verify):
        if name == "packed" and pending:
            samples.commit(path, pending.pop())
            st.vacuum(path, grace=0)
        return real(folder, name, entry, verify)

    monkeypatch.setattr(reading, "read_array", meanwhile)
    assert samples.same(st.read(path), 2)


def test_a_folder_replaced_under_a_reader(tmp_path, monkeypatch):
    path, other = samples.old_folder(tmp_path / "i", 1), samples.folder(tmp_path / "j", 2)
    real = reading.read_array

    def meanwhile(folder, name, entry, verify):
        if name == "packed" and other.exists():
            shutil.rmtree(path)
            other.rename(path)
        return real(folder, name, entry, verify)

    monkeypatch.setattr(reading, "read_array", meanwhile)
    assert samples.same(st.read(path), 2)


def readers_beside_a_writer(path, readers, seconds):
    """A writer commits, replaces and vacuums without a pause; processes read. Returns how often each read."""
    samples.old_folder(path, 1)
    command = [sys.executable, str(HERE / "polling.py"), str(path)]
    polling = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(readers)]
    for reader in polling:
        assert reader.stdout.readline() == b"ready\n"
    number, end = 1, time.monotonic() + seconds
    while time.monotonic() < end:
        with st.writer(path) as own:
            number += 1
            if number % 3:
                own.commit(samples.facts(number), samples.arrays(number))
            else:
                kept = {name: st.Kept(name) for name in samples.arrays(1)}
                own.commit(samples.facts(samples.which(own.state)), kept)
            own.vacuum(keep=1 + number % 2, grace=0)
    lines = [reader.communicate(b"stop\n")[0].decode().splitlines() for reader in polling]
    assert [reader.returncode for reader in polling] == [0] * readers, lines
    assert samples.which(st.read(path, verify=True)) in (number, number - 1)
    return number, [[int(count) for count in line[-1].split()] for line in lines]


def test_readers_beside_a_writer_that_commits_and_vacuums(tmp_path):
    commits, counts = readers_beside_a_writer(tmp_path / "i", 2, 3)
    assert commits > 10
    assert all(reads > 10 and states > 3 for reads, states in counts), counts


@pytest.mark.slow
def test_readers_beside_a_writer_for_minutes(tmp_path):
    commits, counts = readers_beside_a_writer(tmp_path / "i", 8, 300)
    assert commits > 100
    assert all(reads > 100 and states > 20 for reads, states in counts), counts


def test_a_reader_does_not_mind_the_lock(tmp_path):
    path = samples.folder(tmp_path / "i", 1)
    with (path / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert samples.same(st.read(path, verify=True), 1)
        with pytest.raises(ConflictError):
            samples.commit(path, 2)
