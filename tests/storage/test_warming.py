"""Files that are read ahead: which, and that nothing depends on it."""

import contextlib
import os

import numpy as np
import pytest

import longwave as lw
from longwave.storage import array_file, reading, warming

pytestmark = pytest.mark.skipif(not hasattr(os, "sendfile"), reason="this system does not read files to nowhere")


@pytest.fixture
def folder(tmp_path, digits_split):
    lw.Index.build(digits_split[0], k=10, progress=False).save(tmp_path / "digits")
    return tmp_path / "digits"


@pytest.fixture
def started(monkeypatch):
    """The thread of every load, or None; any index is worth one, and files of more than 1,000 bytes are mapped."""
    threads, usual = [], reading.warm
    monkeypatch.setattr(reading, "warm", lambda *given: threads.append(usual(*given)))
    monkeypatch.setattr(warming, "_WORTH", 0)
    monkeypatch.setattr(warming, "SMALL", 1000)
    monkeypatch.setattr(array_file, "SMALL", 1000)
    return threads


@pytest.fixture
def sent(monkeypatch):
    """The bytes that were read of every file."""
    known, usual = {}, os.sendfile

    def send(nowhere, handle, start, count):
        name = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
        known[name] = known.get(name, 0) + (made := usual(nowhere, handle, start, count))
        return made

    monkeypatch.setattr(os, "sendfile", send)
    return known


def folders_open(folder):
    """Handles of folders of an index that this process has."""
    names = []
    for handle in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            names.append(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115
    return sum(name.startswith(str(folder)) and not name.endswith(".npy") for name in names)


def test_every_mapped_file_is_read_whole(folder, digits_split, started, sent, monkeypatch):
    monkeypatch.setattr(warming, "_CHUNK", 5000)
    expected = lw.Index.load(folder, verify=True).search(digits_split[2], 10).ids
    assert not started  # all was read just now
    index = lw.Index.load(folder)
    started[-1].join()
    large = {str(file): file.stat().st_size for file in (folder / "data").iterdir() if file.stat().st_size > 1000}
    assert large
    assert sent == large
    assert np.array_equal(index.search(digits_split[2], 10).ids, expected)


def test_a_small_index_is_not_worth_a_thread_and_a_huge_one_is_left_to_the_system(folder, started, monkeypatch):
    monkeypatch.setattr(warming, "_WORTH", 1 << 26)
    lw.Index.load(folder)
    monkeypatch.setattr(warming, "_WORTH", 0)
    monkeypatch.setattr(warming, "machine_memory", lambda: 1000)
    lw.Index.load(folder)
    assert started == [None, None]


@pytest.mark.parametrize("error", [OSError("no"), RuntimeError("can't start new thread")])
def test_where_it_cannot_be_done_nothing_is_lost(folder, digits_split, started, monkeypatch, error):
    def fail(*_):
        raise error

    open_before = folders_open(folder)
    monkeypatch.setattr(os, "dup" if isinstance(error, OSError) else "_unused", fail, raising=False)
    monkeypatch.setattr(warming.threading.Thread, "start", fail)
    index = lw.Index.load(folder)
    assert started == [None]
    assert len(index.search(digits_split[2][:1], 10).ids[0]) == 10
    assert folders_open(folder) == open_before


def test_numbers_that_are_places_come_first(folder, started, monkeypatch):
    """`load` checks all of them."""
    monkeypatch.setattr(warming, "_read_all", lambda place, entries: (held.extend(entries), os.close(place.handle)))
    held = []
    lw.Index.load(folder)
    started[-1].join()
    kinds = [np.load(folder / "data" / entry.file, mmap_mode="r").dtype for entry in held]
    places = [kind.kind == "i" and kind.itemsize > 1 for kind in kinds]
    assert 0 < sum(places) < len(places)
    assert places == sorted(places, reverse=True)


def test_files_that_a_vacuum_takes_meanwhile(folder, started, sent, monkeypatch):
    """What is there still is read; the thread ends."""
    held, read_all = [], warming._read_all
    monkeypatch.setattr(warming, "_read_all", lambda place, entries: held.append((place, entries)))
    lw.Index.load(folder)
    started[-1].join()
    ((place, entries),) = held
    (folder / "data" / entries[0].file).unlink()
    read_all(place, entries)
    assert set(sent) == {str(folder / "data" / entry.file) for entry in entries[1:]}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(place.handle)
