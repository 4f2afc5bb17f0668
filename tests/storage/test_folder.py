import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import longwave as lw
import mutations
from longwave.errors import (
    CorruptIndexError,
    IndexExistsError,
    InputError,
    NewerIndexError,
    NotAnIndexError,
    StorageError,
)
from longwave.storage import folder as storage


@pytest.fixture(scope="module")
def index(digits_split):
    base = lw.Index.build(
        digits_split[0][:300], groups=np.arange(300) // 2, k=10, spectrum=lw.Lanczos(40), sparsity=0.3
    )
    return base.extend(digits_split[0][300:320], groups=np.arange(1000, 1020))


@pytest.fixture
def saved(index, tmp_path):
    index.save(tmp_path / "a.longwave")
    return tmp_path / "a.longwave"


def test_round_trip(index, saved, digits_split):
    queries = digits_split[2][:5]
    loaded = lw.Index.load(saved, verify=True)
    for options in ({}, {"solver": lw.Hybrid()}, {"solver": lw.Euclidean()}, {"blend": 0.5}):
        a, b = index.search(queries, 30, **options), loaded.search(queries, 30, **options)
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_allclose(a.scores, b.scores, rtol=1e-6)
    assert loaded.settings == index.settings


@pytest.mark.parametrize(
    "options",
    [{}, {"spectrum": None}, {"spectrum": lw.Exact(), "components": "giant"}, {"ids": [f"é{i}" for i in range(60)]}],
)
def test_round_trip_of_every_shape(options, tmp_path, digits_split):
    index = lw.Index.build(digits_split[0][:60], k=5, **options)
    index.save(tmp_path / "i")
    loaded = lw.Index.load(tmp_path / "i")
    solver = lw.ConjugateGradient() if index.spectrum is None else lw.Spectral()
    hits, again = (i.search(digits_split[2][:3], 60, solver=solver) for i in (index, loaded))
    np.testing.assert_array_equal(hits.ids, again.ids)
    np.testing.assert_array_equal(hits.scores, again.scores)


def test_arrays_are_memory_mapped(saved):
    loaded = lw.Index.load(saved)
    values = (loaded.vertices.over if hasattr(loaded.vertices, "over") else loaded.vertices).values
    assert isinstance(values.base, np.memmap) or not values.flags.owndata
    assert not values.flags.writeable


def test_no_pickle_anywhere(saved):
    for file in saved.glob("*.npy"):
        np.load(file, allow_pickle=False)
    assert {p.suffix for p in saved.iterdir()} == {".npy", ".json"}


def test_refuses_to_overwrite_without_force(index, saved):
    before = {p.name: p.stat().st_mtime_ns for p in saved.iterdir()}
    with pytest.raises(IndexExistsError, match="force"):
        index.save(saved)
    assert {p.name: p.stat().st_mtime_ns for p in saved.iterdir()} == before
    index.save(saved, force=True)
    lw.Index.load(saved, verify=True)


def test_force_does_not_overwrite_what_is_not_an_index(index, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("x")
    with pytest.raises(IndexExistsError, match="not a Longwave index"):
        index.save(tmp_path / "photos", force=True)
    assert (tmp_path / "photos" / "me.jpg").read_text() == "x"
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexExistsError):
        index.save(tmp_path / "file", force=True)


def test_no_parent_folder(index, tmp_path):
    with pytest.raises(StorageError, match="there is no folder"):
        index.save(tmp_path / "no" / "index")


def test_not_an_index(tmp_path):
    with pytest.raises(NotAnIndexError, match="does not exist"):
        lw.Index.load(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotAnIndexError, match="is a file"):
        lw.Index.load(tmp_path / "file")
    with pytest.raises(NotAnIndexError, match=r"no manifest\.json"):
        lw.Index.load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": "something else"}')
    with pytest.raises(NotAnIndexError, match="of another program"):
        lw.Index.load(tmp_path)


