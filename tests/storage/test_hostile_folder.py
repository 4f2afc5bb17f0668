"""An index folder among writers, readers and damage: a whole committed state, or a clear error. Never a crash."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import longwave as lw
import mutations
from longwave.errors import CorruptIndexError, IndexExistsError, LongwaveError, NotAnIndexError
from longwave.rows.vectors import top_k
from longwave.storage import folder as storage
from longwave.storage.settings import Settings


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A saved index of every kind, by name."""
    folder = tmp_path_factory.mktemp("kinds")
    mutations.make_folders(folder)
    return folder


@pytest.fixture
def copy_of(folders, tmp_path):
    def copy(kind):
        return Path(shutil.copytree(folders / kind, tmp_path / kind))

    return copy


@pytest.fixture(scope="module")
def two_states():
    """Two small indexes of one shape that differ in ids and in vectors, and what each answers."""
    rng = np.random.default_rng(0)
    states = []
    for offset in (0, 1000):
        vectors = rng.normal(size=(60, 8)) + 0.5
        states.append(lw.Index.build(vectors, k=5, spectrum=lw.Lanczos(10), ids=np.arange(60) + offset))
    return states, [answer(state) for state in states]


def answer(index):
    hits = index.search(np.ones(8), 5)
    return hits.ids.tolist(), hits.scores.tolist(), index.ids.tolist()


# Damage


