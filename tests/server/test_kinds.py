"""Collections of every kind: all routes that read answer, and agree with the library."""

from urllib.parse import quote

import numpy as np
import pytest

import longwave
from serving import running


def plain(rows):
    return longwave.Index.build(rows, progress=False)


def paper(rows):
    return longwave.Index.build(rows, **longwave.PAPER, progress=False)


def with_names(rows):
    return longwave.Index.build(rows, ids=[f"a/b {i}?#%" for i in range(len(rows))], progress=False)


def with_groups(rows):
    return longwave.Index.build(rows, groups=np.repeat(np.arange(len(rows) // 3), 3), progress=False)


def with_copies(rows):
    return longwave.Index.build(np.vstack([rows, rows[:20]]), progress=False)


def extended(rows):
    return longwave.Index.build(rows[:200], progress=False).extend(rows[200:])


def accelerated(rows):
    return longwave.Index.build(rows, spectrum=longwave.Chebyshev(60), fast=True, progress=False)


def compressed(rows):
    return longwave.Index.build(rows, progress=False).compress(basis="int8", vectors="float16")


def scattered(rows):
    return longwave.Index.build(rows, k=2, progress=False)


@pytest.fixture(scope="module")
def rows():
    from longwave.datasets import digits

    return digits().vectors[:300]


@pytest.mark.filterwarnings("ignore::longwave.LongwaveWarning")
@pytest.mark.parametrize(
    "build",
    [plain, paper, with_names, with_groups, with_copies, extended, accelerated, compressed, scattered],
)
def test_every_route_that_reads(build, rows, tmp_path):
    build(rows).save(tmp_path / "c.longwave")
    index = longwave.Index.load(tmp_path / "c.longwave")
    one, two = index.ids.tolist()[0], index.ids.tolist()[-1]
    at = "/v1/collections/c"
    with running(tmp_path / "c.longwave") as client:

        def post(what, body):
            answer = client.post(f"{at}/{what}", json=body)
            assert answer.status_code == 200, answer.text
            return answer

        about = client.get(at).json()
        assert about["items"] == len(index)
        assert about["labels"] is None
        assert about["draw"] is None
        assert client.get(f"{at}/ids").json()["ids"] == index.ids.tolist()
        places = np.frombuffer(client.get(f"{at}/map").content, "<f4").reshape(-1, 2)
        assert places.shape == (len(index), 2)
        assert np.abs(places).max() <= 1
        assert len(client.get(f"{at}/response").json()["response"]) >= 201
        query = {"query": {"ids": [one], "not": [two]}}
        wave = np.frombuffer(post("wave", query).content, "<f4")
        assert wave.shape == (len(index),)
        assert wave.max() == 1
        both = post("compare", {**query, "k": 5}).json()
        assert len(both["nearest"]["ids"]) == len(both["manifold"]["ids"]) == 5
        assert both["truth"] is None
        found = post("similar", {"ids": [one], "k": 4}).json()["hits"][0]
        assert found["ids"] == index.search_by_id([one], 4).ids[0].tolist()
        hits = index.search(rows[7], 4)
        found = post("search", {"vectors": [rows[7].tolist()], "k": 4}).json()
        assert found["hits"][0]["ids"] == hits.ids[0].tolist()
        assert np.array_equal(np.float32(found["hits"][0]["scores"]), hits.scores[0])
        why = post("explain", {"query": {"ids": [one]}, "id": found["hits"][0]["ids"][0]}).json()
        assert len(why["graph"]["nodes"]) >= 1
        assert client.get(f"{at}/find", params={"text": str(two)}).json()["ids"][0] == two
        assert client.get(f"{at}/items/{quote(str(two), safe='')}").json() == {"id": two, "metadata": {}}


def test_without_a_basis_the_graph_is_asked(rows, tmp_path):
    index = longwave.Index.build(rows, spectrum=None, progress=False)
    index.save(tmp_path / "c.longwave")
    with running(tmp_path / "c.longwave") as client:
        assert len(client.get("/v1/collections/c/map").content) == 8 * len(index)
        assert client.get("/v1/collections/c").json()["eigenvalues"] == []
        body = {"vectors": [rows[7].tolist()], "solver": "cg:0.001"}
        found = client.post("/v1/collections/c/search", json=body).json()["hits"][0]
        assert found["ids"] == index.search(rows[7], solver=longwave.ConjugateGradient(0.001)).ids[0].tolist()
        for what in ("compare", "wave"):
            answer = client.post(f"/v1/collections/c/{what}", json={"query": {"ids": [3]}})
            assert answer.status_code == 422
            assert "needs a basis" in answer.json()["detail"]


def test_a_graph_alone(rows, tmp_path):
    """No vectors: searches begin at items, and there is nothing to compare them with."""
    graph = longwave.Index.build(rows, progress=False).graph.adjacency()
    index = longwave.Index.build(graph=graph.maximum(graph.T), progress=False)
    index.save(tmp_path / "c.longwave")
    at = "/v1/collections/c"
    with running(tmp_path / "c.longwave") as client:
        assert client.get(at).json()["dimension"] == 0
        assert len(client.get(f"{at}/map").content) == 8 * len(index)
        found = client.post(f"{at}/similar", json={"ids": [3], "k": 5}).json()["hits"][0]["ids"]
        assert found == index.search_by_id([3], 5).ids[0].tolist()
        both = client.post(f"{at}/similar", json={"ids": [3, 9], "not": [7], "together": True, "k": 5}).json()["hits"][
            0
        ]
        kept = [own for own in index.search(seeds={3: 1, 9: 1, 7: -1}, k=8).ids[0].tolist() if own not in (3, 9, 7)]
        assert both["ids"] == kept[:5]
        compared = client.post(f"{at}/compare", json={"query": {"ids": [3]}, "k": 5}).json()
        assert compared["nearest"]["ids"] == []
        assert compared["manifold"]["ids"] == found
        wave = np.frombuffer(client.post(f"{at}/wave", json={"query": {"ids": [3]}}).content, "<f4")
        assert wave.shape == (len(index),)
        assert wave.max() == 1
        for what, body in (("search", {"vectors": [[1.0]]}), ("explain", {"query": {"ids": [3]}, "id": 5})):
            answer = client.post(f"{at}/{what}", json=body)
            assert answer.status_code == 422
            assert "needs vectors" in answer.json()["detail"]
