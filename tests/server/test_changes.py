"""Collections that change under a server: by its clients, by itself, by another process."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import longwave
from serving import running

AT = "/v1/collections/living"


def vectors(count, seed=5):
    return np.random.default_rng(seed).normal(size=(count, 12)).astype(np.float32)


def eventually(test, seconds=60):
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def writable(living):
    with running(living, writable=True) as client:
        yield client


def nearest(client, row, k=1):
    return client.post(f"{AT}/search", json={"vectors": [row.tolist()], "k": k}).json()["hits"][0]["ids"]


def test_what_was_added_is_found_and_on_the_disk(writable, living):
    rows = vectors(2)
    body = {"vectors": rows.tolist(), "ids": ["new/a", "new/b"], "metadata": [{"even": True}, {"even": False}]}
    answer = writable.post(f"{AT}/items", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"ids": ["new/a", "new/b"], "version": 2}
    assert nearest(writable, rows[0]) == ["new/a"]
    assert writable.get(f"{AT}/items/new/b").json() == {"id": "new/b", "metadata": {"even": False}}
    assert writable.get(f"{AT}/items/new%2Fb").json()["id"] == "new/b"
    assert writable.get(AT).json()["items"] == 122
    assert len(writable.get(f"{AT}/map").content) == 122 * 8
    found = longwave.open(living).search(rows, 1)
    assert found.ids.tolist() == [["new/a"], ["new/b"]]


def test_replaced_and_removed(writable):
    rows = vectors(1, seed=9)
    answer = writable.put(f"{AT}/items", json={"vectors": rows.tolist(), "ids": ["item/3"]})
    assert answer.json() == {"ids": ["item/3"], "version": 2}
    assert nearest(writable, rows[0]) == ["item/3"]
    assert writable.get(f"{AT}/items/item/3").json()["metadata"] == {"even": False}  # stays
    assert writable.request("DELETE", f"{AT}/items", json={"ids": ["item/3"]}).json() == {"version": 3}
    assert "item/3" not in nearest(writable, rows[0], 119)
    assert writable.get(f"{AT}/items/item/3").status_code == 404
    assert writable.post(f"{AT}/similar", json={"ids": ["item/3"]}).status_code == 422


@pytest.mark.parametrize(
    ("method", "body", "told"),
    [
        ("POST", {"vectors": [[1.0] * 12], "ids": ["item/3"]}, "item/3"),
        ("POST", {"vectors": [[1.0] * 12], "ids": [3]}, "strings"),
        ("POST", {"vectors": [[1.0] * 12]}, "ids"),
        ("POST", {"vectors": [[1.0] * 11], "ids": ["a"]}, "11 dimensions"),
        ("POST", {"vectors": [[1.0] * 12], "ids": ["a", "b"]}, "ids must have one entry"),
        ("POST", {"ids": ["a"]}, "give the items as `vectors`"),
        ("POST", {"uploads": ["x"], "ids": ["a"]}, "not made from pictures"),
        ("POST", {"vectors": [[1.0] * 12], "ids": ["a"], "metadata": [{"even": "yes"}]}, "even"),
        ("POST", {"vectors": [[1.0] * 12], "ids": ["a"], "metadata": [{}, {}]}, "metadata"),
        ("PUT", {"vectors": [[1.0] * 12]}, "`ids`"),
        ("PUT", {"vectors": [[1.0] * 12], "ids": ["a"]}, "a"),
        ("DELETE", {"ids": ["a"]}, "a"),
        ("DELETE", {"ids": [f"item/{i}" for i in range(120)]}, "no item at all"),
    ],
)
def test_changes_that_are_wrong_change_nothing(writable, method, body, told):
    answer = writable.request(method, f"{AT}/items", json=body)
    assert answer.status_code == 422, answer.text
    assert told in answer.json()["detail"]
    assert writable.get(AT).json()["version"] == 1


def test_nothing_is_changed_unless_it_is_allowed(served):
    for method, path in (("POST", "items"), ("PUT", "items"), ("DELETE", "items"), ("POST", "refresh")):
        body = None if path == "refresh" else {"ids": [3], **({} if method == "DELETE" else {"vectors": [[1.0] * 64]})}
        answer = served.request(method, f"/v1/collections/digits/{path}", json=body)
        assert answer.status_code == 403
        assert "--writable" in answer.json()["detail"]
    assert served.get("/v1/collections/digits/refresh").json() == {"state": "idle", "detail": ""}


def test_a_refresh_goes_on_beside_searches_and_changes(writable):
    rows = vectors(30)
    writable.post(f"{AT}/items", json={"vectors": rows.tolist(), "ids": [f"new/{i}" for i in range(30)]})
    assert "outside of the graph" in writable.get(AT).json()["staleness"]
    answer = writable.post(f"{AT}/refresh")
    assert answer.status_code == 202
    assert answer.json()["state"] == "running"
    assert writable.post(f"{AT}/items", json={"vectors": vectors(1, 8).tolist(), "ids": ["late"]}).status_code == 200
    assert nearest(writable, rows[3]) == ["new/3"]
    eventually(lambda: writable.get(f"{AT}/refresh").json()["state"] == "idle")
    after = writable.get(AT).json()
    assert after["items"] == 151
    assert after["staleness"].startswith(("0.0%", "0.7%"))  # but for the late one, if that came during the build
    assert nearest(writable, rows[3]) == ["new/3"]
    assert nearest(writable, vectors(1, 8)[0]) == ["late"]


def test_a_refresh_that_fails_says_so(writable, monkeypatch):
    from longwave.collection import Collection
    from longwave.errors import ResourceError

    def fail(self, **_):
        raise ResourceError("it would need 9 TB")

    monkeypatch.setattr(Collection, "refresh", fail)
    writable.post(f"{AT}/refresh")
    eventually(lambda: writable.get(f"{AT}/refresh").json()["state"] == "failed")
    assert writable.get(f"{AT}/refresh").json()["detail"] == "it would need 9 TB"
    monkeypatch.undo()
    writable.post(f"{AT}/refresh")
    eventually(lambda: writable.get(f"{AT}/refresh").json()["state"] == "idle")


def test_a_refresh_does_not_hold_up_the_end(living, monkeypatch):
    from longwave.collection import Collection

    begun = threading.Event()

    def endless(self, *, progress):
        while True:
            begun.set()
            progress("graph", 1, 2)
            time.sleep(0.01)

    monkeypatch.setattr(Collection, "refresh", endless)
    with running(living, writable=True) as client:
        client.post(f"{AT}/refresh")
        assert begun.wait(10)
    assert longwave.open(living).version == 1


WRITER = """
import sys, numpy as np, longwave
rows = np.random.default_rng(5).normal(size=(40, 12)).astype(np.float32)
with longwave.open(sys.argv[1]) as living:
    for i, row in enumerate(rows):
        living.add(row, ids=[f"new/{i}"])
    living.refresh(progress=False)
    living.remove(["item/0"])