def run_seeds(folders, first, count):
    """Damage, load and search in a process of its own; a crash names its seed."""
    command = [sys.executable, mutations.__file__, str(folders), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.split("\n")[:-1]
    assert [line for line in lines if "wrong" in line] == []
    assert lines[-1:] == ["done"], f"seed {lines[-1:]} ended the process with {done.returncode}: {done.stderr[-2000:]}"
    assert len(lines) == count + 1


def test_damaged_folders_of_every_kind_are_an_error_or_right_and_never_a_crash(folders):
    run_seeds(folders, 0, 320)


@pytest.mark.slow
def test_many_damaged_folders(folders):
    run_seeds(folders, 10_000, 3000)


def test_every_byte_of_a_manifest_counts(tmp_path, two_states):
    states, expected = two_states
    states[0].save(tmp_path / "i")
    file = tmp_path / "i" / "manifest.json"
    content = file.read_bytes()
    refused = []
    for place in range(len(content)):
        altered = bytearray(content)
        altered[place] ^= 1 << place % 8
        file.write_bytes(altered)
        try:
            index = lw.Index.load(tmp_path / "i")
        except LongwaveError as error:
            refused.append(str(error))
        else:
            assert (answer(index), index.settings) == (expected[0], states[0].settings), place
    assert [message for message in refused if str(tmp_path / "i") not in message] == []
    assert len(refused) > 0.8 * len(content)  # the others are white space


def with_wrapped_indptr(indptr):
    """Far outside on the way, and yet every difference, taken in int32, is at least 0."""
    wrapped = np.array(indptr, dtype=np.int32)
    wrapped[2:5] = 2**31 - 1, -(2**31), -1
    assert (np.diff(wrapped) >= 0).all()
    return wrapped


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        ("plain", "graph_indptr", with_wrapped_indptr),
        ("plain", "graph_indptr", lambda a: a[:-1]),
        ("plain", "graph_indptr", lambda a: a + 1),
        ("plain", "graph_indptr", lambda a: a.astype(np.uint64)),
        ("plain", "graph_indices", lambda a: a + 9),
        ("plain", "graph_indices", lambda a: a - 1),
        ("plain", "graph_indices", lambda a: a.astype(np.float32)),
        ("plain", "graph_data", lambda a: a[:-1]),
        ("plain", "graph_data", lambda a: a.astype(">f4")),
        ("plain", "labels", lambda a: a + len(a)),
        ("plain", "labels", lambda a: a[:-1]),
        ("plain", "kinds", lambda a: a + 3),
        ("plain", "row_norms", lambda a: a[:-1]),
        ("plain", "reach", lambda a: a[:5]),
        ("plain", "ids", lambda a: a[:-1]),
        ("plain", "ids", lambda a: a.astype(np.float64)),
        ("plain", "vectors", lambda a: a[:-1]),
        ("plain", "vectors", lambda a: a[:, :0]),
        ("plain", "eigenvalues", lambda a: a[:3]),
        ("plain", "basis_0_rows", lambda a: a[:-1]),
        ("plain", "basis_0_rows", lambda a: np.concatenate([a, a[-1:]])),
        ("plain", "basis_0_rows", lambda a: a[::-1]),
        ("plain", "basis_0_rows", lambda a: np.full_like(a, a[0])),
        ("plain", "basis_0_rows", lambda a: a - 99),
        ("plain", "basis_0", lambda a: np.concatenate([a, a])),
        ("plain", "basis_0", lambda a: np.hstack([a] * 9)),
        ("plain", "basis_sparse_indices", lambda a: a + 99),
        ("regional", "item_of", lambda a: a + 9),
        ("regional", "item_of", lambda a: a[1:]),
        ("regional", "pooling_indptr", with_wrapped_indptr),
        ("regional", "pooled_0", lambda a: np.concatenate([a, a])),
        ("regional", "pooled_0", lambda a: a[:, :-1]),
        ("extended", "extension_indices", lambda a: a + 999),
        ("int8", "vectors_scales", lambda a: a[:-1]),
        ("int8", "basis_0_scales", lambda a: a[:0]),
        ("float16", "basis_0", lambda a: a.astype(np.int16)),
        ("precomputed", "rows_indptr", with_wrapped_indptr),
        ("precomputed", "rows_filter", lambda a: a[:-1]),
    ],
)
@pytest.mark.parametrize("verify", [False, True])
def test_arrays_that_do_not_fit_each_other_are_refused(copy_of, kind, name, change, verify):
    """With every checksum right: compiled code does not look at its indices, `load` does."""
    folder = copy_of(kind)
    array = np.load(folder / f"{name}.npy")
    mutations.replace_array(folder, name, np.ascontiguousarray(change(array)))
    with pytest.raises(CorruptIndexError, match="build the index again") as error:
        lw.Index.load(folder, verify=verify)
    assert str(folder) in str(error.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("fidelity",), float("nan")),
        (("fidelity",), float("inf")),
        (("fidelity",), "3"),
        (("kernel",), None),
        (("fidelity",), 10**400),
        (("k",), 2.5),
        (("k",), True),
        (("k",), 0),
        (("recall",), 1.5),
        (("spectrum",), 7),
        (("search",), None),
        (("search",), []),
        (("search", "neighbors"), -1),
        (("search", "filter"), 0.99),
        (("search", "blend"), float("nan")),
        (("search", "blend"), [1]),
        (("search", "neighbors"), "few"),
        (("first",), "IVF"),
        (("first", "k"), 0),
        (("first", "effort"), -1),
        (("first", "effort"), 10**30),
        (("first", "recall"), float("nan")),
        (("second",), {}),
        (("second",), [3]),
        (("second",), []),
        (("second",), [None, None]),
    ],
)
def test_settings_of_another_type_or_out_of_range_are_refused(copy_of, place, value):
    folder = copy_of("accelerated")
    manifest = json.loads((folder / "manifest.json").read_text())
    inner = manifest["settings"]
    for key in place[:-1]:
        inner = inner[key]
    assert place[-1] in inner
    inner[place[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))
    mutations.reseal(folder)
    with pytest.raises(CorruptIndexError, match="build the index again"):
        lw.Index.load(folder)


def test_settings_without_a_field_are_refused_and_unknown_ones_are_passed_over(folders):
    known = json.loads((folders / "accelerated" / "manifest.json").read_text())["settings"]
    settings = Settings.parse({**known, "of a later version": 1})
    assert settings == lw.Index.load(folders / "accelerated").settings
    with pytest.raises(ValueError, match="kernel"):
        Settings.parse({name: value for name, value in known.items() if name != "kernel"})


def test_an_altered_digit_of_the_manifest_is_found_without_verify(copy_of):
    folder = copy_of("plain")
    text = (folder / "manifest.json").read_text()
    assert '"kernel": "local:7,5,4,3"' in text
    (folder / "manifest.json").write_text(text.replace("local:7,5,4,3", "local:7,4,4,3"))
    with pytest.raises(CorruptIndexError, match=r"manifest\.json is cut short or altered; copy it again"):
        lw.Index.load(folder)


