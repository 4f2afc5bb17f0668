"""Disks that are full, broken or closed to us: the old state stays whole, and one clear line says why."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import samples
import simulated

from longwave import storage as st
from longwave.errors import StorageError


def nothing(path):
    pass


def one(path):
    samples.folder(path, 8, 1)


def old(path):
    samples.old_folder(path, 1)


WORKS = [
    (nothing, samples.replace_all),
    (one, samples.replace_all),
    (one, samples.commit_with_kept),
    (old, samples.commit_with_kept),
    (one, samples.vacuum),
]


@pytest.mark.parametrize("forever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize(("before", "work"), WORKS, ids=lambda value: value.__name__)
def test_every_call_fails_once(scratch, before, work, code, forever):
    before(scratch / "before")
    for at in range(1000):
        path = scratch / "i"
        if before is not nothing:
            shutil.copytree(scratch / "before", path)
        files = simulated.Failing(at, code, forever=forever)
        try:
            work(path, files)
        except StorageError as error:
            told = str(error)
            assert str(path) in told
            assert "\n" not in told
            wanted = ("not enough space", "disk is full") if code == errno.ENOSPC else (os.strerror(errno.EIO),)
            assert any(text in told for text in wanted), told
            check_failed(path, before, work, files, told)
        else:
            # Only what does not matter may fail in silence: the name of a manifest that has its number already.
            assert files.failed in (None, "unlink")
        if st.is_index(path) or work is not samples.vacuum:
            samples.commit(path, 3, files=simulated.Careless())
            assert samples.same(st.read(path, verify=True), 3)
        shutil.rmtree(path)
        if files.failed is None:
            break
    assert at > 5


def check_failed(path, before, work, files, told):
    """The state before, and nothing left of the attempt. But for one case."""
    # If the last sync fails, and the manifest cannot be taken back either, the commit stands, and nobody knows.
    stands = files.forever and files.failed == "sync manifests" and work is not samples.vacuum
    if stands:
        assert "nor could version" in told
        return
    if before is nothing:
        assert not st.is_index(path)
        assert not list(path.rglob("*.npy")) or files.forever or files.failed == "sync manifests"
        path.mkdir(exist_ok=True)
        return
    state = st.read(path, verify=True)
    assert samples.same(state, 1), files.failed
    assert st.verify(path).ok
    if not files.forever and work is not samples.vacuum:
        named = {entry.file for c in st.history(path) if c.number for entry in st.read(path, c.number).entries.values()}
        left = {p.name for p in (path / "data").glob("*")} - named if (path / "data").exists() else set()
        assert not left or files.failed == "sync manifests"
        assert not list(path.glob("manifests/*.partial"))


def test_a_failed_commit_does_not_end_the_writer(tmp_path):
    """A writer whose commit failed can try again; the number of one that was seen for a moment is not used again."""
    samples.folder(tmp_path / "i", 1)

    class Failing(st.Files):
        fail = ""

        def sync(self, opened):
            if opened.path.name == self.fail:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            super().sync(opened)

    files = Failing()
    with st.writer(tmp_path / "i", files=files) as own:
        files.fail = "manifests"
        with pytest.raises(StorageError, match=r"cannot write .*Input/output error"):
            own.commit(samples.facts(2), samples.arrays(2))
        assert samples.same(own.state, 1)
        assert samples.same(st.read(tmp_path / "i"), 1)
        files.fail = "data"
        with pytest.raises(StorageError):
            own.commit(samples.facts(2), samples.arrays(2))
        files.fail = ""
        assert own.commit(samples.facts(3), samples.arrays(3)) == 3
        assert samples.same(own.state, 3)
    assert [(c.number, c.parent) for c in st.history(tmp_path / "i")] == [(1, None), (3, 1)]


@pytest.mark.parametrize("call", ["create", "write", "sync", "close", "link"])
def test_an_interrupt_keeps_the_old_state_and_leaves_nothing(tmp_path, call):
    samples.folder(tmp_path / "i", 1)
    before, files = samples.tree(tmp_path), st.Files()

    def interrupted(*args):
        raise KeyboardInterrupt

    with st.writer(tmp_path / "i", files=files) as own:
        real = getattr(files, call)
        setattr(files, call, interrupted)
        with pytest.raises(KeyboardInterrupt):
            own.commit(samples.facts(2), samples.arrays(2))
        setattr(files, call, real)
        assert samples.tree(tmp_path) == before
        own.commit(samples.facts(3), samples.arrays(3))
    assert samples.same(st.read(tmp_path / "i", verify=True), 3)


def test_an_interrupt_after_the_link_takes_the_commit_back(tmp_path):
    samples.folder(tmp_path / "i", 1)

    class Interrupted(st.Files):
        def link(self, *args):
            super().link(*args)
            raise KeyboardInterrupt

    with st.writer(tmp_path / "i", files=Interrupted()) as own, pytest.raises(KeyboardInterrupt):
        own.commit(samples.facts(2), samples.arrays(2))
    assert samples.same(st.read(tmp_path / "i", verify=True), 1)
    samples.commit(tmp_path / "i", 3)
    assert samples.same(st.read(tmp_path / "i", verify=True), 3)


def test_a_link_that_was_made_though_the_system_says_otherwise_counts(tmp_path):
    """Over a network the answer to the first attempt may be lost, and the second finds the name taken: by itself."""

    class Confused(st.Files):
        def link(self, *args):
            super().link(*args)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    assert samples.commit(tmp_path / "i", 1, files=Confused()) == 1
    assert samples.same(st.read(tmp_path / "i", verify=True), 1)


def test_known_lack_of_space_is_said_before_writing(tmp_path, monkeypatch):
    samples.folder(tmp_path / "i", 1)
    before = samples.tree(tmp_path)
    monkeypatch.setattr(st.writing, "free_bytes", lambda folder: 0)
    files = simulated.Recorder(tmp_path)
    with pytest.raises(StorageError, match=r"not enough space to write .*i: 0\.0 MiB needed, 0\.0 MiB free; free some"):
        samples.commit(tmp_path / "i", 2, files=files)
    assert files.calls == []
    assert samples.tree(tmp_path) == before


NO_ROOM = """
import resource, signal, sys
sys.path.insert(0, sys.argv[2])
import samples
from longwave import storage as st
from longwave.errors import StorageError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    with st.writer(sys.argv[1]) as own:
        own.commit(samples.facts(2), samples.arrays(2, rows=5000))
