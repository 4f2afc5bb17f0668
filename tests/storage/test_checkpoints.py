"""What a long build keeps of its finished stages."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import longwave as lw
from longwave.errors import StorageError
from longwave.spectrum import chebyshev
from longwave.storage.checkpoints import Checkpoint, open_checkpoint

BUILD = """
import sys, numpy as np, longwave as lw
from longwave.spectrum import chebyshev
chebyshev._DENSE_VERTICES = 0
index = lw.Index.build(np.load(sys.argv[1]), k=10, spectrum=lw.Chebyshev(150, tolerance=1e-5), workdir=sys.argv[2])
index.save(sys.argv[3], force=True)
"""


def test_stages_are_whole_or_absent(tmp_path):
    work = Checkpoint(tmp_path)
    assert work.load("lists") is None
    work.save("lists", {"a": np.arange(3), "b": np.eye(2)})
    loaded = work.load("lists")
    np.testing.assert_array_equal(loaded["b"], np.eye(2))
    (tmp_path / "lists-done.json").unlink()  # as if killed before the mark
    assert work.load("lists") is None


def test_rounds_keep_the_last_whole_one(tmp_path):
    work = Checkpoint(tmp_path).at("component-3")
    assert work.latest("round") is None
    for number in (9, 10):
        work.save_round("round", number, {"block": np.full(2, number)})
    number, arrays = work.latest("round")
    assert (number, arrays["block"].tolist()) == (10, [10, 10])
    assert len(list(tmp_path.glob("*.npy"))) == 1
    assert Checkpoint(tmp_path).at("component-31").latest("round") is None


def test_a_workdir_belongs_to_one_build(tmp_path):
    v = np.eye(3, dtype=np.float32)
    open_checkpoint(tmp_path / "w", v, {"k": 5})
    open_checkpoint(tmp_path / "w", v, {"k": 5})
    with pytest.raises(StorageError, match="its k differ"):
        open_checkpoint(tmp_path / "w", v, {"k": 6})
    with pytest.raises(StorageError, match="its vectors differ"):
        open_checkpoint(tmp_path / "w", 2 * v, {"k": 5})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises(StorageError, match="not empty and not a workdir"):
        open_checkpoint(tmp_path / "other", v, {"k": 5})


def test_a_finished_workdir_is_reused(tmp_path, digits_split, monkeypatch):
    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)
    options = {"k": 10, "spectrum": lw.Chebyshev(50), "workdir": tmp_path / "w"}
    first = lw.Index.build(digits_split[0], **options)
    calls = []
    second = lw.Index.build(digits_split[0], **options, progress=lambda stage, *_: calls.append(stage))
    assert not [stage for stage in calls if stage.startswith(("neighbours", "basis: round "))]
    np.testing.assert_array_equal(first.spectrum.eigenvectors.toarray(), second.spectrum.eigenvectors.toarray())


def test_a_workdir_belongs_to_the_lists_it_was_given(tmp_path, digits_split):
    """Another graph must not go on from the rounds of the first."""
    from longwave.graph.lists import nearest_others
    from longwave.rows.vectors import normalize

    vectors = digits_split[0][:200]
    lists = [nearest_others(normalize(vectors), k=k).ids for k in (5, 8)]
    for _ in range(2):
        lw.Index.build(vectors, lists=lists[0], workdir=tmp_path / "w")
    with pytest.raises(StorageError, match="its lists differ"):
        lw.Index.build(vectors, lists=lists[1], workdir=tmp_path / "w")


def test_kill_9_at_ten_random_moments(tmp_path, digits_split):
    """Each resumed build ends with the same scores, bit for bit, as one that was never interrupted."""
    np.save(tmp_path / "v.npy", digits_split[0])
    command = [sys.executable, "-c", BUILD, tmp_path / "v.npy"]
    start = time.perf_counter()
    subprocess.run([*command, tmp_path / "w0", tmp_path / "whole"], check=True)
    whole_time = time.perf_counter() - start
    expected = lw.Index.load(tmp_path / "whole").search(digits_split[2], 50)
    rng = random.Random(0)
    for _ in range(10):
        process = subprocess.Popen([*command, tmp_path / "w", tmp_path / "resumed"])
        time.sleep(rng.uniform(0.3, 1.0) * whole_time)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*command, tmp_path / "w", tmp_path / "resumed"], check=True)
    hits = lw.Index.load(tmp_path / "resumed", verify=True).search(digits_split[2], 50)
    np.testing.assert_array_equal(hits.ids, expected.ids)
    np.testing.assert_array_equal(hits.scores, expected.scores)
