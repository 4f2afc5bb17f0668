"""An index in its folder: what `Index.save` and `Index.load` keep, refuse and say."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import earlier
import mutations
import numpy as np
import pytest

import longwave as lw
from longwave import storage
from longwave.errors import (
    CorruptIndexError,
    IndexExistsError,
    InputError,
    LongwaveWarning,
    NewerIndexError,
    NotAnIndexError,
    StorageError,
    StorageWarning,
)
from longwave.storage import array_file, saving


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


def contents(path):
    """All files of a folder but the lock, with all that is in them."""
    return {str(file.relative_to(path)): file.read_bytes() for file in mutations.files_of(path)}


def test_no_pickle_anywhere(saved):
    files = mutations.files_of(saved)
    for file in files:
        if file.suffix == ".npy":
            np.load(file, allow_pickle=False)
    assert {p.suffix for p in files} == {".npy", ".json"}
    assert sorted(p.name for p in saved.iterdir()) == ["data", "lock", "manifests"]


def test_refuses_to_overwrite_without_force(index, saved):
    before = {p: p.stat().st_mtime_ns for p in saved.rglob("*")}
    with pytest.raises(IndexExistsError, match="force"):
        index.save(saved)
    assert {p: p.stat().st_mtime_ns for p in saved.rglob("*")} == before
    index.save(saved, force=True)
    lw.Index.load(saved, verify=True)


# Versions


def small_index(n=12, **options):
    return lw.Index.build(np.random.default_rng(n).normal(size=(n, 5)) + 0.5, k=3, spectrum=lw.Exact(), **options)


def test_a_save_over_an_index_is_its_next_version_and_the_one_before_can_be_opened(tmp_path):
    path, indexes = tmp_path / "i", [small_index(n) for n in (12, 14, 16)]
    for number, index in enumerate(indexes, 1):
        index.save(path, force=number > 1)
        assert len(lw.Index.load(path, verify=True)) == len(index)
    for number, index in enumerate(indexes, 1):
        loaded = lw.Index.load(path, number, verify=True)
        np.testing.assert_array_equal(loaded.search(np.ones(5), 9).ids, index.search(np.ones(5), 9).ids)
    told = [(c.number, c.parent, c.message) for c in storage.history(path)]
    assert told == [(1, None, "saved 12 items"), (2, 1, "saved 14 items"), (3, 2, "saved 16 items")]
    with pytest.raises(StorageError, match="has no version 4; it has versions 1 to 3"):
        lw.Index.load(path, 4)


def test_saving_again_and_again_does_not_grow_without_bound(tmp_path, monkeypatch):
    """Versions go at the end of a save, when they were replaced some time ago. Maps of them stay readable."""
    path, first = tmp_path / "i", small_index(12)
    first.save(path)
    monkeypatch.setattr(array_file, "SMALL", 0)
    opened = lw.Index.load(path)
    for number in range(2, 6):
        for file in path.rglob("*"):
            os.utime(file, (file.stat().st_atime, file.stat().st_mtime - saving.GRACE))
        small_index(10 + 2 * number).save(path, force=True)
        assert [c.number for c in storage.history(path)] == [number - 1, number]
    named = {entry.file for n in (number - 1, number) for entry in storage.read(path, n).entries.values()}
    assert {p.name for p in mutations.files_of(path, ".npy")} == named
    np.testing.assert_array_equal(opened.search(np.ones(5), 9).ids, first.search(np.ones(5), 9).ids)


def test_what_has_not_changed_is_not_written_again(tmp_path):
    path = tmp_path / "i"
    small_index().save(path)
    before = set(mutations.files_of(path, ".npy"))
    loaded = lw.Index.load(path)
    loaded.attach({"note": 1}).save(path, force=True)
    assert set(mutations.files_of(path, ".npy")) == before
    assert lw.Index.load(path, verify=True).about == {"note": 1}
    assert lw.Index.load(path, 1, verify=True).about == {}
    loaded.attach({}, {"mean": np.arange(3.0)}).save(path, force=True)
    assert len(set(mutations.files_of(path, ".npy")) - before) == 1
    changed = np.array(loaded.graph.degrees)
    changed[-1] *= 2
    replace(loaded, graph=replace(loaded.graph, degrees=changed)).save(path, force=True)
    assert lw.Index.load(path, verify=True).graph.degrees[-1] == changed[-1]
    assert lw.Index.load(path, 1, verify=True).graph.degrees[-1] == loaded.graph.degrees[-1]


def test_a_damaged_array_is_written_again(tmp_path):
    path, index = tmp_path / "i", small_index()
    index.save(path)
    for change in (
        lambda content: content[:-4] + b"\x01\x02\x03\x04",
        lambda content: content[:-4],
        lambda content: b"",
    ):
        file = mutations.file_of(path, "vectors")
        file.write_bytes(change(file.read_bytes()))
        index.save(path, force=True)
        assert len(lw.Index.load(path, verify=True)) == len(index)


def test_a_newest_version_that_is_damaged_is_passed_over_with_a_warning(tmp_path):
    path = tmp_path / "i"
    small_index(12).save(path)
    small_index(14).save(path, force=True)
    newest = mutations.manifest_of(path)
    newest.write_bytes(newest.read_bytes()[:-9])
    with pytest.warns(
        StorageWarning, match=r"newest version of .* is damaged, version 1 .*00000002\.json .*verify"
    ) as told:
        assert len(lw.Index.load(path)) == 12
    assert issubclass(StorageWarning, LongwaveWarning)
    assert told[0].filename == __file__
    small_index(16).save(path, force=True)
    assert len(lw.Index.load(path, verify=True)) == 16  # and no warning


def test_a_vacuum_that_fails_does_not_undo_a_save(tmp_path, monkeypatch):
    path = tmp_path / "i"
    small_index(12).save(path)

    def failing(*args, **options):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(storage.writing, "clean", failing)
    with pytest.warns(StorageWarning, match=r"is saved as version 2, but .*Input/output error.*longwave vacuum"):
        small_index(14).save(path, force=True)
    assert len(lw.Index.load(path, verify=True)) == 14


# What is refused


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
    with pytest.raises(NotAnIndexError, match=r"no manifests and no manifest\.json"):
        lw.Index.load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": "something else"}')
    with pytest.raises(NotAnIndexError, match="belongs to another program"):
        lw.Index.load(tmp_path)


def test_a_newer_version_is_named(saved):
    mutations.edit_manifest(saved, lambda said: said.update(format_version=99))
    with pytest.raises(NewerIndexError, match=r"version 99.*upgrade"):
        lw.Index.load(saved)


def test_every_missing_or_cut_file_is_named(saved):
    for file in mutations.files_of(saved):
        content = file.read_bytes()
        file.unlink()
        with pytest.raises((CorruptIndexError, NotAnIndexError)) as error:
            lw.Index.load(saved)
        assert (file.name if file.suffix == ".npy" else str(saved)) in str(error.value)
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(CorruptIndexError) as error:
            lw.Index.load(saved)
        assert file.name in str(error.value)
        file.write_bytes(content)
    lw.Index.load(saved, verify=True)


def test_an_altered_byte_is_found_by_verify_and_in_a_small_file_always(saved, monkeypatch):
    file = mutations.file_of(saved, "basis_sparse_data")
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    for verify in (True, False):
        with pytest.raises(CorruptIndexError, match="checksum"):
            lw.Index.load(saved, verify=verify)
    monkeypatch.setattr(array_file, "SMALL", 1000)
    assert len(content) > 1000
    lw.Index.load(saved)
    with pytest.raises(CorruptIndexError, match="checksum"):
        lw.Index.load(saved, verify=True)


def test_an_altered_manifest_is_a_clear_error(saved):
    """Found by its checksum; and where that was made right again, by what it lacks."""
    file = mutations.manifest_of(saved)
    manifest = json.loads(file.read_text())
    without_ids = {**manifest, "arrays": {k: v for k, v in manifest["arrays"].items() if k != "ids"}}
    for altered, lacks in (
        ({k: v for k, v in manifest.items() if k != "arrays"}, "list of arrays"),
        ({**manifest, "facts": {}}, "settings"),
        (without_ids, "there is no array ids"),
    ):
        file.write_text(json.dumps(altered))
        with pytest.raises(CorruptIndexError, match=r"00000001\.json .*build the index again"):
            lw.Index.load(saved)
        mutations.reseal(saved)
        with pytest.raises(CorruptIndexError, match=lacks):
            lw.Index.load(saved)


class Stopped(storage.Files):
    """A disk that is full, or a user who interrupts, at the fourth sync."""

    def __init__(self, error):
        self.error, self.calls = error, 0

    def sync(self, opened):
        self.calls += 1
        if self.calls > 3:
            raise self.error


def write_by(monkeypatch, files):
    """Let saves go through this file layer."""
    monkeypatch.setattr(storage.save, "__kwdefaults__", {**storage.save.__kwdefaults__, "files": files})


def test_a_first_save_that_fails_leaves_no_index_and_no_array_and_can_be_repeated(index, tmp_path, monkeypatch):
    write_by(monkeypatch, Stopped(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    with pytest.raises(StorageError, match=r"not enough space .* MiB needed"):
        index.save(tmp_path / "a")
    assert [p for p in (tmp_path / "a").rglob("*") if p.is_file() and p.name != "lock"] == []
    assert not storage.is_index(tmp_path / "a")
    monkeypatch.undo()
    index.save(tmp_path / "a")
    assert len(lw.Index.load(tmp_path / "a", verify=True)) == len(index)


NO_ROOM = """
import resource, signal, sys, longwave as lw
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
vectors = lw.Index.load(sys.argv[1]).vectors.rows(slice(None))
index = lw.Index.build(vectors[:, ::-1], k=10, spectrum=lw.Lanczos(40))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    index.save(sys.argv[1], force=True)
except lw.errors.StorageError as error:
    print(error)
