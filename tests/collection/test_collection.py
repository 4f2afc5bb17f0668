"""The handle: all or nothing, many readers and one writer, earlier versions, what is written and what is not."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from living_samples import copy, vectors

import longwave as lw
from longwave.collection import Collection
from longwave.collection.tiers import run_to_merge
from longwave.errors import ConflictError, DataWarning, InputError, StorageError
from longwave.storage import Files

pytestmark = pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")


@pytest.fixture
def numbers(tmp_path):
    return copy("numbers", tmp_path)


def bad_row():
    rows = vectors(9, 5)
    rows[7, 3] = np.nan
    return rows


BAD = {
    "NaN": (lambda: {"vectors": bad_row()}, "row 7, column 3"),
    "known id": (lambda: {"vectors": vectors(2, 5), "ids": [900, 3]}, "id 3 already"),
    "id twice": (lambda: {"vectors": vectors(2, 5), "ids": [900, 900]}, "900 occurs 2 times"),
    "dimension": (lambda: {"vectors": np.ones((2, 5))}, "5 dimensions but the collection has 8"),
    "kind of id": (lambda: {"vectors": vectors(1, 5), "ids": ["x"]}, "whole numbers, got 'x'"),
    "number of ids": (lambda: {"vectors": vectors(2, 5), "ids": [900]}, "one entry per vector, 2, got 1"),
    "rows of metadata": (lambda: {"vectors": vectors(2, 5), "metadata": {"n": [1, 2, 3]}}, "each item, 2, got 3 rows"),
    "type of metadata": (lambda: {"vectors": vectors(1, 5), "metadata": {"n": ["x"]}}, "column 'n'"),
    "groups": (lambda: {"vectors": vectors(2, 5), "groups": [0, 0]}, "one vector each"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_batch_changes_nothing(numbers, case):
    make, message = BAD[case]
    with lw.open(numbers) as collection:
        collection.add(vectors(2, 4), ids=[500, 501])
        before = sorted(p.name for p in numbers.rglob("*"))
        with pytest.raises(InputError, match=message):
            collection.add(**make())
        assert sorted(p.name for p in numbers.rglob("*")) == before
        assert collection.version == 2
        assert len(collection) == 42


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.remove([3, 777]), "no item with id 777"),
        (lambda c: c.remove([]), "ids is empty"),
        (lambda c: c.remove(["a"]), "whole numbers, got 'a'"),
        (lambda c: c.remove(np.arange(40)), "no item at all"),
        (lambda c: c.replace(vectors(1, 5), ids=[777]), "no item with id 777"),
        (lambda c: c.search(vectors(1, 5), where={"size": 3}), "size"),
        (lambda c: c.search(vectors(1, 5), where={"n": 333}), "no item meets the condition: n = 333"),
        (lambda c: c.search(vectors(1, 5), where="n"), "there is no sign in the condition 'n'"),
        (lambda c: c.search(vectors(1, 5), columns=["size"]), "size"),
        (lambda c: c.similar([777]), "no item with id 777"),
    ],
)
def test_errors_name_what_is_wrong(numbers, call, message):
    with lw.open(numbers) as collection:
        with pytest.raises(InputError, match=message):
            call(collection)
        assert collection.version == 1


def test_removed_items_are_nowhere(numbers):
    rows = vectors(40, 1)
    with lw.open(numbers) as collection:
        collection.remove([3, 5])
        assert 3 not in collection
        assert 4 in collection
        for call in (lambda: collection.similar([3]), lambda: collection.explain(rows[4], 3),
                     lambda: collection.search(rows[4], where=[3])):  # fmt: skip
            with pytest.raises(InputError, match="no item with id 3"):
                call()
        told = collection.explain(rows[3], 4)
        assert not set(told.neighbors.tolist()) & {3, 5}
        index = collection.index
        dead = np.flatnonzero(index.dead_vertices)
        y = index.observe(lw.search.queries.Queries.make(rows, dimension=8))
        assert dead.tolist() == [3, 5]
        assert not set(y.indices.tolist()) & {3, 5}  # no weight in y
        mask = collection.index.ids < 20
        assert set(collection.search(rows[0], 100, where=mask).ids[0].tolist()) == set(range(20)) - {3, 5}
        stored = collection.index.precompute(top=40)
        assert not set(stored.search(rows[3], 38, solver=lw.Precomputed()).ids[0].tolist()) & {3, 5}


def test_without_metadata_the_remedy_is_named(tmp_path):
    lw.Index.build(vectors(30, 1), k=5, progress=False).save(tmp_path / "plain.longwave")
    with lw.open(tmp_path / "plain.longwave") as collection:  # as `longwave build` writes it
        with pytest.raises(InputError, match="with_metadata"):
            collection.search(vectors(1, 2), where={"year": 2020})
        collection.add(vectors(3, 3), metadata={"year": [2019, 2020, 2021]})
        hits = collection.search(vectors(1, 2), where={"year": {"$gte": 2020}}, columns=["year"])
        assert sorted(hits.columns["year"][0]) == [2020, 2021]
        collection.refresh(progress=False)
        assert sorted(collection.search(vectors(1, 2), where={"year": {"$exists": True}}).ids[0]) == [30, 31, 32]


def test_one_writer_and_readers_that_follow(numbers):
    with lw.open(numbers) as one, lw.open(numbers) as two:
        one.add(vectors(2, 4), ids=[500, 501])
        with pytest.raises(ConflictError, match="being written"):
            two.add(vectors(1, 5))
        assert len(two) == 40
        assert two.reload()
        assert not two.reload()
        assert two.search(vectors(2, 4), 1).ids[:, 0].tolist() == [500, 501]
        kept = two.index
        one.remove([500])
        one.refresh(progress=False)
        assert two.reload()
        assert 500 not in two
        assert 500 in kept.ids  # a snapshot never changes
        one.close()
        with pytest.raises(StorageError, match="closed"):
            one.add(vectors(1, 5))
        two.add(vectors(1, 5), ids=[502])  # the lock is free
    assert len(lw.open(numbers)) == 42


def test_a_writer_that_opened_early_does_not_lose_what_came_between(numbers):
    early = lw.open(numbers)
    with lw.open(numbers) as other:
        other.add(vectors(2, 4), ids=[500, 501])
    early.add(vectors(1, 5), ids=[502])
    assert {500, 501, 502} <= set(early.index.ids.tolist())
    early.close()


def test_earlier_versions_are_for_reading(numbers):
    with lw.open(numbers) as collection:
        collection.remove([3])
        assert [own.message for own in collection.history()] == ["create with 40 items", "remove 1 item"]
    old = lw.open(numbers, version=1)
    assert 3 in old
    with pytest.raises(StorageError, match="for reading only"):
        old.remove([4])
    with pytest.raises(StorageError, match="no version 9"):
        lw.open(numbers, version=9)


def test_create_refuses_what_is_there(numbers):
    with pytest.raises(StorageError, match="exists"):
        lw.create(numbers, vectors(20, 1))


def test_the_same_as_an_index_that_was_extended(numbers):
    """However the items came, in one batch or in twelve: the answers are those of `Index.extend`."""
    more = vectors(24, 6)
    whole = lw.Index.load(numbers).extend(more, ids=np.arange(500, 524))
    with lw.open(numbers) as collection:
        for start in range(0, 24, 2):
            collection.add(more[start : start + 2], ids=[500 + start, 501 + start])
        assert len(collection._living.segments) < 12
        for options in ({}, {"blend": 0}, {"blend": 0.5}, {"solver": lw.Euclidean()}, {"tolerance": 1e-4}):
            one, two = whole.search(more, 20, **options), collection.search(more, 20, **options)
            assert one.ids.tolist() == two.ids.tolist()
            np.testing.assert_allclose(one.scores, two.scores, rtol=1e-5)
        collection.index.save(numbers.parent / "flat.longwave")  # all of it as one index
    flat = lw.Index.load(numbers.parent / "flat.longwave")
    assert flat.search(more, 20).ids.tolist() == whole.search(more, 20).ids.tolist()


class Counted(Files):
    """The file layer, counting what it is told to write."""

    files = bytes = 0

    def create(self, folder, name):
        self.files += 1
        return super().create(folder, name)

    def write(self, file, content):
        self.bytes += len(content)
        super().write(file, content)


def test_a_commit_writes_only_what_is_new(numbers):
    layer = Counted()
    written = []
    with Collection(numbers, files=layer) as collection:
        for row in vectors(120, 7):
            layer.files = layer.bytes = 0
            collection.add(row[None])
            written.append((layer.files, layer.bytes))
        segments = collection._living.segments
    assert len(segments) <= 3 * 9
    assert max(files for files, _ in written) <= 8
    manifests = [len(p.read_bytes()) for p in sorted((numbers / "manifests").iterdir())]
    assert max(manifests) < 40_000
    early, late = (np.median([size for _, size in part]) for part in (written[:20], written[-20:]))
    assert late < 2 * early


def test_a_thousand_commits_make_few_segments():
    sizes, moved = [], 0
    for _ in range(1000):
        sizes.append(1)
        while count := run_to_merge(sizes):
            moved += sum(sizes[-count:])
            sizes[-count:] = [sum(sizes[-count:])]
    assert sum(sizes) == 1000
    assert len(sizes) <= 27
    assert moved <= 3 * 1000


def test_what_did_not_change_is_not_made_again(numbers):
    with lw.open(numbers) as collection:
        collection.add(vectors(3, 4))
        before = collection._living
        collection.add(vectors(3, 5))
        after = collection._living
        assert after.base is before.base
        assert after.segments[0] is before.segments[0]
        assert after.index.graph is before.index.graph


def test_what_is_committed_during_a_refresh_is_not_lost(numbers, monkeypatch):
    from longwave.collection import renewal

    with lw.open(numbers) as collection:
        collection.add(vectors(5, 4), ids=np.arange(500, 505), metadata={"n": np.arange(500, 505)})
        collection.remove([1, 501])
        build = renewal.build

        def meanwhile(*given, **options):
            collection.add(vectors(4, 6), ids=np.arange(600, 604), metadata={"n": np.arange(600, 604)})
            collection.remove([2, 502, 603])
            collection.replace(vectors(1, 8), ids=[7])
            return build(*given, **options)

        monkeypatch.setattr(renewal, "build", meanwhile)
        collection.refresh(progress=False)
        expected = ({*range(40), *range(500, 505), *range(600, 604)}) - {1, 2, 501, 502, 603}
        assert set(collection.index.ids.tolist()) == expected
        assert collection.search(vectors(4, 6)[:3], 1).ids[:, 0].tolist() == [600, 601, 602]
        assert collection.search(vectors(1, 8), 1, columns=["n"]).columns["n"] == [[7]]
        assert collection.staleness().outside == pytest.approx(4 / len(expected))
    assert set(lw.open(numbers).index.ids.tolist()) == expected


def test_a_refresh_is_a_build_of_what_is_there(numbers):
    rows = np.vstack([vectors(40, 1), vectors(12, 4)])
    with lw.open(numbers) as collection:
        collection.add(rows[40:])
        collection.remove(np.arange(0, 40, 4))
        collection.refresh(progress=False)
        kept = np.setdiff1d(np.arange(52), np.arange(0, 40, 4))
        built = lw.Index.build(rows[kept], ids=kept, k=6, spectrum=lw.Exact(), progress=False)
        one, two = collection.search(rows, 20), built.search(rows, 20)
        assert one.ids.tolist() == two.ids.tolist()
        assert collection.index.settings == built.settings


def test_staleness_says_when_to_refresh(numbers):
    with lw.open(numbers) as collection:
        assert not collection.staleness().stale
        with pytest.warns(DataWarning, match="refresh"):
            collection.add(vectors(200, 4))
        collection.remove([1, 2])
        known = collection.staleness()
        assert known.outside == pytest.approx(200 / 238)
        assert known.removed == pytest.approx(2 / 240)
        assert 0 < known.expressed <= 1
        assert known.loss > 0
        assert "refresh" in str(known)


def test_threads_search_while_another_adds(numbers):
    problems, done = [], threading.Event()
    with lw.open(numbers) as collection:

        def ask():
            while not done.is_set():
                try:
                    hits = collection.search(vectors(2, 3), 10)
                    assert hits.ids.shape == (2, 10)
                except Exception as error:
                    problems.append(error)
                    return

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(15):
            collection.add(vectors(3, number + 20))
            collection.remove([number])
        collection.compact()
        done.set()
        for thread in threads:
            thread.join()
    assert not problems


ADDING = """
import sys, numpy as np, longwave as lw
sys.path.insert(0, sys.argv[2])
from living_samples import vectors
with lw.open(sys.argv[1]) as collection:
    for number in range(1000, 2000):
        collection.add(vectors(1, number), ids=[number])
        print(number, flush=True)
"""


@pytest.mark.parametrize("pause", [0.05, 0.3])
def test_acknowledged_adds_survive_a_kill(numbers, pause):
    command = [sys.executable, "-W", "ignore", "-c", ADDING, str(numbers), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        told = [process.stdout.readline() for _ in range(3)]
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        told += process.stdout.readlines()
    acknowledged = {int(line) for line in told if line.endswith("\n") and line.strip()}
    assert acknowledged
    with lw.open(numbers) as collection:
        known = set(collection.index.ids.tolist()) - set(range(40))
        assert acknowledged <= known <= acknowledged | {max(acknowledged) + 1}
        collection.add(vectors(1, 5), ids=[5000])  # the lock went with the process
