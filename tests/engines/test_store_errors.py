"""A store that is down, slow, of another shape, without rights or half written: an error whose remedy works."""

import http.server
import json
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import longwave as lw
from commands import run
from engines.conftest import QUERIES, place_of, rows
from engines.test_export import PowerCut, break_after, small_batches  # noqa: F401
from engines.test_remote import same
from longwave.engines.foreign import AGAIN, Harmed, foreign_errors
from longwave.errors import CorruptIndexError, FileError, InputError, LongwaveError, NewerIndexError, RemoteError

FILES = ("duckdb", "lance", "faiss", "qdrant-edge")


def half(content):
    return content[: len(content) // 2]


def harm(folder, pattern, change):
    """Change files of a folder, or take them away where the change is None."""
    found = list(folder.glob(pattern))
    assert found, f"{pattern} of {sorted(path.name for path in folder.iterdir())}"
    for path in found:
        if change is None:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif path.is_file():
            path.write_bytes(change(path.read_bytes()))


def answers(place, index):
    with place.open() as remote:
        same(remote.search(QUERIES, 5), index.search(QUERIES, 5, plan="basis"))


# Kind, files, what becomes of them, and whether an export sees it by itself.
DAMAGE = [
    ("faiss", "things/current", half, True),
    ("faiss", "things/current", lambda content: b"\0", True),
    ("faiss", "things/1/record.json", half, True),
    ("faiss", "things/1/record.json", None, True),
    ("faiss", "things/1/number.npy", half, True),
    ("faiss", "things/1/row.npy", lambda content: _shorter(), True),
    ("faiss", "things/1/vector.faiss", half, True),
    ("faiss", "things/1/psi.json", half, True),
    ("lance", "things_1.lance/data/*", half, True),
    ("lance", "things_1.lance", None, True),
    ("lance", "things_exports.lance/data/*", half, True),
    ("lance", "things_1.lance/_indices/*/*", half, False),
    ("qdrant-edge", "things_1/edge_config.json", half, True),
    ("qdrant-edge", "things_1/segments", None, True),
    ("qdrant-edge", "things_1", None, True),
    ("qdrant-edge", "things_exports/edge_config.json", half, True),
]


def _shorter():
    import io

    stream = io.BytesIO()
    np.save(stream, np.arange(7))
    return stream.getvalue()


@pytest.mark.parametrize(("kind", "pattern", "change", "seen"), DAMAGE)
def test_a_damaged_export_says_so_and_is_written_anew(kind, pattern, change, seen, index, tmp_path, request):
    place = place_of(kind, request, tmp_path)
    place.export(index)
    harm(tmp_path / kind, pattern, change)
    with pytest.raises((RemoteError, CorruptIndexError), match=r"export again, with anew=True \(--anew\)"):
        answers(place, index)
    assert place.export(index, anew=not seen).written == len(index)
    answers(place, index)


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [("lance", "things_exports*"), ("qdrant-edge", "things_exports*"), ("faiss", "things/current")],
)
def test_rows_that_no_record_names_are_no_export(kind, pattern, index, tmp_path, request):
    place = place_of(kind, request, tmp_path)
    place.export(index)
    harm(tmp_path / kind, pattern, None)
    with pytest.raises(LongwaveError, match="no complete export"):
        place.open()
    assert place.export(index).whole
    answers(place, index)


def test_damaged_metadata(index, tmp_path):
    url = f"faiss:{tmp_path}"
    for change in (half, None):
        index.export(url, progress=False, anew=True)
        harm(tmp_path, "longwave/*/metadata.parquet", change)
        with lw.Remote(url) as remote:
            same(remote.search(QUERIES, 5), index.search(QUERIES, 5, plan="basis"))
            with pytest.raises(CorruptIndexError, match=r"not whole.*--anew"):
                remote.search(QUERIES, 5, where={"year": 2000})


def test_a_draft_that_was_damaged_is_begun_anew(index, tmp_path, small_batches, monkeypatch):  # noqa: F811
    url = f"faiss:{tmp_path}"
    with monkeypatch.context() as patch:
        break_after(patch, 2)
        with pytest.raises(PowerCut):
            index.export(url, progress=False)
    first = min((tmp_path / "longwave/1/part").glob("*.npz"), key=lambda path: int(path.stem))
    first.write_bytes(half(first.read_bytes()))
    with pytest.raises(CorruptIndexError, match="export again"):
        index.export(url, progress=False)
    assert index.export(url, progress=False).written == len(index)