except StorageError as error:
    print(error)
"""


def run(code, *arguments):
    command = [sys.executable, "-c", code, arguments[0], str(Path(__file__).parent), *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_file_that_the_system_cuts_short_is_a_clear_error(tmp_path):
    samples.folder(tmp_path / "i", 1)
    before = samples.tree(tmp_path)
    assert run(NO_ROOM, str(tmp_path / "i")) == f"cannot write {tmp_path / 'i'}: {os.strerror(errno.EFBIG)}"
    assert samples.tree(tmp_path) == before
    assert samples.same(st.read(tmp_path / "i", verify=True), 1)


def test_a_full_disk(tmp_path, monkeypatch):
    """A small file system in memory, filled from outside until there is no room for a commit of any size."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(mounted)], capture_output=True)
    if done.returncode:
        pytest.skip("a file system cannot be mounted here: " + done.stderr.decode().strip())
    try:
        path = mounted / "i"
        samples.folder(path, 1)
        with (
            pytest.raises(StorageError, match=r"not enough space to write .* MiB needed, 0\.\d MiB free"),
            st.writer(path) as own,
        ):
            own.commit({}, samples.arrays(2, rows=50_000))
        monkeypatch.setattr(st.writing, "free_bytes", lambda folder: 1 << 40)  # as if others took it meanwhile
        before, told = samples.tree(path), []
        for left in range(0, 60_000, 4096):
            free = os.statvfs(mounted)
            (mounted / "filler").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - left)))
            try:
                samples.commit(path, 2)
            except StorageError as error:
                told.append(str(error))
                assert samples.same(st.read(path, verify=True), 1)
                assert samples.tree(path) == before
            (mounted / "filler").unlink()
        assert len(told) > 3
        assert all("not enough space" in line for line in told)
        assert samples.same(st.read(path, verify=True), 2)
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


