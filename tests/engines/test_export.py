"""An export is whole or absent, goes on where it was broken off, and follows a collection that lives."""

import subprocess
import sys

import numpy as np
import pytest

import longwave as lw
from commands import run
from engines.conftest import QUERIES, described, rows
from engines.test_remote import same
from longwave.cli.exporting import keep_following
from longwave.engines import source
from longwave.engines.opening import is_address, open_engine, shown_address
from longwave.engines.record import FORMAT, Record
from longwave.errors import CorruptIndexError, InputError, MissingExtraError, NewerIndexError, NotAnIndexError


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(source, "_BATCH_NUMBERS", 105 * 100)  # 100 rows of 64 + 41 numbers


class PowerCut(Exception):
    pass


def break_after(monkeypatch, batches):
    """Make the export fail after so many batches; returns the sizes of those that were read."""
    read, whole = [], source.Source._batch

    def counted(self, places):
        if len(read) == batches:
            raise PowerCut
        read.append(len(places))
        return whole(self, places)

    monkeypatch.setattr(source.Source, "_batch", counted)
    return read


def test_whole_or_absent_and_goes_on(place, index, small_batches, monkeypatch):
    with monkeypatch.context() as patch:
        break_after(patch, 2)
        with pytest.raises(PowerCut):
            place.export(index)
    with pytest.raises(NotAnIndexError, match="no complete export"):
        place.open()
    done = place.export(index)
    assert done.whole
    assert done.written == 200  # of 400: the other batches were there
    with place.open() as remote:
        same(remote.search(QUERIES, 20), index.search(QUERIES, 20, plan="basis"))


def test_the_old_one_stays_until_the_new_one_is_whole(quick_place, index, small_batches, monkeypatch):
    other = lw.Index.build(rows(400, 120), k=8, spectrum=lw.Chebyshev(20), progress=False)
    quick_place.export(other)
    with monkeypatch.context() as patch:
        break_after(patch, 3)
        with pytest.raises(PowerCut):
            quick_place.export(index)
    with quick_place.open() as remote:
        same(remote.search(QUERIES, 10), other.search(QUERIES, 10, plan="basis"))
    assert quick_place.export(index).written == 100
    with quick_place.open() as remote:
        same(remote.search(QUERIES, 10), index.search(QUERIES, 10, plan="basis"))


def test_another_draft_is_begun_anew(quick_place, index, small_batches, monkeypatch):
    other = lw.Index.build(rows(400, 250), k=8, spectrum=lw.Chebyshev(20), progress=False)
    with monkeypatch.context() as patch:
        break_after(patch, 1)
        with pytest.raises(PowerCut):
            quick_place.export(other)
    assert quick_place.export(index).written == len(index)


def test_follows_what_is_added_and_removed_exactly_once(place, living):
    assert place.export(living).whole
    assert place.export(living).written == 0
    living.add(rows(500, 40), ids=[f"x{i}" for i in range(40)], metadata=described(0, 40))
    living.remove(["d3", "d10", "d399"])  # d3 stands for its copies
    done = place.export(living)
    assert (done.whole, done.written, done.removed) == (False, 41, 3)  # d5 stands for them now
    done = place.export(living)
    assert (done.whole, done.written, done.removed) == (False, 0, 0)
    with place.open(exact=True) as remote:
        assert len(remote) == len(living) == 437
        wanted = living.search(QUERIES, 20, plan="basis")
        same(remote.search(QUERIES, 20), wanted, least=0.98)
        assert {"x0", "x39"} <= set(remote.search(rows(500, 40), 3).ids.ravel().tolist())
        assert not {"d3", "d10", "d399"} & set(remote.search(rows(0, 11), 10).ids.ravel().tolist())
        known = living.search(QUERIES[:2], 8, where={"name": "o'1"}, plan="basis")
        same(remote.search(QUERIES[:2], 8, where={"name": "o'1"}), known, least=0.98)


def test_a_change_that_was_broken_off_is_made_up_for(quick_place, living, monkeypatch):
    quick_place.export(living)
    living.remove(["d20"])
    living.add(rows(500, 30), ids=[f"x{i}" for i in range(30)], metadata=described(0, 30))
    with monkeypatch.context() as patch:
        break_after(patch, 0)
        with pytest.raises(PowerCut):
            quick_place.export(living)
    quick_place.export(living)
    engine = open_engine(quick_place.url, quick_place.name)
    engine.record()
    numbers, ids, _ = engine.known()
    engine.close()
    assert sorted(ids.tolist()) == sorted(living.index.ids.tolist())
    assert len(np.unique(numbers)) == len(living)


def test_a_renamed_item_and_new_columns(living, tmp_path):
    url = f"duckdb:{tmp_path / 'x.duckdb'}"
    pytest.importorskip("duckdb")
    living.export(url, progress=False, approximate=False)
    living.change(rename={"d8": "eight"})
    assert living.export(url, progress=False, approximate=False).written == 1
    living.add(rows(500, 2), ids=["x0", "x1"], metadata={"colour": ["red", "blue"]})
    assert living.export(url, progress=False, approximate=False).whole  # the table has another column
    with lw.Remote(url) as remote:
        assert remote.search(rows(8, 1), 1).ids.tolist() == [["eight"]]
        assert remote.search(rows(500, 1), 1, where={"colour": "red"}).ids.tolist() == [["x0"]]