def test_a_newer_version_is_named(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["format_version"] = 99
    (saved / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(NewerIndexError, match=r"version 99.*upgrade"):
        lw.Index.load(saved)


def test_every_missing_or_cut_file_is_named(saved):
    for file in sorted(saved.iterdir()):
        content = file.read_bytes()
        file.unlink()
        with pytest.raises((CorruptIndexError, NotAnIndexError)) as error:
            lw.Index.load(saved)
        assert file.name in str(error.value)
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(CorruptIndexError) as error:
            lw.Index.load(saved)
        assert file.name in str(error.value)
        file.write_bytes(content)
    lw.Index.load(saved, verify=True)


def test_an_altered_byte_is_found_by_verify_and_in_a_small_file_always(saved, monkeypatch):
    file = saved / "basis_sparse_data.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    for verify in (True, False):
        with pytest.raises(CorruptIndexError, match="checksum"):
            lw.Index.load(saved, verify=verify)
    monkeypatch.setattr(storage, "_SMALL", 1000)
    assert len(content) > 1000
    lw.Index.load(saved)
    with pytest.raises(CorruptIndexError, match="checksum"):
        lw.Index.load(saved, verify=True)


def test_an_altered_manifest_is_a_clear_error(saved):
    """Found by its checksum; and where that was made right again, by what it lacks."""
    manifest = json.loads((saved / "manifest.json").read_text())
    without_ids = {**manifest, "arrays": {k: v for k, v in manifest["arrays"].items() if k != "ids"}}
    for altered, lacks in (
        ({k: v for k, v in manifest.items() if k != "arrays"}, "list of arrays"),
        ({k: v for k, v in manifest.items() if k != "settings"}, "settings"),
        (without_ids, "there is no array ids"),
    ):
        (saved / "manifest.json").write_text(json.dumps(altered))
        with pytest.raises(CorruptIndexError, match=r"manifest\.json .*build the index again"):
            lw.Index.load(saved)
        mutations.reseal(saved)
        with pytest.raises(CorruptIndexError, match=lacks):
            lw.Index.load(saved)


def test_full_disk_leaves_nothing_behind(index, tmp_path, monkeypatch):
    real, calls = storage._sync, []

    def failing(file):
        calls.append(1)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file)

    monkeypatch.setattr(storage, "_sync", failing)
    with pytest.raises(StorageError, match=r"not enough space .* MiB needed"):
        index.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


NO_ROOM = """
import resource, signal, sys, longwave as lw
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
index = lw.Index.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    index.save(sys.argv[1], force=True)
except lw.errors.StorageError as error:
    print(error)
"""


def test_a_file_that_the_system_cuts_short_is_a_clear_error_and_the_old_index_stays(index, saved):
    """A limit on the size of files stops a write in the middle of an array, as a full disk does."""
    assert max(p.stat().st_size for p in saved.iterdir()) > 20_000
    done = subprocess.run([sys.executable, "-c", NO_ROOM, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"cannot write {saved}: {os.strerror(errno.EFBIG)}"
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]
    assert len(lw.Index.load(saved, verify=True)) == len(index)


def test_known_lack_of_space_is_said_before_writing(index, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(StorageError, match="0 MiB free"):
        index.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_the_old_index(index, saved, monkeypatch):
    monkeypatch.setattr(storage, "_sync", lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        index.save(saved, force=True)
    monkeypatch.undo()
    lw.Index.load(saved, verify=True)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


KILLED = """
import sys, numpy as np, longwave as lw
from longwave.storage import folder as storage
def pause(file):
    print("writing", flush=True)
    import time; time.sleep(60)
storage._sync = pause
lw.Index.build(np.eye(8), k=2).save(sys.argv[1], force=True)
"""


def test_kill_9_while_saving_leaves_the_old_index_and_the_next_save_cleans_up(index, saved):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(saved)], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"writing"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    lw.Index.load(saved, verify=True)
    left = sorted(p.name for p in saved.parent.iterdir() if p != saved)
    assert len(left) == 2
    assert left[0] == ".a.longwave.lock"
    assert left[1].startswith(".a.longwave.partial-")
    index.save(saved, force=True)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


def test_killed_between_two_renames_the_old_index_is_read_where_it_is_and_the_next_writer_brings_it_back(index, saved):
    old = saved.parent / f".{saved.name}.old"
    saved.rename(old)
    assert len(lw.Index.load(saved, verify=True)) == len(index)
    assert [p.name for p in saved.parent.iterdir()] == [old.name]
    with pytest.raises(IndexExistsError, match="force"):
        storage.check_target(saved, force=False)
    with pytest.raises(IndexExistsError, match="force"):
        index.save(saved)
    storage._clear(saved)
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]
    shutil.copytree(saved, old)  # killed after the second rename
    index.save(saved, force=True)
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_what_looks_like_ours_but_is_not_stays(index, saved):
    for name in (".a.longwave.old", ".a.longwave.partial-notes", ".b.longwave.partial-12345678"):
        (saved.parent / name).mkdir()
        (saved.parent / name / "mine.txt").write_text("mine")
    index.save(saved, force=True)
    assert len(list(saved.parent.rglob("mine.txt"))) == 3


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_the_old_index_is_there_until_the_new_one_is(index, saved, monkeypatch, exchange):
    """Stopped at any system call that changes names, the folder is a whole index."""
    if not exchange:
        monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    small, seen = lw.Index.build(lw.datasets.arcs()[0], k=2), []
    for name in ("rename", "mkdir", "unlink"):
        real = getattr(os, name)

        def watched(*args, _real=real, **kwargs):
            seen.append(len(lw.Index.load(saved, verify=True)))
            try:
                return _real(*args, **kwargs)
            finally:
                seen.append(len(lw.Index.load(saved, verify=True)))

        monkeypatch.setattr(os, name, watched)
    small.save(saved, force=True)
    assert set(seen) == {len(index), len(small)}
    assert seen == sorted(seen, reverse=True)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


def test_a_failed_second_rename_brings_the_old_index_back(index, saved, monkeypatch):
    monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    small, real = lw.Index.build(lw.datasets.arcs()[0], k=2), os.rename

    def failing(source, target, **kwargs):
        if ".partial-" in str(source):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(StorageError, match=r"cannot write .*a\.longwave: "):
        small.save(saved, force=True)
    assert len(lw.Index.load(saved, verify=True)) == len(index)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


def test_reading_changes_nothing_not_even_what_a_writer_left(saved):
    partial = saved.parent / f".{saved.name}.partial-0a1b2c3d"
    shutil.copytree(saved, partial)
    (saved.parent / f".{saved.name}.lock").touch()
    before = sorted((str(p), p.stat().st_ctime_ns) for p in saved.parent.rglob("*"))
    lw.Index.load(saved, verify=True)
    with pytest.raises(NotAnIndexError):
        lw.Index.load(saved.parent / "other")
    assert sorted((str(p), p.stat().st_ctime_ns) for p in saved.parent.rglob("*")) == before


def test_an_index_of_the_version_before_opens(index, saved, digits_split):
    """Version 2 had no checksum of its manifest."""
    manifest = json.loads((saved / "manifest.json").read_text())
    del manifest["sha256"]
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format_version": 2}))
    old = lw.Index.load(saved, verify=True)
    queries = digits_split[2][:3]
    np.testing.assert_array_equal(old.search(queries, 9).ids, index.search(queries, 9).ids)
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format_version": 1}))
    with pytest.raises(StorageError, match=r"version 1, written by an earlier Longwave.*build the index again"):
        lw.Index.load(saved)


def test_numbers_of_numpy_and_arrays_without_an_axis_are_kept(tmp_path):
    vectors, _ = lw.datasets.arcs()
    index = lw.Index.build(vectors, k=np.int64(2), gamma=np.float32(2.5), spectrum=lw.Exact(), seed=np.int32(4))
    index.attach({}, {"mean": np.float64(0.25)}).save(tmp_path / "i")
    back = lw.Index.load(tmp_path / "i", verify=True)
    assert (back.settings.k, back.settings.kernel, back.settings.seed) == (2, "power:2.5", 4)
    assert back.attached["mean"].shape == ()
    assert back.attached["mean"] == 0.25


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    vectors, _ = lw.datasets.arcs()
    index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    wrong = replace(index, settings=replace(index.settings, sparsity=float("nan")))
    with pytest.raises(InputError, match=r"settings\.sparsity must be float, got nan"):
        wrong.save(tmp_path / "i")
    assert list(tmp_path.iterdir()) == []


def test_force_refuses_a_folder_with_other_files(index, saved):
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(IndexExistsError, match=r"also holds notes\.txt"):
        index.save(saved, force=True)
    assert (saved / "notes.txt").read_text() == "mine"


def test_force_through_a_link_replaces_what_it_points_to(index, saved, digits_split):
    link = saved.parent / "link"
    link.symlink_to(saved.name)
    lw.Index.build(digits_split[0][:40], k=5).save(link, force=True)
    assert link.is_symlink()
    assert len(lw.Index.load(saved)) == 40
    assert sorted(p.name for p in saved.parent.iterdir()) == ["a.longwave", "link"]


def test_facts_of_the_user_travel_with_the_index(tmp_path):
    vectors, query = lw.datasets.arcs()
    index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    kept = index.attach({"encoder": "lite0", "scales": [1, 2]}, {"paths": ["a.jpg", "b.jpg"], "mean": np.arange(3.0)})
    kept.save(tmp_path / "i")
    back = lw.Index.load(tmp_path / "i")
    assert back.about == {"encoder": "lite0", "scales": [1, 2]}
    assert back.attached["paths"].tolist() == ["a.jpg", "b.jpg"]
    assert back.attached["mean"].tolist() == [0, 1, 2]
    assert (back.search(query, 3).ids == index.search(query, 3).ids).all()


@pytest.mark.parametrize(("about", "arrays"), [({"x": object()}, {}), ({}, {"a/b": [1]}), ({}, {"a": [object()]})])
def test_facts_that_cannot_be_kept_are_refused(about, arrays):
    vectors, _ = lw.datasets.arcs()
    with pytest.raises(lw.errors.InputError):
        lw.Index.build(vectors, k=2, spectrum=lw.Exact()).attach(about, arrays)


def test_a_folder_that_may_not_be_written_to_is_said_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    with pytest.raises(StorageError, match=f"cannot write {tmp_path}/i: you may not write to {tmp_path}; choose"):
        storage.check_target(tmp_path / "i", force=False)