READ_ONLY = """
import os, sys
sys.path.insert(0, sys.argv[2])
import samples
from longwave import storage as st
from longwave.errors import StorageError
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
path = sys.argv[1]
assert samples.same(st.read(path, verify=True), int(sys.argv[3]))
assert st.verify(path).ok and st.history(path) and st.is_index(path)
def told(work):
    try:
        work()
    except StorageError as error:
        print(error)
def write():
    with st.writer(path) as own:
        own.commit({}, {})
told(write)
told(lambda: st.vacuum(path))
told(lambda: st.check_target(path, force=True))
told(lambda: samples.commit(path + "2", 1))
"""


def openly(folder):
    """Let others in: temporary folders are closed to them."""
    for part in [folder, *folder.parents]:
        if part.stat().st_uid == os.getuid() and part != Path("/"):
            part.chmod(part.stat().st_mode | 0o755)


@pytest.mark.parametrize("kind", ["new", "old"])
def test_a_folder_that_is_read_only_is_read_and_not_written(tmp_path, kind):
    path = samples.folder(tmp_path / "i", 1) if kind == "new" else samples.old_folder(tmp_path / "i", 1)
    openly(path)
    for folder in [path, path / "manifests", path / "data"]:
        if folder.exists():
            folder.chmod(0o555)
    if (path / "lock").exists():
        (path / "lock").chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        lines = run(READ_ONLY, str(path), "1").splitlines()
    finally:
        tmp_path.chmod(0o755)
        for folder in [path, path / "manifests", path / "data"]:
            if folder.exists():
                folder.chmod(0o755)
    assert len(lines) == 4
    assert all("check its permissions, or write elsewhere" in line for line in lines[:2]), lines
    assert lines[2] == f"cannot write {path}: you may not write to {path}; choose another folder"
    assert lines[3] == f"cannot write {path}2: you may not write to {tmp_path}; choose another folder"


CLOSED = """
import os, sys
from longwave import storage as st
from longwave.errors import StorageError
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    st.read(sys.argv[1])
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize("closed", ["", "manifests", "data", "manifests/00000001.json", "data/*"])
def test_what_one_may_not_open_is_named(tmp_path, closed):
    path = samples.folder(tmp_path / "i", 1)
    openly(path)
    for place in sorted(path.glob(closed)) if closed else [path]:
        place.chmod(0o000)
    told = run(CLOSED, str(path))
    for place in sorted(path.glob(closed)) if closed else [path]:
        place.chmod(0o755)
    assert told.startswith(str(path))
    assert "Permission denied; check its permissions" in told


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    import fcntl

    def refuse(handle, how):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(StorageError, match=r"cannot lock .*lock: Operation not supported; write to a file system with"):
        samples.commit(tmp_path / "i", 1)


@pytest.mark.parametrize("what", ["pipe", "link", "folder"])
@pytest.mark.parametrize("name", ["lock", "manifests", "data"])
def test_what_is_in_the_way_of_a_writer_is_not_followed(tmp_path, name, what):
    path, outside = samples.folder(tmp_path / "i", 1), tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(path / name) if name != "lock" else (path / name).unlink()
    if what == "pipe":
        os.mkfifo(path / name)
    elif what == "link":
        (path / name).symlink_to(outside)
    else:
        (path / name).mkdir()
    if (name, what) == ("manifests", "folder") or (name, what) == ("data", "folder"):
        samples.commit(path, 2)  # an empty folder is no hindrance
        assert samples.same(st.read(path, verify=True), 2)
    else:
        with pytest.raises(StorageError) as error:
            samples.commit(path, 2)
        assert str(path) in str(error.value)
    assert list(outside.iterdir()) == []