"""


def test_a_file_that_the_system_cuts_short_is_a_clear_error_and_the_old_index_stays(index, saved):
    """A limit on the size of files stops a write in the middle of an array, as a full disk does."""
    before = contents(saved)
    assert max(map(len, before.values())) > 20_000
    done = subprocess.run([sys.executable, "-c", NO_ROOM, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"cannot write {saved}: {os.strerror(errno.EFBIG)}"
    assert contents(saved) == before
    assert len(lw.Index.load(saved, verify=True)) == len(index)


def test_known_lack_of_space_is_said_before_writing(index, saved, monkeypatch):
    before = contents(saved)
    monkeypatch.setattr(storage.writing, "free_bytes", lambda folder: 0)
    with pytest.raises(StorageError, match=r"0\.0 MiB free"):
        small_index().save(saved, force=True)
    assert contents(saved) == before


def test_an_interrupt_keeps_the_old_index_and_leaves_nothing(index, saved, monkeypatch):
    before = contents(saved)
    write_by(monkeypatch, Stopped(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        small_index().save(saved, force=True)
    monkeypatch.undo()
    assert contents(saved) == before
    lw.Index.load(saved, verify=True)


KILLED = """
import sys, numpy as np, longwave as lw
from longwave import storage
def pause(self, opened):
    print("writing", flush=True)
    import time; time.sleep(60)
