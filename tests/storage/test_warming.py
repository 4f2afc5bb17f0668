"""Files that are read ahead: which, and that nothing depends on it."""

import os
from pathlib import Path

import numpy as np
import pytest

import longwave as lw
from longwave.storage import Opened, reading, warming

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no advice about files")


@pytest.fixture
def folder(tmp_path, digits_split):
    lw.Index.build(digits_split[0], k=10, progress=False).save(tmp_path / "digits")
    return tmp_path / "digits"


@pytest.fixture
def advised(monkeypatch):
    """The bytes of every file that was asked for."""
    asked, usual = {}, os.posix_fadvise

    def advise(handle, start, length, advice):
        usual(handle, start, length, advice)
        asked[str(Path(f"/proc/self/fd/{handle}").readlink())] = start + length

    monkeypatch.setattr(os, "posix_fadvise", advise)
    return asked


def test_a_large_index_is_read_ahead_and_a_small_one_is_not(folder, digits_split, advised, monkeypatch):
    started, usual = [], reading.warm
    monkeypatch.setattr(reading, "warm", lambda *given: started.append(usual(*given)))
    expected = lw.Index.load(folder).search(digits_split[2], 10).ids
    assert started == [None]  # not worth a thread
    monkeypatch.setattr(warming, "_WORTH", 0)
    monkeypatch.setattr("longwave.storage.array_file.SMALL", 1000)
    index = lw.Index.load(folder)
    started[-1].join()
    large = {str(file): file.stat().st_size for file in (folder / "data").iterdir() if file.stat().st_size > 1000}
    assert large
    assert all(advised[file] >= size for file, size in large.items())
    assert np.array_equal(index.search(digits_split[2], 10).ids, expected)


def test_files_that_a_vacuum_takes_meanwhile(folder, digits_split, monkeypatch):
    """The maps stay, and so does the search."""
    monkeypatch.setattr(warming, "_WORTH", 0)
    monkeypatch.setattr("longwave.storage.array_file.SMALL", 1000)
    started, usual = [], warming._ask_for
    monkeypatch.setattr(warming, "_ask_for", lambda name, place: started.append((name, place)))
    index = lw.Index.load(folder)
    names = [name for name, _ in started]
    assert names
    place = Opened(folder / "data", os.open(folder / "data", os.O_RDONLY))
    for name in names:
        (folder / "data" / name).unlink(missing_ok=True)
        usual(name, place)
    os.close(place.handle)
    assert len(index.search(digits_split[2][:1], 10).ids[0]) == 10


def test_an_index_larger_than_a_quarter_of_the_memory_is_left_to_the_system(folder, monkeypatch):
    monkeypatch.setattr(warming, "_WORTH", 0)
    monkeypatch.setattr(warming, "_memory", lambda: 0)
    started, usual = [], reading.warm
    monkeypatch.setattr(reading, "warm", lambda *given: started.append(usual(*given)))
    lw.Index.load(folder)
    assert started == [None]
