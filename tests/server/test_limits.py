"""Overload, large bodies, slow clients: refused in bounded memory and time, and over when they are."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from serving import running

AT = "/v1/collections/digits"
QUERY = {"vectors": [[1.0] * 64], "k": 3}


@pytest.fixture
def held(digits_folder, monkeypatch):
    """A server with one thread, whose searches wait for a gate."""
    gate = threading.Event()
    with running(digits_folder, threads=1, queue=3, batch=1, timeout=20) as client:
        search = type(client.context.shelf.find("digits").now.index).search

        def slow(index, *given, **options):
            gate.wait(30)
            return search(index, *given, **options)

        monkeypatch.setattr(type(client.context.shelf.find("digits").now.index), "search", slow)
        client.gate = gate
        yield client
        gate.set()


def eventually(test, seconds=20):
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_more_than_may_wait_are_told_to_come_again(held):
    with ThreadPoolExecutor(12) as pool:
        first = [pool.submit(held.post, f"{AT}/search", json=QUERY) for _ in range(4)]
        eventually(lambda: held.context.searches.waiting == 3)
        refused = [held.post(f"{AT}/search", json=QUERY) for _ in range(5)]
        for answer in refused:
            assert answer.status_code == 429
            assert int(answer.headers["retry-after"]) >= 1
            assert "3 requests are waiting" in answer.json()["detail"]
        assert held.get("/healthz").status_code == 200  # others are not touched
        held.gate.set()
        assert [one.result().status_code for one in first] == [200] * 4
    assert held.post(f"{AT}/search", json=QUERY).status_code == 200
    assert held.context.searches.waiting == held.context.searches.busy == 0


def test_an_answer_that_takes_too_long(digits_folder, monkeypatch):
    gate = threading.Event()
    with running(digits_folder, threads=1, timeout=2) as client:
        monkeypatch.setattr("longwave.server.searching.answer_of", lambda *_: pytest.fail("answered"))
        kind = type(client.context.shelf.find("digits").now.index)
        monkeypatch.setattr(kind, "search", lambda *_, **__: gate.wait(30))
        answer = client.post(f"{AT}/search", json=QUERY)
        assert answer.status_code == 503
        assert "no answer within 2 s" in answer.json()["detail"]
        gate.set()
        monkeypatch.undo()
        eventually(lambda: client.context.searches.busy == 0)
        assert client.post(f"{AT}/search", json=QUERY).status_code == 200


def raw(client, data):
    """A connection on which some bytes were sent."""
    host, port = client.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.sendall(data)
    return connection


def head(*lines):
    return "\r\n".join(
        [f"POST {AT}/search HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines, "", ""]
    ).encode()


def received(connection):
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


@pytest.fixture
def small(digits_folder):
    with running(digits_folder, max_body=100_000, timeout=5) as client:
        yield client


def test_a_gigabyte_that_is_announced(small):
    with raw(small, head("Content-Length: 1073741824", "Expect: 100-continue")) as connection:
        answer = received(connection)  # not even asked for
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100,000 bytes" in answer
    assert b"100 Continue" not in answer


def test_a_gigabyte_in_chunks(small):
    """Read up to twice the limit, then the connection is closed; nothing of it is kept."""
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with raw(small, head("Transfer-Encoding: chunked")) as connection:
        sent = 0
        try:
            while sent < 1 << 30:
                connection.sendall(chunk)
                sent += 65536
            pytest.fail("all of it was taken")
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 1 << 27  # what sockets hold
    assert small.get("/healthz").status_code == 200


def test_a_little_too_much_is_said_politely(small):
    """Clients that send all before they listen get the answer, not a broken connection."""
    answer = small.post(f"{AT}/search", content=b" " * 150_000, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "--max-body" in answer.json()["detail"]
    at_most = b" " * (100_000 - 2) + b"{}"
    assert small.post(f"{AT}/search", content=at_most, headers={"Content-Type": "application/json"}).status_code == 422


def test_a_body_that_does_not_come(digits_folder):
    with running(digits_folder, timeout=0.3) as client, raw(client, head("Content-Length: 1000")) as connection:
        connection.sendall(b"{")
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.3 s" in answer


def test_a_client_that_goes_away_in_the_middle(served):
    with raw(served, head("Content-Length: 1000")) as connection:
        connection.sendall(b"{")
    assert served.get("/healthz").status_code == 200


@pytest.mark.parametrize("data", [b"", b"POST /v1/coll", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_head_that_does_not_come(digits_folder, monkeypatch, data):
    monkeypatch.setattr("longwave.server.running._PATIENCE", 0.3)
    with running(digits_folder) as client, raw(client, data) as connection:
        assert received(connection) == b""
        assert client.get("/healthz").status_code == 200


def test_a_second_head_that_does_not_come(digits_folder, monkeypatch):
    monkeypatch.setattr("longwave.server.running._PATIENCE", 0.3)
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running(digits_folder) as client, raw(client, whole) as connection:
        answer = b""
        while not answer.endswith(b"}"):  # head and body may come one after the other
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        connection.sendall(whole[:20])
        assert received(connection) == b""


def test_a_client_that_does_not_listen(digits_folder, monkeypatch):
    """The answer is larger than what sockets hold; nobody takes it, so the connection ends."""
    monkeypatch.setattr("longwave.server.running._PATIENCE", 0.5)
    monkeypatch.setattr("longwave.server.browsing.draw_png", lambda _: bytes(64 << 20))
    with running(digits_folder) as client:
        asked = f"GET {AT}/drawing/3 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        with raw(client, asked) as connection:
            eventually(lambda: client.server.server_state.connections)
            eventually(lambda: not client.server.server_state.connections)
            assert len(received(connection)) < 64 << 20
        assert client.get("/healthz").status_code == 200


def test_uploads_go_when_they_are_old_or_many():
    from longwave.server.problems import Problem
    from longwave.server.uploads import Uploads

    held = Uploads(kept_for=100, most_bytes=25)
    names = [held.add(bytes(10)) for _ in range(3)]
    assert held.find(names[2]).data == held.find(names[1]).data == bytes(10)
    with pytest.raises(Problem, match="upload the picture again"):
        held.find(names[0])
    short = Uploads(kept_for=0.05)
    name = short.add(b"x")
    assert short.find(name).data == b"x"
    time.sleep(0.1)
    with pytest.raises(Problem, match="not any more"):
        short.find(name)
