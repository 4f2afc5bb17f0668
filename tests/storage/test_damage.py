"""Damaged and crafted folders: a clear error, or what was committed. Never a crash, a hang or a foreign exception."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import samples

from longwave import storage as st
from longwave.errors import CorruptIndexError, NotAnIndexError, StorageError
from longwave.storage import array_file
from longwave.storage import manifest as manifests


def run_seeds(scratch, first, count):
    """In a process of its own; a crash names its seed."""
    command = [sys.executable, str(Path(__file__).with_name("damage.py")), str(scratch), str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert [line for line in lines if "wrong" in line] == []
    assert lines[-1:] == ["done"], f"seed {lines[-1:]} ended the process with {done.returncode}: {done.stderr[-2000:]}"
    assert len(lines) == count + 1


def test_random_damage(scratch):
    run_seeds(scratch, 0, 400)


@pytest.mark.slow
def test_much_random_damage(scratch):
    run_seeds(scratch, 100_000, 10_000)


@pytest.mark.parametrize("newest", [True, False], ids=["newest of two", "only one"])
def test_every_byte_of_a_manifest(scratch, newest):
    path = samples.folder(scratch / "i", *([1, 2] if newest else [2]))
    file = sorted((path / "manifests").iterdir())[-1]
    content, outcomes = file.read_bytes(), {"same": 0, "before": 0, "error": 0}
    for place in range(len(content)):
        altered = bytearray(content)
        altered[place] ^= 1 << place % 8
        file.write_bytes(altered)
        try:
            state = st.read(path, verify=True)
        except StorageError as error:
            outcomes["error"] += 1
            assert str(path) in str(error)  # noqa: PT017
        else:
            number = samples.which(state)
            outcomes["same" if number == 2 else "before"] += 1
            assert bool(state.passed_over) == (number == 1)
    assert sum(outcomes.values()) == len(content)
    assert outcomes["same"] < 0.3 * len(content)  # white space
    assert (outcomes["before"] > 0.5 * len(content)) == newest
    file.write_bytes(content)
    assert samples.same(st.read(path, verify=True), 2)


def test_every_byte_of_every_file_of_an_array(scratch):
    path = samples.folder(scratch / "i", 1)
    for file in sorted((path / "data").iterdir()):
        content = file.read_bytes()
        for place in range(len(content)):
            altered = bytearray(content)
            altered[place] ^= 1 << place % 8
            file.write_bytes(altered)
            with pytest.raises(CorruptIndexError, match="was altered: its checksum differs"):
                st.read(path)
        file.write_bytes(content)
    assert samples.same(st.read(path), 1)


def reseal(file, said):
    said.pop("sha256", None)
    file.write_text(json.dumps({**said, "sha256": manifests._seal(said)}))


@pytest.fixture
def sealed(tmp_path):
    """A folder, its manifest's file, and what that says."""
    path = samples.folder(tmp_path / "i", 1)
    file = path / "manifests" / "00000001.json"
    return path, file, json.loads(file.read_text())


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.npy",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/b.npy",
        "lock",
        "x\0-0123456789abcdef.npy",
        "\ud800-0123456789abcdef.npy",
        "x-0123456789abcdef.npy\n",
        "n" * 300,
        None,
        7,
        ["x"],
    ],
)
def test_a_manifest_names_files_of_the_folder_of_data_only(sealed, name):
    path, file, said = sealed
    np.save(path.parent / "secret.npy", samples.arrays(1)["ids"])
    said["arrays"]["ids"]["file"] = name
    reseal(file, said)
    for work in (st.read, st.verify):
        with pytest.raises(CorruptIndexError, match="does not describe 'ids' as an array; build the index again"):
            work(path)


@pytest.mark.parametrize("key", ["crc32", "bytes", "shape", "dtype"])
def test_an_array_that_is_not_described_in_full(sealed, key):
    path, file, said = sealed
    for value in (None, "x", -1, [None], [-1, 16], 1.5, True, "|O8", "<f9", "<U999999999", [0, 2**70], [1] * 99, 2**63):
        said["arrays"]["vectors"][key] = value
        reseal(file, said)
        with pytest.raises(CorruptIndexError, match="vectors"):
            st.read(path, verify=True)
    del said["arrays"]["vectors"][key]
    reseal(file, said)
    with pytest.raises(CorruptIndexError, match="does not describe 'vectors'"):
        st.read(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("number", 2),
        ("number", None),
        ("parent", "x"),
        ("time", 3),
        ("time", "yesterday"),
        ("message", None),
        ("facts", []),
        ("arrays", []),
        ("format_version", 3),
        ("format_version", 0),
        ("format_version", "4"),
        ("format_version", True),
    ],
)
def test_a_manifest_that_makes_no_sense(sealed, key, value):
    path, file, said = sealed
    reseal(file, {**said, key: value})
    with pytest.raises(CorruptIndexError, match=r"00000001\.json"):
        st.read(path)


def test_manifests_that_only_python_could_read(sealed):
    path, file, _ = sealed
    for content in (
        b"[" * 100_000,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b"\xff\xfe",
        b"9" * 10_000,
        b"",
        b"[]",
        b"null",
    ):
        file.write_bytes(content)
        with pytest.raises((CorruptIndexError, NotAnIndexError)) as error:
            st.read(path)
        assert str(path) in str(error.value)