"""


def test_a_writer_in_another_process_is_followed_without_a_request_lost(living):
    rows = vectors(40)
    with running(living, follow=0.02) as client:
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(living)])
        seen = []
        while writer.poll() is None or seen[-1] < 43:
            answer = client.post(f"{AT}/search", json={"vectors": [rows[len(seen) % 40].tolist()]})
            assert answer.status_code == 200, answer.text
            seen.append(answer.json()["version"])
            assert len(seen) < 20_000
        assert writer.returncode == 0
        assert seen == sorted(seen)
        assert len(set(seen)) > 3
        assert seen[-1] == 43
        assert nearest(client, rows[39]) == ["new/39"]
        assert client.get(AT).json()["items"] == 159
        assert client.get(f"{AT}/items/item/0").status_code == 404


def test_two_writers_conflict(living):
    with longwave.open(living) as other:
        other.add(vectors(1), ids=["theirs"])
        with running(living, writable=True, timeout=60) as client:
            answer = client.post(f"{AT}/items", json={"vectors": vectors(1).tolist(), "ids": ["ours"]})
    assert answer.status_code == 409
    assert "writ" in answer.json()["detail"]


def test_places_of_the_map_stay_while_items_are_added(writable):
    def places():
        return np.frombuffer(writable.get(f"{AT}/map").content, "<f4").reshape(-1, 2)

    before = places()
    writable.post(f"{AT}/items", json={"vectors": vectors(3).tolist(), "ids": ["a", "b", "c"]})
    after = places()
    assert np.array_equal(after[:120], before)
    assert after.shape == (123, 2)
    writable.request("DELETE", f"{AT}/items", json={"ids": ["item/0"]})
    assert np.array_equal(places()[:119], before[1:])
