"""The client: the calls of an index, and its hits, over HTTP."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

import longwave
from longwave import Client
from longwave.errors import InputError, RemoteError
from serving import TOKEN, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from longwave.datasets import digits

    data = digits()
    path = tmp_path_factory.mktemp("client") / "my digits.longwave"
    index = longwave.Index.build(data.vectors[:400], progress=False)
    index.with_metadata({"label": data.labels[:400].tolist()}).save(path)
    return path


@pytest.fixture(scope="module")
def index(folder):
    return longwave.Index.load(folder)


@pytest.fixture(scope="module")
def queries():
    from longwave.datasets import digits

    return digits().vectors[400:412]


@pytest.fixture(scope="module")
def remote(folder):
    with running(folder, token=TOKEN) as server:
        client = Client(server.url, token=TOKEN)
        yield client.collection("my digits")
        client.close()


def same(one, two):
    for name in ("ids", "scores", "errors", "steps", "queries", "confidence", "counts"):
        first, second = getattr(one, name), getattr(two, name)
        assert (first is None) == (second is None), name
        if first is not None:
            assert first.dtype == second.dtype or first.dtype.kind == "U", name
            assert np.array_equal(first, second), name
    assert one.route == two.route
    assert one.columns == two.columns
    assert one.folded == two.folded
    assert (one.seconds is None) == (two.seconds is None)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"filter": longwave.Heat(5), "neighbors": 7, "blend": 0},
        {"filter": longwave.Polynomial((0.1, 0.5, 0.4))},
        {"blend": longwave.Anchor(0.2)},
        {"blend": longwave.Blend(0.5, "impulse", everywhere=True)},
        {"blend": 0.3},
        {"where": {"label": {"$in": [1, 2, 3]}}, "columns": ["label"]},
        {"where": np.arange(400) % 2 == 0},
        {"where": np.arange(50)},
        {"solver": longwave.Euclidean()},
        {"solver": longwave.Spectral(complement=False)},
        {"solver": longwave.Hybrid(1e-4)},
        {"solver": longwave.ConjugateGradient(1e-4)},
        {"solver": longwave.RandomWalk(50)},
        {"solver": longwave.ChebyshevFilter()},
        {"tolerance": 1e-3},
        {"plan": "basis"},
        {"cut": 2},
        {"k": "auto"},
        {"fold": 0.97},
        {"diversity": 0.5, "columns": ["label"]},
    ],
)
def test_search_is_that_of_the_index(remote, index, queries, options):
    options = {"k": 6, **options}
    same(remote.search(queries, **options), index.search(queries, **options))
    same(remote.similar([3, 5], **options), index.search_by_id([3, 5], **options))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32])
def test_no_bit_is_lost(remote, index, kind):
    rows = (np.random.default_rng(0).random((5, 64)) * 100).astype(kind)
    same(remote.search(rows), index.search(rows))
    same(remote.search(rows[0]), index.search(rows[0]))
    same(remote.search(rows.tolist()), index.search(rows.tolist()))


def test_searches_that_begin_at_items(remote, index):
    for seeds in ({3: 1.0, 5: 0.5}, [{3: 1}, {np.int64(7): 2.0, 9: -1.0}]):
        same(remote.search(seeds=seeds), index.search(seeds=seeds))
        same(remote.search(seeds=seeds, kind="pagerank", k=3), index.search(seeds=seeds, kind="pagerank", k=3))
    with pytest.raises(InputError, match="a dict of id: weight"):
        remote.search(seeds=[3])
    with pytest.raises(InputError, match="leave out blend"):
        remote.search(seeds={3: 1.0}, blend=0.5)


def test_groups_weights_and_skipped_queries(remote, index, queries):
    told = {"query_groups": np.array([0, 0, 1]), "weights": np.array([1, -0.5, 2], dtype=np.float32)}
    same(remote.search(queries[:3], **told), index.search(queries[:3], **told))
    rows = queries[:3].copy()
    rows[1] = np.nan
    same(remote.search(rows, on_error="skip"), index.search(rows, on_error="skip"))
    same(remote.similar([3], 4, include_self=True), index.search_by_id([3], 4, include_self=True))


def test_explain_is_that_of_the_index(remote, index, queries):
    one, two = remote.explain(queries[0], np.int64(7)), index.explain(queries[0], 7)
    assert str(one) == str(two)
    assert np.array_equal(one.contributions, two.contributions)
    assert one.path == two.path


def test_what_is_wrong_has_the_same_words(remote, index, queries):
    for rows, options in (
        (queries[:, :5], {}),
        (np.full((1, 64), np.nan), {}),
        (np.full((1, 64), np.nan, dtype=np.float32), {}),
        (np.zeros((1, 64)), {}),
        (queries, {"where": {"lable": 3}}),
        (queries, {"where": [-5]}),
        (queries, {"weights": [1]}),
        (queries, {"solver": longwave.ConjugateGradient(), "filter": longwave.Heat()}),
    ):
        with pytest.raises(InputError) as here:
            index.search(rows, **options)
        with pytest.raises(InputError) as there:
            remote.search(rows, **options)
        assert str(here.value) == str(there.value)


def test_what_cannot_be_sent(remote, queries):
    for options, told in (
        ({"filter": lambda t: t}, "register"),
        ({"solver": lambda *_: None}, "a server knows the solvers"),
        ({"where": longwave.metadata.parse({"label": 3})}, "as it is written"),
        ({"where": {"label": {1, 2}}}, "cannot be sent"),
    ):
        with pytest.raises(InputError, match=told):
            remote.search(queries, **options)
    with pytest.raises(InputError, match="one length"):
        remote.search([[1.0], [1.0, 2.0]])
    with pytest.raises(TypeError, match="lables"):
        remote.similar([3], lables=1)


def test_what_it_knows_of_a_collection(remote):
    assert len(remote) == 400
    assert remote.version == 1
    assert remote.about()["dimension"] == 64
    assert "my digits" in repr(remote)
    assert TOKEN not in repr(remote)


def test_collections_and_tokens(folder):
    with running(folder, token=TOKEN) as server:
        assert [own["name"] for own in Client(server.url, token=TOKEN).collections()] == ["my digits"]
        for token in (None, "wrong"):
            with pytest.raises(RemoteError, match="401: give the token"):
                Client(server.url, token=token).collections()
        with pytest.raises(RemoteError, match="404: there is no collection 'x'"):
            Client(server.url, token=TOKEN).collection("x").about()
    with pytest.raises(RemoteError, match="cannot reach http://127"):
        Client(server.url).collections()
    for url in ("127.0.0.1:80", "ftp://x", "http://"):
        with pytest.raises(InputError, match="must look like"):
            Client(url)


def test_changes(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 6))
    path = tmp_path / "c.longwave"
    longwave.create(path, rows, k=5, metadata={"n": list(range(80))}, progress=False).close()
    more = rng.normal(size=(3, 6))
    with running(path, writable=True) as server:
        remote = Client(server.url).collection("c")
        assert remote.add(more, metadata=[{"n": np.int64(7)}, {"n": 8}, {"n": 9}]).tolist() == [80, 81, 82]
        assert remote.search(more, 1).ids.ravel().tolist() == [80, 81, 82]
        remote.replace(-more[:1], ids=[80])
        assert remote.search(-more[0], 1).ids.tolist() == [[80]]
        remote.remove([81])
        assert 81 not in remote.search(more[1], 82).ids
        remote.refresh()
        assert remote.version == 5
        assert len(remote) == 82
        remote.refresh(wait=False)
    assert longwave.open(path).version >= 5


class Busy(BaseHTTPRequestHandler):
    """Answers 429 twice, then as it should."""

    refusals, seen = 2, []

    def do_GET(self):
        Busy.seen.append(self.path)
        if len(Busy.seen) <= Busy.refusals:
            data, status = b'{"detail": "busy"}', 429
        else:
            data, status = b'{"collections": []}', 200
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def busy():
    Busy.seen = []
    server = HTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_busy_server_is_asked_again(busy):
    assert Client(busy).collections() == []
    assert len(Busy.seen) == 3


def test_but_not_for_ever(busy):
    with pytest.raises(RemoteError, match="429: busy"):
        Client(busy, retries=1).collections()
    assert len(Busy.seen) == 2


def test_a_connection_that_was_closed_meanwhile(folder):
    """The server closes what is idle; the next question opens another."""
    with running(folder) as server:
        client = Client(server.url)
        client.collections()
        (connection,) = server.server.server_state.connections
        connection.loop.call_soon_threadsafe(connection.transport.abort)
        assert len(client.collections()) == 1


def test_threads_share_a_client(remote, index, queries):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: remote.search(queries[i % 12], 5), range(60)))
    for place, hits in enumerate(found):
        assert np.array_equal(hits.ids, index.search(queries[place % 12], 5).ids)


def test_something_else_answers():
    class Page(Busy):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"<html")

    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    with pytest.raises(RemoteError, match="is it a Longwave server"):
        Client(f"http://127.0.0.1:{server.server_address[1]}").collections()
    thread.join()
    server.server_close()