def test_a_manifest_beyond_the_bound_is_neither_read_nor_written(sealed, monkeypatch):
    path, file, _ = sealed
    monkeypatch.setattr(manifests, "MANIFEST_BYTES", 4000)
    with pytest.raises(CorruptIndexError):
        manifests.decode(b" " * 5000 + file.read_bytes(), file, 1)
    with (
        st.writer(path) as own,
        pytest.raises(StorageError, match=r"would have .* bytes, more than 4,000; attach"),
    ):
        own.commit({"long": "x" * 5000}, {})
    assert samples.same(st.read(path), 1)


@pytest.mark.parametrize("instead", ["pipe", "folder", "link"])
@pytest.mark.parametrize("what", ["manifest", "array", "manifests", "data", "old manifest", "old array"])
def test_a_pipe_a_folder_or_a_link_is_no_file_of_an_index(tmp_path, what, instead):
    path = (samples.old_folder if what.startswith("old") else samples.folder)(tmp_path / "i", 1)
    file = {
        "manifest": path / "manifests" / "00000001.json",
        "array": path / "data" / st.read(path).entries["ids"].file,
        "old manifest": path / "manifest.json",
        "old array": path / "ids.npy",
    }.get(what, path / what)
    file.rename(tmp_path / "moved")
    if instead == "pipe":
        os.mkfifo(file)
    elif instead == "folder":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "moved")
    with pytest.raises((CorruptIndexError, NotAnIndexError)) as error:
        st.read(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"}", b"'''"),
        (b"'shape': (", b"'shape': (" + b"(" * 50),
        (b"False", b"True "),
        (b"'<f4'", b"'|O8'"),
        (b"\x93NUMPY\x01", b"\x93NUMPY\x02"),
        (b"\x01\x00v\x00", b"\x01\x00\xff\xff"),
        (b"\x01\x00v\x00", b"\x01\x00u\x00"),  # what follows would not be aligned
        (b"(6, 4)", b"(4, 6)"),
    ],
)
def test_a_header_that_does_not_say_what_the_manifest_says(sealed, monkeypatch, old, new):
    """Compared as text: nothing is evaluated, and nothing mapped that the file does not have."""
    path, _, said = sealed
    monkeypatch.setattr(array_file, "SMALL", 0)
    file = path / "data" / said["arrays"]["vectors"]["file"]
    content = file.read_bytes()
    altered = content.replace(old, new, 1)
    assert altered != content
    file.write_bytes(altered[:128].ljust(128) + content[128:])
    with pytest.raises(CorruptIndexError, match="does not have the shape or type its manifest states"):
        st.read(path)


def test_large_arrays_are_compared_by_verify_and_strings_of_bytes_and_texts_always(sealed, monkeypatch):
    path, _, said = sealed
    monkeypatch.setattr(array_file, "SMALL", 0)
    for name, how in (("vectors", None), ("packed", "checksum differs"), ("ids", "holds something that is not text")):
        file = path / "data" / said["arrays"][name]["file"]
        content = file.read_bytes()
        file.write_bytes(content[:-4] + b"\xff\xff\xff\xff")
        if how is None:
            st.read(path)
        else:
            with pytest.raises(CorruptIndexError, match=how):
                st.read(path)
        with pytest.raises(CorruptIndexError, match="checksum differs"):
            st.read(path, verify=True)
        file.write_bytes(content)


@pytest.mark.parametrize("name", ["../j/ids", "/tmp/ids", "", ".hidden", "a/b", "a\0b", "\ud800", "n" * 300])
def test_names_of_arrays_of_an_old_folder_are_names_of_files_in_it(tmp_path, name):
    path = samples.old_folder(tmp_path / "i", 1)
    samples.old_folder(tmp_path / "j", 1)  # what the first name would lead to
    said = json.loads((path / "manifest.json").read_text())
    said["arrays"][name] = said["arrays"]["ids"]
    reseal(path / "manifest.json", said)
    for work in (st.read, lambda path: st.read(path, verify=True)):
        with pytest.raises(StorageError) as error:
            work(path)
        assert str(path) in str(error.value)
    samples.commit(path, 2)
    st.vacuum(path, grace=0)
    assert samples.same(st.read(path, verify=True), 2)
    assert samples.same(st.read(tmp_path / "j", verify=True), 1)


def test_a_writer_of_a_folder_with_a_damaged_manifest_does_not_take_it_for_a_new_one(sealed):
    path, file, said = sealed
    for content in (json.dumps({**said, "format": "longwave indey"}), "[]", ""):
        file.write_text(content)
        with st.writer(path, create=True) as own, pytest.raises(CorruptIndexError, match="cut short or altered"):
            assert own.state


def test_two_files_of_one_size_that_were_exchanged(tmp_path):
    path = samples.folder(tmp_path / "i", 1, 2)
    one, two = (path / "data" / st.read(path, number).entries["vectors"].file for number in (1, 2))
    one.rename(tmp_path / "x")
    two.rename(one)
    (tmp_path / "x").rename(two)
    for version in (1, 2):
        with pytest.raises(CorruptIndexError, match="checksum differs"):
            st.read(path, version)
    first, second = (path / "manifests" / f"0000000{n}.json" for n in (1, 2))
    second.write_bytes(first.read_bytes())
    with pytest.raises(CorruptIndexError, match="is the manifest of version 1"):
        st.read(path, 2)
