"""What a commit keeps, what readers see, and how the folders of earlier versions become new ones."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import samples
import simulated

from longwave import storage as st
from longwave.errors import (
    ConflictError,
    CorruptIndexError,
    IndexExistsError,
    InputError,
    NewerIndexError,
    NotAnIndexError,
    StorageError,
)
from longwave.storage import array_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "i"


def test_what_is_committed_is_read(path):
    with st.writer(path, create=True) as own:
        assert own.state is None
        for number in (1, 2, 3):
            assert own.commit(samples.facts(number), samples.arrays(number), f"state {number}") == number
            assert samples.same(own.state, number)
    for version in (None, 1, 2, 3):
        assert samples.same(st.read(path, version, verify=True), version or 3)
    assert [(c.number, c.parent, c.message) for c in st.history(path)] == [
        (1, None, "state 1"),
        (2, 1, "state 2"),
        (3, 2, "state 3"),
    ]
    assert sorted(p.name for p in path.iterdir()) == ["data", "lock", "manifests"]
    assert st.read(path).commit == st.history(path)[-1]


def test_arrays_are_read_only_and_large_ones_are_maps(path, monkeypatch):
    samples.folder(path, 1)
    for small in (array_file.SMALL, 0):
        monkeypatch.setattr(array_file, "SMALL", small)
        state = st.read(path)
        assert samples.same(state, 1)
        assert not any(array.flags.writeable for array in state.arrays.values())
        assert all(array.flags.aligned for array in state.arrays.values())


def test_what_is_kept_is_not_written_again_and_what_is_not_named_is_gone(path):
    samples.folder(path, 1)
    before = {p: p.stat().st_mtime_ns for p in path.rglob("*.npy")}
    with st.writer(path) as own:
        own.commit(samples.facts(1), {"vectors": st.Kept("vectors"), "names": st.Kept("ids"), "new": np.arange(3)})
        own.commit(samples.facts(1), {"vectors": st.Kept("vectors"), "ids": st.Kept("names")})
        state = own.state
    assert state.entries.keys() == {"vectors", "ids"}
    assert {name: entry.file for name, entry in state.entries.items()} == {
        name: entry.file for name, entry in st.read(path, 1).entries.items() if name in state.entries
    }
    assert np.array_equal(st.read(path).arrays["ids"], samples.arrays(1)["ids"])
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert len(list(path.rglob("*.npy"))) == len(before) + 1


def test_arrays_of_a_known_state_are_taken_from_it_where_the_file_is_the_same(path):
    samples.folder(path, 1)
    known = st.read(path)
    with st.writer(path) as own:
        kept = {name: st.Kept(name) for name in samples.arrays(1)}
        own.commit(samples.facts(1), {**kept, "mean": np.float64(9)})
    state = st.read(path, known=known)
    assert [name for name in kept if state.arrays[name] is not known.arrays[name]] == ["mean"]
    assert state.arrays["mean"] == 9
    assert st.read(path, known=known, verify=True).arrays["ids"] is not known.arrays["ids"]


def test_what_cannot_be_kept_or_stored_is_named(path):
    samples.folder(path, 1)
    with st.writer(path) as own:
        with pytest.raises(InputError, match=r"no array 'other' to keep; the state has: ids, mean, none, packed, vec"):
            own.commit({}, {"new": np.arange(3), "other": st.Kept("other")})
        with pytest.raises(StorageError, match="odd holds object; an index folder can hold numbers and strings only"):
            own.commit({}, {"odd": np.array([{}])})
        with pytest.raises(InputError, match="facts must be what JSON can hold"):
            own.commit({"a": object()}, {"new": np.arange(3)})
        with pytest.raises(InputError, match="at least one letter"):
            own.commit({}, {"": np.arange(3)})
        before = samples.tree(path)
        assert own.commit({"n": np.int64(3), "x": np.float32(0.5)}, {}) == 2
        assert own.state.facts == {"n": 3, "x": 0.5}
    assert len(before) == len(samples.tree(path)) - 1  # nothing of the failed ones was left
    with pytest.raises(StorageError, match=r"writer of .* is closed"):
        own.commit({}, {})


def test_odd_names_of_arrays_are_names_and_not_paths(path):
    names = ["../x", "/etc/passwd", "a\0b", "\ud800", "é" * 300, "."]
    with st.writer(path, create=True) as own:
        own.commit({}, {name: np.arange(3) for name in names})
    assert list(st.read(path, verify=True).arrays) == names
    assert all(p.parent == path / "data" for p in path.rglob("*.npy"))


def test_reading_and_asking_change_nothing(path):
    samples.folder(path, 1, 2)
    (path / "manifests" / f"{'0' * 32}.partial").write_text("left")
    before = [(str(p), p.stat().st_mtime_ns, p.stat().st_ctime_ns) for p in sorted(path.rglob("*"))]
    st.read(path, verify=True)
    st.read(path, 1)
    st.history(path)
    st.verify(path)
    st.is_index(path)
    st.check_target(path, force=True)
    assert [(str(p), p.stat().st_mtime_ns, p.stat().st_ctime_ns) for p in sorted(path.rglob("*"))] == before


def test_opening_reads_one_manifest(path, monkeypatch):
    samples.folder(path, *range(1, 6))
    opened, real = [], os.open

    def watched(name, *args, **kwargs):
        opened.append(str(name))
        return real(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", watched)
    st.read(path)
    assert [name for name in opened if name.endswith(".json")] == ["00000005.json"]


def test_a_version_that_is_not_there(path):
    samples.folder(path, 1, 2)
    with pytest.raises(StorageError, match="has no version 3; it has versions 1 to 2, see history"):
        st.read(path, 3)
    with pytest.raises(StorageError, match="has no version 0"):
        st.read(path, 0)


# Targets


def test_not_an_index(tmp_path):
    for work in (st.read, st.history, st.verify):
        with pytest.raises(NotAnIndexError, match="does not exist; create an index with"):
            work(tmp_path / "nothing")
        (tmp_path / "file").write_text("x")
        with pytest.raises(NotAnIndexError, match="is a file"):
            work(tmp_path / "file")
        with pytest.raises(NotAnIndexError, match=r"no manifests and no manifest\.json"):
            work(tmp_path)
    with pytest.raises(NotAnIndexError, match=r"no manifests"), st.writer(tmp_path):
        pass
    (tmp_path / "manifest.json").write_text('{"format": "something else"}')
    with pytest.raises(NotAnIndexError, match="belongs to another program"):
        st.read(tmp_path)
    assert not st.is_index(tmp_path)
    assert not st.is_index(tmp_path / "file")
    assert not st.is_index(tmp_path / "a\0b")
    with pytest.raises(StorageError, match="cannot be a path"):
        st.read(tmp_path / "a\0b")


def test_targets(tmp_path, path):
    st.check_target(path, force=False)
    path.mkdir()
    st.check_target(path, force=False)
    samples.folder(path, 1)
    assert st.is_index(path)
    with pytest.raises(IndexExistsError, match="exists; choose another path, or overwrite it with force"):
        st.check_target(path, force=False)
    (path / "notes.txt").write_text("mine")
    st.check_target(path, force=True)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("x")
    (tmp_path / "file").write_text("x")
    for name, kind in (("photos", "folder"), ("file", "file")):
        with pytest.raises(IndexExistsError, match=f"is a {kind} that is not a Longwave index, and is left as it is"):
            st.check_target(tmp_path / name, force=True)
        with pytest.raises(IndexExistsError, match="choose another name"):
            samples.commit(tmp_path / name, 1)
    with pytest.raises(StorageError, match="there is no folder"):
        samples.commit(tmp_path / "no" / "index", 1)
    assert samples.tree(tmp_path / "photos") == ["me.jpg"]


def test_through_a_link_the_folder_that_it_points_to_is_meant(tmp_path, path):
    link = tmp_path / "link"
    link.symlink_to("i")  # nothing is there yet
    samples.folder(link, 1, 2)
    assert link.is_symlink()
    assert st.is_index(link)
    assert samples.same(st.read(link, verify=True), 2)
    st.vacuum(link, grace=0)
    assert samples.same(st.read(path, verify=True), 2)
    assert [c.number for c in st.history(link)] == [2]


def test_a_newer_format_is_named_and_not_written_to(path):
    samples.folder(path, 1)
    manifest = json.loads((path / "manifests" / "00000001.json").read_text())
    (path / "manifests" / "00000002.json").write_text(json.dumps({**manifest, "format_version": 5}))
    with pytest.raises(NewerIndexError, match=r"format version 5, this Longwave reads up to 4; upgrade"):
        st.read(path)
    with pytest.raises(NewerIndexError), st.writer(path):
        pass
    with pytest.raises(NewerIndexError):
        st.vacuum(path)
    assert samples.same(st.read(path, 1), 1)


# Vacuum


def test_a_vacuum_keeps_what_it_should(path):
    samples.folder(path, 1, 2, 3, 4)
    foreign = [path / name for name in ("notes.txt", "data/mine.npy", "data/x.npy.bak", "manifests/5.json")]
    for file in foreign:
        file.write_text("mine")
    (path / "data" / "folder-0123456789abcdef.npy").mkdir()
    assert st.vacuum(path) == st.Vacuumed(0, 0, 0)  # nothing is an hour old
    (path / "data" / "x-0123456789abcdef.npy").write_text("left by a killed writer")
    (path / "manifests" / f"{'a' * 32}.partial").write_text("left too")
    assert st.vacuum(path) == st.Vacuumed(0, 0, 0)
    open_state = st.read(path, 1)
    done = st.vacuum(path, keep=3, grace=0)
    assert (done.manifests, done.files) == (1, len(samples.arrays(1)) + 2)
    assert done.bytes > 1000
    assert samples.same(open_state, 1)
    for version in (2, 3, 4):
        assert samples.same(st.read(path, version, verify=True), version)
    with pytest.raises(StorageError, match="has no version 1; it has versions 2 to 4"):
        st.read(path, 1)
    for age, left in ((3000, [2, 3, 4]), (4000, [4])):
        for file in path.rglob("*"):
            os.utime(file, (file.stat().st_atime, file.stat().st_mtime - age))
        st.vacuum(path)
        assert [c.number for c in st.history(path)] == left
        samples.which(st.read(path, verify=True))
    assert all(file.read_text() == "mine" for file in foreign)
    for options in ({"keep": 0}, {"grace": -1}, {"grace": float("nan")}, {"keep": 1.5}):
        with pytest.raises(InputError, match="keep must be at least 1 and grace at least 0 seconds"):
            st.vacuum(path, **options)


def test_a_replaced_version_stays_for_the_grace_time_however_old_it_is(path):
    samples.folder(path, 1)
    for file in path.rglob("*"):
        os.utime(file, (0, 0))
    samples.folder(path, 2)
    assert st.vacuum(path, grace=60) == st.Vacuumed(0, 0, 0)
    assert samples.same(st.read(path, 1, verify=True), 1)


def test_maps_of_a_reader_outlive_a_vacuum(path, monkeypatch):
    monkeypatch.setattr(array_file, "SMALL", 0)
    samples.folder(path, 1)
    state = st.read(path)
    samples.folder(path, 2)
    assert st.vacuum(path, grace=0).manifests == 1
    assert not (path / "data" / state.entries["vectors"].file).exists()
    assert samples.same(state, 1)


def test_no_file_goes_while_a_manifest_cannot_be_read(path):
    samples.folder(path, 1, 2)
    newest = path / "manifests" / "00000002.json"
    content = newest.read_bytes()
    newest.write_bytes(content[:-10])
    before = samples.tree(path)
    assert st.vacuum(path, grace=0) == st.Vacuumed(0, 0, 0)
    assert samples.tree(path) == before
    newest.write_bytes(content)
    assert samples.same(st.read(path, verify=True), 2)


# Format versions 2 and 3


@pytest.mark.parametrize("version", [2, 3])
def test_a_folder_of_an_earlier_version_is_read_and_becomes_a_new_one(path, version):
    samples.old_folder(path, 1, version)
    assert st.is_index(path)
    state = st.read(path, verify=True)
    assert (state.number, state.passed_over) == (0, ())
    assert samples.same(state, 1)
    assert st.verify(path).ok
    assert [c.number for c in st.history(path)] == [0]
    inodes = {(path / f"{name}.npy").stat().st_ino for name in samples.arrays(1)}
    with st.writer(path) as own:
        assert samples.same(own.state, 1)
        kept = {name: st.Kept(name) for name in samples.arrays(1)}
        assert own.commit(samples.facts(1), kept, "converted") == 1
        assert samples.same(own.state, 1)
    assert {p.stat().st_ino for p in (path / "data").iterdir()} == inodes  # nothing was copied
    assert [(c.number, c.parent) for c in st.history(path)] == [(0, None), (1, 0)]
    assert samples.same(st.read(path, 0, verify=True), 1)
    (path / "notes.txt").write_text("mine")
    assert st.vacuum(path) == st.Vacuumed(0, 0, 0)
    assert st.vacuum(path, grace=0).files == len(kept) + 1
    assert sorted(p.name for p in path.iterdir()) == ["data", "lock", "manifests", "notes.txt"]
    assert samples.same(st.read(path, verify=True), 1)


def test_where_files_cannot_have_two_names_they_are_copied_and_two_writers_still_cannot_both_win(path):
    class NoLinks(st.Files):
        def link(self, source, name, target, new):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    samples.old_folder(path, 1)
    with st.writer(path, files=NoLinks()) as own:
        own.commit(samples.facts(1), {name: st.Kept(name) for name in samples.arrays(1)})
        own.commit(samples.facts(2), samples.arrays(2))
        own.vacuum(grace=0)
        shutil.copy(path / "manifests" / "00000002.json", path / "manifests" / "00000003.json")
        with pytest.raises(ConflictError, match="another writer has committed version 3"):
            own.commit(samples.facts(4), samples.arrays(4))
    (path / "manifests" / "00000003.json").unlink()
    assert samples.same(st.read(path, verify=True), 2)
    assert len(list(path.rglob("*.npy"))) == len(samples.arrays(2))


def test_an_index_set_aside_by_a_killed_writer_of_an_earlier_version_is_read_and_brought_back(path):
    samples.old_folder(path, 1).rename(path.parent / ".i.old")
    assert st.is_index(path)
    assert samples.same(st.read(path, verify=True), 1)
    assert not path.exists()
    with pytest.raises(IndexExistsError, match="force"):
        st.check_target(path, force=False)
    samples.commit(path, 2)
    assert [p.name for p in path.parent.iterdir()] == ["i"]
    assert samples.same(st.read(path, 0), 1)


def test_a_version_before_those_is_named_and_can_be_replaced(path):
    samples.old_folder(path, 1, 2)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "format_version": 1}))
    with pytest.raises(StorageError, match=r"version 1, written by an earlier Longwave.*build the index again"):
        st.read(path)
    with st.writer(path, create=True) as own:
        with pytest.raises(StorageError, match="version 1"):
            assert own.state
        own.commit(samples.facts(2), samples.arrays(2))
        assert samples.same(own.state, 2)
    assert [c.number for c in st.history(path)] == [1]


# Damage that a writer meets


def test_a_damaged_index_can_be_replaced_but_not_added_to(path):
    samples.folder(path, 1)
    file = path / "data" / st.read(path).entries["ids"].file
    file.write_bytes(b"")
    with st.writer(path) as own:
        with pytest.raises(CorruptIndexError, match="0 bytes instead of"):
            assert own.state
        with pytest.raises(CorruptIndexError, match="cannot be kept"):
            own.commit(samples.facts(2), {**samples.arrays(2), "ids": st.Kept("ids")})
        own.commit(samples.facts(2), samples.arrays(2))
        assert samples.same(own.state, 2)
    (path / "manifests" / "00000001.json").write_text("{")
    (path / "manifests" / "00000002.json").write_text("{")
    with pytest.raises(CorruptIndexError, match=r"00000002\.json is cut short or altered"):
        st.read(path)
    with pytest.raises(IndexExistsError, match="force"):
        st.check_target(path, force=False)
    with st.writer(path, create=True) as own:
        with pytest.raises(CorruptIndexError, match="cut short or altered"):
            assert own.state
        assert own.commit(samples.facts(3), samples.arrays(3)) == 3
    assert samples.same(st.read(path, verify=True), 3)


def test_a_newest_manifest_cut_short_gives_the_version_before_and_its_number_is_not_used_again(path):
    samples.folder(path, 1, 2)
    newest = path / "manifests" / "00000002.json"
    newest.write_bytes(newest.read_bytes()[:100])
    state = st.read(path, verify=True)
    assert (state.number, samples.which(state)) == (1, 1)
    assert len(state.passed_over) == 1
    assert "00000002.json is cut short or altered" in state.passed_over[0]
    report = st.verify(path)
    assert not report.ok
    assert list(report.manifests) == [2]
    with pytest.raises(CorruptIndexError):
        st.read(path, 2)
    assert samples.commit(path, 3) == 3
    assert [(c.number, c.parent) for c in st.history(path)] == [(1, None), (3, 1)]


def test_verify_says_what_is_lost_and_what_is_not(path, monkeypatch):
    samples.folder(path, 1)
    entries = st.read(path).entries
    (path / "data" / entries["ids"].file).unlink()
    file = path / "data" / entries["vectors"].file
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    report = st.verify(path)
    assert report.whole == ("packed", "mean", "none")
    assert report.lost.keys() == {"ids", "vectors"}
    assert "lacks" in report.lost["ids"]
    assert "checksum differs" in report.lost["vectors"]


def test_the_last_number(path):
    samples.folder(path, 1)
    (path / "manifests" / "99999999.json").write_text("")
    with st.writer(path) as own, pytest.raises(StorageError, match="has the largest possible number; remove it"):
        own.commit({}, {})
    assert samples.same(st.read(path), 1)


def test_types_of_either_byte_order_and_times_are_kept(path):
    arrays = {
        "big": np.array(["é", "zz"], ">U2"),
        "time": np.array(["2020-01-01"], "M8[s]"),
        "flags": np.array([True, False]),
        "complex": np.array([1j], ">c16"),
        "turned": np.arange(6).reshape(2, 3).T,
    }
    with st.writer(path, create=True) as own:
        own.commit({}, arrays)
    back = st.read(path, verify=True).arrays
    assert all(np.array_equal(back[n], a) and back[n].dtype == a.dtype for n, a in arrays.items())


def test_files_are_those_of_numpy(path):
    samples.folder(path, 1)
    for name, entry in st.read(path).entries.items():
        assert np.array_equal(np.load(path / "data" / entry.file, allow_pickle=False), samples.arrays(1)[name])


def test_nothing_is_changed_in_place(path):
    """Every file that is written is new."""
    files = simulated.Recorder(path.parent)
    for number in (1, 2, 3):
        samples.commit(path, number, files=files)
    created = [Path(*where) for what, where, *_ in files.calls if what == "create"]
    assert len(set(created)) == len(created) == 3 * (len(samples.arrays(1)) + 1)
    assert all(what != "rename" for what, *_ in files.calls)
