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

import mutations
import numpy as np
import pytest

import longwave as lw
from longwave import storage
from longwave.errors import CorruptIndexError, IndexExistsError, NotAnIndexError
from longwave.rows.vectors import top_k
from longwave.storage import array_file, reading, saving
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
    run_seeds(folders, 10_000, 10_000)


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
    array = np.load(mutations.file_of(folder, name))
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
        (("plan",), None),
        (("plan",), "sublinear"),
        (("plan", "route"), "shortcut"),
        (("plan", "vectors"), "IVF"),
        (("plan", "vectors", "k"), 0),
        (("plan", "vectors", "effort"), -1),
        (("plan", "vectors", "effort"), 10**30),
        (("plan", "vectors", "recall"), float("nan")),
        (("plan", "coordinates"), {}),
        (("plan", "coordinates"), [3]),
        (("plan", "coordinates"), []),
        (("plan", "coordinates"), [None, None]),
    ],
)
def test_settings_of_another_type_or_out_of_range_are_refused(copy_of, place, value):
    folder = copy_of("accelerated")
    mutations.edit_manifest(folder, lambda said: put(said["facts"]["settings"], place, value))
    with pytest.raises(CorruptIndexError, match="build the index again"):
        lw.Index.load(folder)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("k",), 0),
        (("search", "neighbors"), "few"),
        (("first",), "IVF"),
        (("first", "effort"), -1),
        (("first", "recall"), float("nan")),
        (("second",), {}),
        (("second",), [3]),
        (("second",), []),
        (("second",), [None, None]),
    ],
)
def test_settings_of_an_earlier_version_are_looked_at_as_well(copy_of, place, value):
    folder = copy_of("earlier")
    mutations.edit_manifest(folder, lambda said: put(said["settings"], place, value))
    with pytest.raises(CorruptIndexError, match="build the index again"):
        lw.Index.load(folder)


def put(inner, place, value):
    for key in place[:-1]:
        inner = inner[key]
    assert place[-1] in inner
    inner[place[-1]] = value


def test_settings_without_a_field_are_refused_and_unknown_ones_are_passed_over(folders):
    known = json.loads(mutations.manifest_of(folders / "accelerated").read_text())["facts"]["settings"]
    settings = Settings.parse({**known, "of a later version": 1})
    assert settings == lw.Index.load(folders / "accelerated").settings
    with pytest.raises(ValueError, match="kernel"):
        Settings.parse({name: value for name, value in known.items() if name != "kernel"})


def test_an_altered_digit_of_the_manifest_is_found_without_verify(copy_of):
    folder = copy_of("plain")
    file = mutations.manifest_of(folder)
    text = file.read_text()
    assert '"kernel": "local:7,5,4,3"' in text
    file.write_text(text.replace("local:7,5,4,3", "local:7,4,4,3"))
    with pytest.raises(CorruptIndexError, match=r"00000001\.json is cut short or altered; copy it again"):
        lw.Index.load(folder)


@pytest.mark.parametrize("name", ["manifest", "vectors"])
@pytest.mark.parametrize("instead", ["pipe", "folder", "link"])
def test_a_pipe_a_folder_or_a_link_is_no_file_of_an_index(copy_of, folders, name, instead):
    folder = copy_of("plain")
    file = mutations.manifest_of(folder) if name == "manifest" else mutations.file_of(folder, name)
    file.unlink()
    if instead == "pipe":
        os.mkfifo(file)
    elif instead == "folder":
        file.mkdir()
    else:
        file.symlink_to(folders / "plain" / file.relative_to(folder))
    with pytest.raises(CorruptIndexError, match=f"{file.name} is .*copy the file itself"):
        lw.Index.load(folder)


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
    monkeypatch.setattr(array_file, "SMALL", 0)
    folder = copy_of("plain")
    file = mutations.file_of(folder, "vectors")
    content = file.read_bytes()
    altered = content.replace(old, new, 1)
    assert altered != content
    file.write_bytes(altered[:128].ljust(128) + content[128:])
    with pytest.raises(CorruptIndexError, match=rf"{file.name} \(vectors\) does not have the shape or type"):
        lw.Index.load(folder)


@pytest.mark.parametrize("kind", ["plain", "earlier"])
def test_a_manifest_that_only_python_could_read_is_refused(copy_of, kind):
    folder = copy_of(kind)
    for content in (b"[" * 100_000, b"\xff\xfe", b"9" * 10_000, b"", b'{"format": "longwave index"}', b"[]", b"null"):
        mutations.manifest_of(folder).write_bytes(content)
        with pytest.raises((CorruptIndexError, NotAnIndexError)):
            lw.Index.load(folder)
        with pytest.raises(IndexExistsError):
            storage.check_target(folder, force=False)


@pytest.mark.parametrize(
    ("kind", "name"), [("accelerated", "first"), ("accelerated", "second_0"), ("quantized", "vectors_codes")]
)
def test_what_faiss_reads_is_compared_with_its_checksum_first_whatever_its_size(copy_of, monkeypatch, kind, name):
    monkeypatch.setattr(array_file, "SMALL", 0)
    folder = copy_of(kind)
    file = mutations.file_of(folder, name)
    content = bytearray(file.read_bytes())
    content[140] ^= 255
    file.write_bytes(content)
    with pytest.raises(CorruptIndexError, match=rf"\({name}\) was altered: its checksum differs"):
        lw.Index.load(folder)