@pytest.mark.parametrize("name", ["manifest.json", "vectors.npy"])
@pytest.mark.parametrize("instead", ["pipe", "folder", "link"])
def test_a_pipe_a_folder_or_a_link_is_no_file_of_an_index(copy_of, folders, name, instead):
    folder = copy_of("plain")
    (folder / name).unlink()
    if instead == "pipe":
        os.mkfifo(folder / name)
    elif instead == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(folders / "plain" / name)
    with pytest.raises(CorruptIndexError, match=f"{name} is .*copy the file itself"):
        lw.Index.load(folder)
    if name == "manifest.json":
        assert not storage.is_index(folder)
        with pytest.raises(IndexExistsError, match="not a Longwave index"):
            storage.check_target(folder, force=True)


@pytest.mark.parametrize("name", ["../plain/ids", "/tmp/ids", "", ".hidden", "a/b", "a\0b", "\ud800", "n" * 300])
def test_names_of_arrays_are_names_of_files_in_the_folder(copy_of, tmp_path, name):
    folder = copy_of("names")
    copy_of("plain")  # what the first name would lead to
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["arrays"][name] = manifest["arrays"]["ids"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    manifest.pop("sha256")
    (folder / "manifest.json").write_text(json.dumps({**manifest, "sha256": storage._seal(manifest)}))
    with pytest.raises(lw.errors.StorageError) as error:
        lw.Index.load(folder)
    assert str(folder) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"}", b"'''"),  # an unfinished text: tokenize.TokenError of numpy's reader
        (b"'shape': (", b"'shape': (" + b"(" * 50),
        (b"False", b"True "),
        (b"'<f4'", b"'|O8'"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x02"),
        (b"NUMPY", b"nUMPY"),
        (b"\x01\x00v\x00", b"\x01\x00\xff\xff"),
        (b"(156, 16)", b"(16, 156)"),
    ],
)
def test_a_header_that_does_not_say_what_the_manifest_says(copy_of, monkeypatch, old, new):
    """Compared as text: nothing is evaluated, and nothing mapped that the file does not have."""
    monkeypatch.setattr(storage, "_SMALL", 0)
    folder = copy_of("plain")
    content = (folder / "vectors.npy").read_bytes()
    altered = content.replace(old, new, 1)
    assert altered != content
    (folder / "vectors.npy").write_bytes(altered[:128].ljust(128) + content[128:])
    with pytest.raises(CorruptIndexError, match=r"vectors\.npy does not have the shape or type"):
        lw.Index.load(folder)


def test_a_manifest_that_only_python_could_read_is_refused(copy_of):
    folder = copy_of("plain")
    for content in (b"[" * 100_000, b"\xff\xfe", b"9" * 10_000, b"", b'{"format": "longwave index"}', b"[]", b"null"):
        (folder / "manifest.json").write_bytes(content)
        with pytest.raises((CorruptIndexError, NotAnIndexError)):
            lw.Index.load(folder)
        with pytest.raises(IndexExistsError):
            storage.check_target(folder, force=True)


@pytest.mark.parametrize("key", ["crc32", "bytes", "shape", "dtype"])
def test_an_array_that_is_not_described_in_full(copy_of, key):
    folder = copy_of("plain")
    manifest = json.loads((folder / "manifest.json").read_text())
    for value in (None, "x", -1, [None], [-1, 16], 1.5, "|O8", "<f9", "<U999999999"):
        manifest.pop("sha256", None)
        manifest["arrays"]["vectors"][key] = value
        (folder / "manifest.json").write_text(json.dumps({**manifest, "sha256": storage._seal(manifest)}))
        with pytest.raises(CorruptIndexError, match="vectors"):
            lw.Index.load(folder, verify=True)
    del manifest["arrays"]["vectors"][key]
    manifest.pop("sha256", None)
    (folder / "manifest.json").write_text(json.dumps({**manifest, "sha256": storage._seal(manifest)}))
    with pytest.raises(CorruptIndexError, match="does not describe 'vectors'"):
        lw.Index.load(folder)