def test_a_later_format_can_be_replaced(index, tmp_path):
    url = f"faiss:{tmp_path}"
    index.export(url, progress=False)
    harm(tmp_path, "longwave/1/record.json", lambda text: text.replace(b'"format": 1', b'"format": 9'))
    with pytest.raises(NewerIndexError, match=r"upgrade.*--anew"):
        lw.Remote(url)
    assert index.export(url, progress=False).whole


def test_duckdb(index, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    from longwave.engines import duck

    path = tmp_path / "x.duckdb"
    url = f"duckdb:{path}"
    index.export(url, progress=False, approximate=False)

    def changed(text):
        with duckdb.connect(str(path)) as own:
            own.execute(text)

    changed("ALTER TABLE longwave_1 ALTER vector TYPE FLOAT[9] USING vector[1:9]::FLOAT[9]")
    with lw.Remote(url) as remote, pytest.raises(RemoteError, match=r"same size.*--anew"):
        remote.search(QUERIES, 3)
    assert index.export(url, progress=False, approximate=False, anew=True).whole
    changed("DROP TABLE longwave_2")
    with lw.Remote(url) as remote, pytest.raises(RemoteError, match=r"does not exist.*--anew"):
        remote.search(QUERIES, 3)
    assert index.export(url, progress=False, approximate=False).whole
    code = f"import duckdb, time; own = duckdb.connect({str(path)!r}); print(1, flush=True); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        for work in (lambda: lw.Remote(url), lambda: index.export(url, progress=False)):
            with pytest.raises(RemoteError, match=r"open elsewhere.*close the other"):
                work()
        other.kill()
    path.write_bytes(half(path.read_bytes()))
    with (
        pytest.raises(RemoteError, match=r"no whole file of DuckDB's.*export to another file"),
        lw.Remote(url) as remote,
    ):
        remote.search(QUERIES, 3)
    path.write_text("something else")
    with pytest.raises(RemoteError, match=r"no whole file of DuckDB's.*export to another file"):
        index.export(url, progress=False)
    assert path.read_text() == "something else"
    with pytest.raises(RemoteError, match=r"cannot open.*folder that is there"):
        index.export(f"duckdb:{tmp_path}/no/x.duckdb", progress=False)
    monkeypatch.setattr(duck, "_carried", lambda version: "nothing_of_this_name")
    with pytest.raises(InputError, match=r"no extension vss.*pip install.*--exact"):
        index.export(f"duckdb:{tmp_path}/y.duckdb", progress=False)


@pytest.mark.parametrize("kind", FILES)
def test_where_nothing_may_be_written(kind, index, tmp_path):
    pytest.importorskip({"duckdb": "duckdb", "lance": "lancedb", "qdrant-edge": "qdrant_edge"}.get(kind, "faiss"))
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises((RemoteError, FileError), match=r"cannot (write|open).*"):
        index.export(f"{kind}:{tmp_path}/file/x", progress=False)
    assert (tmp_path / "file").read_text() == "not a folder"


def test_lance_of_another_dimension_and_qdrant_open_elsewhere(index, tmp_path):
    lancedb, arrow = pytest.importorskip("lancedb"), pytest.importorskip("pyarrow")
    index.export(f"lance:{tmp_path}/l", progress=False)
    base = lancedb.connect(f"{tmp_path}/l")
    table = base.open_table("longwave_1").to_arrow()
    short = arrow.FixedSizeListArray.from_arrays(arrow.array(np.zeros(9 * len(table), dtype=np.float32)), 9)
    place = table.column_names.index("vector")
    base.create_table("longwave_1", data=table.set_column(place, "vector", short), mode="overwrite")
    with lw.Remote(f"lance:{tmp_path}/l") as remote, pytest.raises(RemoteError, match=r"dim\(9\).*--anew"):
        remote.search(QUERIES, 3)
    pytest.importorskip("qdrant_edge")
    url = f"qdrant-edge:{tmp_path}/q"
    index.export(url, progress=False)
    code = (
        f"import time, longwave as lw; own = lw.Remote({url!r}); own.vectors.everything(); print(1, flush=True); "
        "time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(RemoteError, match=r"open elsewhere.*close the other"):
            index.export(url, progress=False, anew=True)
        other.kill()
    with lw.Remote(url) as remote:
        same(remote.search(QUERIES, 3), index.search(QUERIES, 3, plan="basis"))


@contextmanager
def server(answer):
    """What may stand where Qdrant should: answer says what it does with a request."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        do_PUT = do_POST = do_DELETE = do_GET

        def log_message(self, *_):
            pass

    own = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=own.serve_forever)
    thread.start()
    try:
        yield f"qdrant://127.0.0.1:{own.server_port}"
    finally:
        own.shutdown()
        own.server_close()
        thread.join()


def sent(code, body):
    def answer(request):
        request.send_response(code)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


SAID = json.dumps({"status": {"error": "no"}, "time": 0}).encode()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda request: time.sleep(3), r"took too long.*try again"),
        (sent(401, SAID), r"refuses.*401.*QDRANT_API_KEY"),
        (sent(403, SAID), r"refuses.*403.*QDRANT_API_KEY"),
        (sent(503, SAID), r"fails.*503.*log of the server"),
        (sent(200, b"<html>"), r"no Qdrant.*check the host"),
    ],
    ids=["slow", "no key", "no right", "broken", "another program"],
)
def test_a_server_of_qdrants(answer, told, index, monkeypatch):
    pytest.importorskip("qdrant_client")
    monkeypatch.setattr("longwave.engines.qdrant._SECONDS", 1)
    with server(answer) as url:
        for work in (lambda: lw.Remote(url), lambda: index.export(url, progress=False)):
            with pytest.raises(RemoteError, match=told):
                work()


def test_postgresql_goes_away_in_the_middle(postgresql, index, small_batches, monkeypatch):  # noqa: F811
    psycopg = pytest.importorskip("psycopg")
    from longwave.engines.postgres import Postgres

    whole, written = Postgres.write, []

    def cut_off(self, batch):
        if len(written) == 2:
            with psycopg.connect(postgresql, autocommit=True) as admin:
                admin.execute("SELECT pg_terminate_backend(%s)", [self._db.info.backend_pid])
        whole(self, batch)
        written.append(len(batch.facts))

    with monkeypatch.context() as patch:
        patch.setattr(Postgres, "write", cut_off)
        with pytest.raises(RemoteError, match=r"broke off.*try again"):
            index.export(postgresql, name="away", progress=False)
    with pytest.raises(LongwaveError, match="no complete export"):
        lw.Remote(postgresql, "away")
    assert index.export(postgresql, name="away", progress=False).written == 200
    with lw.Remote(postgresql, "away") as remote:
        same(remote.search(QUERIES, 5), index.search(QUERIES, 5, plan="basis"))


def test_postgresql_that_somebody_changed_is_written_anew(postgresql, index):
    psycopg = pytest.importorskip("psycopg")
    index.export(postgresql, name="mended", progress=False)
    with psycopg.connect(postgresql, autocommit=True) as admin:
        admin.execute("DROP TABLE mended.items_1 CASCADE")
    assert index.export(postgresql, name="mended", progress=False).whole
    with psycopg.connect(postgresql, autocommit=True) as admin:
        admin.execute("DELETE FROM mended.items_2 WHERE number < 50")
        admin.execute("UPDATE mended.exports SET record = '{'")
    with pytest.raises(CorruptIndexError, match="--anew"):
        lw.Remote(postgresql, "mended")
    assert index.export(postgresql, name="mended", progress=False).whole
    with lw.Remote(postgresql, "mended") as remote:
        same(remote.search(QUERIES, 5), index.search(QUERIES, 5, plan="basis"))


def test_another_dimension_takes_the_place_of_the_old(place, index):
    other = lw.Index.build(rows(0, 90)[:, :30], k=8, spectrum=lw.Chebyshev(12), progress=False)
    place.export(other)
    place.export(index)
    with place.open() as remote:
        assert remote.record.dimension == 64
        with pytest.raises(InputError, match=r"30.*64|64.*30"):
            remote.search(QUERIES[:, :30], 3)
    answers(place, index)


def test_an_error_of_ours_is_not_the_engines():
    with pytest.raises(InputError, match="ours"), foreign_errors("x"):
        raise InputError("ours")
    with pytest.raises(Harmed, match="x refuses: KeyError; if") as caught, foreign_errors("x"):
        raise KeyError
    assert AGAIN in str(caught.value)


def test_the_command(folder, tmp_path):
    url = f"faiss:{tmp_path}"
    for more, told in (([], "400 rows written"), ([], "nothing to write"), (["--anew"], "400 rows written")):
        code, _, said = run("export", folder, url, *more)
        assert (code, told in said) == (0, True), said