@pytest.mark.parametrize("name", ["first", "second_0"])
def test_a_search_over_something_else_is_refused(copy_of, folders, name):
    folder = copy_of("accelerated")
    other = {"first": "second_0", "second_0": "first"}[name]
    mutations.replace_array(folder, name, np.load(mutations.file_of(folders / "accelerated", other)))
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
    monkeypatch.setattr(array_file, "SMALL", 0)
    folder = copy_of("plain")
    file = mutations.file_of(folder, "basis_0")
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
    monkeypatch.setattr(array_file, "SMALL", 0)
    folder = copy_of("names")
    file = mutations.file_of(folder, "ids")
    content = bytearray(file.read_bytes())
    content[-4:] = b"\xff\xff\xff\xff"
    file.write_bytes(content)
    with pytest.raises(CorruptIndexError, match=r"\(ids\) holds something that is not text"):
        lw.Index.load(folder)
    folder = copy_of("plain")
    file = mutations.file_of(folder, "ids")
    content = file.read_bytes()
    file.write_bytes(content[:128] + bytes(len(content) - 128))
    with pytest.raises(CorruptIndexError, match="same id"):
        lw.Index.load(folder).search_by_id([0], 3)


# Writers and readers


def test_an_index_replaced_and_cleared_while_it_is_opened_gives_one_of_the_two(tmp_path, two_states, monkeypatch):
    states, expected = two_states
    path = tmp_path / "i"
    states[0].save(path)
    real, opened = reading.read_array, []

    def replaced_midway(folder, name, entry, verify):
        opened.append(name)
        if len(opened) == 5:
            states[1].save(path, force=True)
        return real(folder, name, entry, verify)

    monkeypatch.setattr(reading, "read_array", replaced_midway)
    assert answer(lw.Index.load(path)) == expected[0]  # all of it is there for a while
    assert answer(lw.Index.load(path)) == expected[1]
    for grace in (60.0, 0.0):
        shutil.rmtree(path)
        states[0].save(path)
        opened.clear()
        monkeypatch.setattr(saving, "GRACE", grace)
        found = answer(lw.Index.load(path))
        assert found == expected[0 if grace else 1]  # begins again where the files are gone


def test_a_writer_waits_for_the_lock_and_nothing_is_lost(tmp_path, two_states):
    states, expected = two_states
    path = tmp_path / "i"
    states[0].save(path)
    with (path / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        writer = threading.Thread(target=states[1].save, args=(path,), kwargs={"force": True})
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
        assert answer(lw.Index.load(path)) == expected[0]
    writer.join()
    assert answer(lw.Index.load(path)) == expected[1]
    assert [p.name for p in tmp_path.iterdir()] == ["i"]


@pytest.mark.parametrize("grace", [saving.GRACE, 0.0])
def test_writers_and_readers_in_threads(scratch, two_states, monkeypatch, grace):
    monkeypatch.setattr(saving, "GRACE", grace)
    states, expected = two_states
    path = scratch / "i"
    states[0].save(path)
    end, failures, seen, saves = time.monotonic() + 60, [], [], []

    def go_on():
        done = set(seen) == {0, 1} and len(seen) > 20 and len(saves) > 20
        return not failures and not done and time.monotonic() < end

    def guarded(work):
        while go_on():
            try:
                work()
            except Exception as error:
                failures.append(repr(error))

    def save(state):
        state.save(path, force=True)
        saves.append(state)
        time.sleep(0.03)  # or the other one would hardly ever get the lock

    def read(verify):
        found = answer(lw.Index.load(path, verify=verify))
        seen.append(expected.index(found))

    work = [lambda state=state: save(state) for state in states]
    work += [lambda: read(False), lambda: read(True)]
    threads = [threading.Thread(target=guarded, args=(own,)) for own in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(seen) == {0, 1}
    assert answer(lw.Index.load(path, verify=True)) in expected
    assert storage.verify(path).ok
    assert [p.name for p in scratch.iterdir()] == ["i"]


WRITER = """
import select, sys, longwave as lw
index = lw.Index.load(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
while not select.select([sys.stdin], [], [], 0.03)[0]:
    index.save(sys.argv[1], force=True)
"""


def test_writers_and_readers_in_processes(scratch, two_states):
    """Two processes save, and a third until it is killed in the midst of it; all the while the index is read."""
    states, expected = two_states
    (scratch / "of").mkdir()
    path = scratch / "i"
    for number, state in enumerate(states):
        state.save(scratch / "of" / str(number))
    states[0].save(path)
    writers = []
    for number in (0, 1, 1):
        command = [sys.executable, "-c", WRITER, str(path), str(scratch / "of" / str(number))]
        writers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    seen, end = [], time.monotonic() + 60
    while (set(seen) != {0, 1} or len(seen) < 150) and time.monotonic() < end:
        seen.append(expected.index(answer(lw.Index.load(path, verify=len(seen) % 2 == 0))))
        if len(seen) == 100:
            writers[2].kill()
    for writer in writers:
        writer.communicate()  # closes what they listen to
    assert [writer.returncode for writer in writers[:2]] == [0, 0]
    assert set(seen) == {0, 1}
    states[1].save(path, force=True)
    storage.vacuum(path, grace=0)  # and what the killed one left is cleared
    assert answer(lw.Index.load(path, verify=True)) == expected[1]
    assert sorted(p.name for p in scratch.iterdir()) == ["i", "of"]
    named = {entry.file for entry in storage.read(path).entries.values()}
    assert {p.name for p in (path / "data").iterdir()} == named


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
    with pytest.raises(lw.errors.StorageError, match=r"cannot lock .*lock: Operation not supported; write to"):
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