@pytest.mark.parametrize(
    ("kind", "name"), [("accelerated", "first"), ("accelerated", "second_0"), ("quantized", "vectors_codes")]
)
def test_what_faiss_reads_is_compared_with_its_checksum_first_whatever_its_size(copy_of, monkeypatch, kind, name):
    monkeypatch.setattr(storage, "_SMALL", 0)
    folder = copy_of(kind)
    content = bytearray((folder / f"{name}.npy").read_bytes())
    content[140] ^= 255
    (folder / f"{name}.npy").write_bytes(content)
    with pytest.raises(CorruptIndexError, match=f"{name}.npy was altered: its checksum differs"):
        lw.Index.load(folder)


@pytest.mark.parametrize("name", ["first", "second_0"])
def test_a_search_over_something_else_is_refused(copy_of, folders, name):
    folder = copy_of("accelerated")
    other = {"first": "second_0", "second_0": "first"}[name]
    mutations.replace_array(folder, name, np.load(folders / "accelerated" / f"{other}.npy"))
    with pytest.raises(CorruptIndexError, match=f"{name} searches"):
        lw.Index.load(folder)


def test_what_faiss_cannot_read_is_a_clear_error(copy_of):
    folder = copy_of("accelerated")
    mutations.replace_array(folder, "first", np.frombuffer(b"nothing of faiss", dtype=np.uint8))
    with pytest.raises(CorruptIndexError, match=f"{folder} is damaged") as error:
        lw.Index.load(folder)
    assert "build the index again" in str(error.value)


