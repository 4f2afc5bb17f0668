import errno
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import longwave as lw
from longwave import storage
from longwave.errors import CorruptIndexError, IndexExistsError, NewerIndexError, NotAnIndexError, StorageError


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
    assert isinstance(loaded.vectors.base, np.memmap) or not loaded.vectors.flags.owndata
    assert not loaded.vectors.flags.writeable


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


def test_an_altered_byte_is_found_by_verify(saved):
    file = saved / "basis_sparse_data.npy"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    lw.Index.load(saved)
    with pytest.raises(CorruptIndexError, match="checksum"):
        lw.Index.load(saved, verify=True)


def test_an_altered_manifest_is_a_clear_error(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    for key in ("arrays", "settings"):
        (saved / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if k != key}))
        with pytest.raises(CorruptIndexError):
            lw.Index.load(saved)
    entries = {k: v for k, v in manifest["arrays"].items() if k != "ids"}
    (saved / "manifest.json").write_text(json.dumps({**manifest, "arrays": entries}))
    with pytest.raises(CorruptIndexError, match="ids"):
        lw.Index.load(saved)


def test_full_disk_leaves_nothing_behind(index, tmp_path, monkeypatch):
    real, calls = np.save, []

    def failing(*args, **kwargs):
        calls.append(1)
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **kwargs)

    monkeypatch.setattr(np, "save", failing)
    with pytest.raises(StorageError, match=r"not enough space .* MiB needed"):
        index.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_known_lack_of_space_is_said_before_writing(index, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(StorageError, match="0 MiB free"):
        index.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_the_old_index(index, saved, monkeypatch):
    monkeypatch.setattr(np, "save", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        index.save(saved, force=True)
    monkeypatch.undo()
    lw.Index.load(saved, verify=True)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


KILLED = """
import sys, numpy as np, longwave as lw
from longwave import storage
slow = storage._checksum
def pause(path):
    print("writing", flush=True)
    import time; time.sleep(60)
storage._checksum = pause
lw.Index.build(np.eye(8), k=2).save(sys.argv[1], force=True)
"""


def test_kill_9_while_saving_leaves_the_old_index_and_the_next_save_cleans_up(index, saved):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(saved)], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"writing"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    lw.Index.load(saved, verify=True)
    left = [p.name for p in saved.parent.iterdir() if p != saved]
    assert len(left) == 1
    assert left[0].startswith(".a.longwave.partial-")
    index.save(saved, force=True)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


def test_killed_between_the_two_renames_brings_the_old_index_back(index, saved):
    stepped_aside = saved.parent / f".{saved.name}.partial-999999999-old"
    saved.rename(stepped_aside)
    storage._remove_stale(saved)
    lw.Index.load(saved, verify=True)
    assert not stepped_aside.exists()


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


@pytest.mark.parametrize(
    "name", ["graph_indices", "graph_indptr", "labels", "kinds", "item_of", "basis_sparse_indices"]
)
def test_damaged_numbers_are_an_error_not_a_crash(saved, name):
    """Compiled code does not look at its indices; `load` does."""
    file = saved / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-200:] = b"\x7f" * 200
    file.write_bytes(content)
    with pytest.raises(CorruptIndexError, match=name.removesuffix("_indices")):
        lw.Index.load(saved)


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


def test_a_disk_that_fills_up_is_named_with_the_path(tmp_path, monkeypatch):
    """numpy does not say that it is full."""

    def short(*_, **__):
        raise OSError("52740 requested and 52192 written")

    monkeypatch.setattr(np, "save", short)
    with pytest.raises(StorageError, match=f"not enough space to write {tmp_path}/i"):
        storage.write(tmp_path / "i", {}, {"vectors": np.zeros(3)})
    assert list(tmp_path.iterdir()) == []