def test_the_command_follows(living, tmp_path, capsys):
    url, steps = f"faiss:{tmp_path / 'x'}", iter(["nothing", "add", "nothing", "stop"])
    living.export(url, progress=False)
    with lw.open(living.path) as reader:

        def wait():
            step = next(steps)
            if step == "add":
                living.add(rows(500, 5), ids=list("vwxyz"), metadata=described(0, 5))
            elif step == "stop":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            keep_following(reader, url, name="longwave", exact=False, wait=wait)
    told = capsys.readouterr().err
    assert told.count("5 rows written") == 1
    with lw.Remote(url) as remote:
        assert len(remote) == 405


def test_the_commands(folder, index, tmp_path):
    url, queries = f"faiss:{tmp_path / 'x'}", tmp_path / "queries.npy"
    np.save(queries, QUERIES[:2])
    code, _, told = run("export", folder, url, "--name", "shown")
    assert (code, "400 rows written" in told) == (0, True), told
    output = tmp_path / "hits.npz"
    code, _, told = run("search", url, queries, "-k", 5, "--name", "shown", "--where", "year>=2000", "-o", output)
    assert code == 0, told
    wanted = index.search(QUERIES[:2], 5, where={"year": {"$gte": 2000}}, plan="basis")
    assert np.load(output)["ids"].tolist() == wanted.ids.tolist()
    code, _, told = run("search", url, queries, "--tolerance", "0.001", "--name", "shown")
    assert (code, "ask the index itself" in " ".join(told.split())) == (1, True), told


def test_dates_come_back_as_dates(exported, index):
    import datetime

    with exported.open() as remote:
        found = remote.search(QUERIES[:1], 1, columns=["day", "size"])
    assert isinstance(found.columns["day"][0][0], datetime.date)
    assert isinstance(found.columns["size"][0][0], float)


def test_addresses():
    assert is_address("postgresql://x/y")
    assert is_address("lance:x")
    assert not is_address("photos.longwave")
    assert shown_address("postgresql://me:secret@host/db") == "postgresql://me@host/db"
    for wrong in ("oracle://x", "duckdb:", "photos.longwave", "qdrant://"):
        with pytest.raises(InputError, match="postgresql://USER"):
            open_engine(wrong)
    with pytest.raises(InputError, match="letters, digits"):
        open_engine("lance:x", 'a"; DROP')


def test_what_cannot_be_exported_says_why(index, tmp_path):
    url = f"faiss:{tmp_path / 'x'}"
    regions = lw.Index.build(rows(0, 60), groups=np.arange(60) // 2, k=5, spectrum=lw.Chebyshev(8), progress=False)
    with pytest.raises(InputError, match=r"several vectors.*longwave serve"):
        regions.export(url)
    graph = lw.Index.build(graph=[(0, 1), (1, 2)], progress=False)
    with pytest.raises(InputError, match="needs vectors"):
        graph.export(url)
    kernel = lambda products, one, other: np.maximum(products, 0)  # noqa: E731
    own = lw.Index.build(rows(0, 60), kernel=kernel, k=5, spectrum=lw.Chebyshev(8), progress=False)
    with pytest.raises(InputError, match="kernel own:"):
        own.export(url)


def test_a_record_of_later_or_of_damaged_exports(index):
    text = source.Source(index, None, True).record.to_json()
    assert Record.parse(text, "here").items == 400
    later = text.replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}')
    with pytest.raises(NewerIndexError, match="later version"):
        Record.parse(later, "here")
    for broken in ("{", "{}", text.replace('"rank"', '"ranc"')):
        with pytest.raises(CorruptIndexError, match="export again"):
            Record.parse(broken, "here")


def test_half_a_folder_of_faiss(index, tmp_path):
    url = f"faiss:{tmp_path / 'x'}"
    index.export(url, progress=False)
    for path in tmp_path.rglob("coordinates.faiss"):
        path.write_bytes(path.read_bytes()[:1000])
    with lw.Remote(url) as remote, pytest.raises(CorruptIndexError, match="export again"):
        remote.search(QUERIES, 3)


@pytest.mark.parametrize(
    ("url", "modules", "extra"),
    [
        ("postgresql://x/y", ("psycopg", "pgvector"), "pgvector"),
        ("qdrant://localhost", ("qdrant_client",), "qdrant"),
        ("qdrant-edge:x", ("qdrant_edge",), "qdrant-edge"),
        ("lance:x", ("lancedb",), "lancedb"),
        ("duckdb:x", ("duckdb",), "duckdb"),
    ],
)
def test_a_missing_extra_says_its_install_line(url, modules, extra, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for module in modules:
        for known in [name for name in sys.modules if name.split(".")[0] == module]:
            monkeypatch.delitem(sys.modules, known)
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'longwave\[{extra}\]'"):
        open_engine(url, write=True)


def test_import_loads_no_engine():
    engines = ("psycopg", "pgvector", "qdrant_client", "qdrant_edge", "lancedb", "duckdb", "pyarrow", "faiss")
    code = f"import sys, longwave; longwave.Remote; print([m for m in {engines[:-2]} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