def test_scores_that_are_no_numbers_are_an_error_of_ours(copy_of, monkeypatch):
    """Vectors of NaN in a file too large to be compared without verify."""
    monkeypatch.setattr(storage, "_SMALL", 0)
    folder = copy_of("plain")
    file = folder / "basis_0.npy"
    content = file.read_bytes()
    file.write_bytes(content[:128] + b"\0\0\xc0\x7f" * ((len(content) - 128) // 4))
    index = lw.Index.load(folder)
    for k in (30, 100):  # more than the items of small components, which have no part in this file
        with pytest.raises(CorruptIndexError, match="not finite numbers: the index is damaged"):
            index.search(index.vectors.rows(slice(2)), k)
    with pytest.raises(CorruptIndexError, match="checksum"):
        lw.Index.load(folder, verify=True)


def test_the_best_of_a_row_with_some_nan_are_the_best_numbers():
    scores = np.full((2, 400), np.nan, dtype=np.float32)
    scores[:, [7, 300]] = 1, 2
    assert top_k(scores, 2)[0].tolist() == [[300, 7]] * 2
    for k in (3, 200):
        with pytest.raises(CorruptIndexError):
            top_k(scores, k)


def test_ids_that_are_no_text_or_not_distinct(copy_of, monkeypatch):
    monkeypatch.setattr(storage, "_SMALL", 0)
    folder = copy_of("names")
    content = bytearray((folder / "ids.npy").read_bytes())
    content[-4:] = b"\xff\xff\xff\xff"
    (folder / "ids.npy").write_bytes(content)
    with pytest.raises(CorruptIndexError, match=r"ids\.npy holds what is no text"):
        lw.Index.load(folder)
    folder = copy_of("plain")
    content = (folder / "ids.npy").read_bytes()
    (folder / "ids.npy").write_bytes(content[:128] + bytes(len(content) - 128))
    with pytest.raises(CorruptIndexError, match="same id"):
        lw.Index.load(folder).search_by_id([0], 3)


# Writers and readers


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_a_folder_replaced_while_it_is_opened_gives_one_of_the_two(tmp_path, two_states, monkeypatch, exchange):
    states, expected = two_states
    path = tmp_path / "i"
    states[0].save(path)
    real, opened, incoming = storage._read_array, [], states[:]

    def replaced_midway(folder, shown, name, entry, verify):
        opened.append(name)
        if len(opened) == 5:
            incoming.pop().save(path, force=True)
        return real(folder, shown, name, entry, verify)

    if not exchange:
        monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    monkeypatch.setattr(storage, "_read_array", replaced_midway)
    assert answer(lw.Index.load(path)) == expected[1]
    opened.clear()
    monkeypatch.setattr(shutil, "rmtree", lambda *args, **kwargs: None)  # the old folder stays, under another name
    assert answer(lw.Index.load(path)) == expected[1]
    assert answer(lw.Index.load(path)) == expected[0]


def test_a_writer_waits_for_the_lock_and_nothing_is_lost(tmp_path, two_states):
    states, expected = two_states
    path = tmp_path / "i"
    states[0].save(path)
    lock = tmp_path / ".i.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        writer = threading.Thread(target=states[1].save, args=(path,), kwargs={"force": True})
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
        assert answer(lw.Index.load(path)) == expected[0]
        assert sorted(p.name for p in tmp_path.iterdir()) == [".i.lock", "i"]
        lock.unlink()  # as a writer does when it is done
    writer.join()
    assert answer(lw.Index.load(path)) == expected[1]
    assert [p.name for p in tmp_path.iterdir()] == ["i"]


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "two renames"])
def test_writers_and_readers_in_threads(tmp_path, two_states, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    states, expected = two_states
    path = tmp_path / "i"
    states[0].save(path)
    end, failures, seen = time.monotonic() + 2.5, [], []

    def guarded(work):
        while time.monotonic() < end and not failures:
            try:
                work()
            except Exception as error:
                failures.append(repr(error))

    def read(verify):
        found = answer(lw.Index.load(path, verify=verify))
        seen.append(expected.index(found))

    work = [lambda state=state: state.save(path, force=True) for state in states]
    work += [lambda: read(False), lambda: read(True)]
    threads = [threading.Thread(target=guarded, args=(own,)) for own in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(seen) == {0, 1}
    assert answer(lw.Index.load(path, verify=True)) in expected
    assert [p.name for p in tmp_path.iterdir()] == ["i"]


WRITER = """
import sys, time, longwave as lw
index = lw.Index.load(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 2.5
while time.monotonic() < end:
    index.save(sys.argv[1], force=True)
"""


def test_writers_and_readers_in_processes(tmp_path, two_states):
    """Two processes save, one after the other is killed in the midst of it; all the while the index is read."""
    states, expected = two_states
    (tmp_path / "of").mkdir()
    path = tmp_path / "i"
    for number, state in enumerate(states):
        state.save(tmp_path / "of" / str(number))
    states[0].save(path)
    writers = []
    for number in (0, 1, 1):
        command = [sys.executable, "-c", WRITER, str(path), str(tmp_path / "of" / str(number))]
        writers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    seen = []
    while any(writer.poll() is None for writer in writers):
        seen.append(expected.index(answer(lw.Index.load(path, verify=len(seen) % 2 == 0))))
        if len(seen) == 100:
            writers[2].kill()
    codes = [writer.wait() for writer in writers]
    for writer in writers:
        writer.stdin.close()
        writer.stdout.close()
    assert codes[:2] == [0, 0]
    assert set(seen) == {0, 1}
    states[1].save(path, force=True)  # and what the killed one left is cleared
    assert answer(lw.Index.load(path, verify=True)) == expected[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["i", "of"]


def test_two_writers_without_force_one_is_told(tmp_path, two_states):
    states, expected = two_states
    outcomes, start = [], threading.Barrier(2)

    def save(number):
        start.wait()
        try:
            states[number].save(tmp_path / "i")
            outcomes.append(number)
        except IndexExistsError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=save, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner = [outcome for outcome in outcomes if isinstance(outcome, int)]
    assert len(winner) == 1
    assert [outcome for outcome in outcomes if "choose another path" in str(outcome)]
    assert answer(lw.Index.load(tmp_path / "i", verify=True)) == expected[winner[0]]


def test_a_file_system_without_locks_is_named(tmp_path, two_states, monkeypatch):
    def refuse(handle, how):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(lw.errors.StorageError, match=r"cannot lock .*\.i\.lock: Operation not supported; save to"):
        two_states[0][0].save(tmp_path / "i")


def test_saving_what_was_loaded_from_the_same_place(tmp_path, two_states):
    """Its arrays are maps of files that are replaced."""
    states, expected = two_states
    states[0].save(tmp_path / "i")
    loaded = lw.Index.load(tmp_path / "i")
    for _ in range(3):
        replace(loaded, about={"round": 1}).save(tmp_path / "i", force=True)
        loaded = lw.Index.load(tmp_path / "i", verify=True)
    assert answer(loaded) == expected[0]