storage.Files.sync = pause
lw.Index.build(np.eye(8), k=2).save(sys.argv[1], force=True)
"""


def test_kill_9_while_saving_leaves_the_old_index_and_a_vacuum_clears_what_is_left(index, saved):
    before = contents(saved)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(saved)], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"writing"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert len(lw.Index.load(saved, verify=True)) == len(index)
    left = contents(saved).keys() - before.keys()
    assert len(left) == 1
    small_index().save(saved, force=True)  # the lock was freed with the process
    assert left <= contents(saved).keys()  # it may be of a writer who is at work where locks do not work
    storage.vacuum(saved, grace=0)
    assert not left & contents(saved).keys()
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


def test_the_old_index_is_there_until_the_new_one_is(index, saved, monkeypatch):
    """At any system call that changes names, the folder is a whole index."""
    small, seen = lw.Index.build(lw.datasets.arcs()[0], k=2), []
    for name in ("rename", "mkdir", "unlink", "link", "fsync"):
        real = getattr(os, name)

        def watched(*args, _real=real, **kwargs):
            seen.append(len(lw.Index.load(saved, verify=True)))
            try:
                return _real(*args, **kwargs)
            finally:
                seen.append(len(lw.Index.load(saved, verify=True)))

        monkeypatch.setattr(os, name, watched)
    small.save(saved, force=True)
    storage.vacuum(saved, grace=0)
    assert set(seen) == {len(index), len(small)}
    assert seen == sorted(seen, reverse=True)
    assert [p.name for p in saved.parent.iterdir()] == ["a.longwave"]


def test_reading_changes_nothing_not_even_what_a_writer_left(saved):
    (saved / "data" / "vectors-0123456789abcdef.npy").write_text("left")
    (saved / "manifests" / f"{'0' * 32}.partial").write_text("left")
    before = sorted((str(p), p.stat().st_ctime_ns) for p in saved.parent.rglob("*"))
    lw.Index.load(saved, verify=True)
    with pytest.raises(NotAnIndexError):
        lw.Index.load(saved.parent / "other")
    assert sorted((str(p), p.stat().st_ctime_ns) for p in saved.parent.rglob("*")) == before


# Folders of the versions before


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", ["extended", "accelerated", "compressed"])
def test_an_index_of_a_version_before_opens_and_becomes_a_new_one(tmp_path, digits_split, kind, version):
    base = lw.Index.build(digits_split[0][:300], groups=np.arange(300) // 2, k=10, spectrum=lw.Lanczos(40))
    index = {
        "extended": lambda: base.extend(digits_split[0][300:320], groups=np.arange(1000, 1020)),
        "accelerated": lambda: base.accelerate(first="IVF4,SQfp16", second="IVF4,SQfp16"),
        "compressed": lambda: base.compress(basis="float16", vectors="int8"),
    }[kind]()
    path, queries = earlier.save(index, tmp_path / "i", version), digits_split[2][:3]
    assert sorted(p.suffix for p in path.iterdir()) == [".json", *[".npy"] * (len(list(path.iterdir())) - 1)]
    assert "plan" not in json.loads((path / "manifest.json").read_text())["settings"]

    def same():
        old = lw.Index.load(path, verify=True)
        assert old.settings == index.settings
        for asked in (queries, queries[0]):
            one, two = old.search(asked, 9), index.search(asked, 9)
            np.testing.assert_array_equal(one.ids, two.ids)
            np.testing.assert_array_equal(one.scores, two.scores)

    same()
    with pytest.raises(IndexExistsError, match="force"):
        index.save(path)
    lw.Index.load(path).save(path, force=True)
    assert [(c.number, c.parent) for c in storage.history(path)] == [(0, None), (1, 0)]
    same()
    storage.vacuum(path, grace=0)
    assert sorted(p.name for p in path.iterdir()) == ["data", "lock", "manifests"]
    same()


def test_an_index_of_a_version_before_those_is_named(index, tmp_path):
    path = earlier.save(index, tmp_path / "i", 1)
    with pytest.raises(StorageError, match=r"version 1, written by an earlier Longwave.*build the index again"):
        lw.Index.load(path)


def test_what_a_killed_writer_of_the_version_before_set_aside_is_read_where_it_is_and_brought_back(index, tmp_path):
    saved = earlier.save(index, tmp_path / "i")
    old = saved.parent / ".i.old"
    saved.rename(old)
    assert len(lw.Index.load(saved, verify=True)) == len(index)
    assert [p.name for p in saved.parent.iterdir()] == [old.name]
    with pytest.raises(IndexExistsError, match="force"):
        index.save(saved)
    index.save(saved, force=True)
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]
    assert len(lw.Index.load(saved, 0, verify=True)) == len(index)


def test_what_looks_like_ours_but_is_not_stays(index, saved):
    for name in (".a.longwave.old", ".a.longwave.partial-notes", ".b.longwave.partial-12345678"):
        (saved.parent / name).mkdir()
        (saved.parent / name / "mine.txt").write_text("mine")
    for name in ("notes.txt", "data/mine.npy", "manifests/mine.json"):
        (saved / name).write_text("mine")
    small_index().save(saved, force=True)
    storage.vacuum(saved, grace=0)
    assert len(list(saved.parent.rglob("mine.*"))) == 5
    assert (saved / "notes.txt").read_text() == "mine"


# What is kept


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
