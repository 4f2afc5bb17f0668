"""search and similar: the same bits as `Index.search`, however the query comes and whoever else asks."""

import base64
import io
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from longwave import Blend, Euclidean, Heat, Hybrid, Index, LowPass, Spectral
from serving import running

AT = "/v1/collections/digits"


def ask(client, what, body, at=AT):
    answer = client.post(f"{at}/{what}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def same(answer, hits):
    """Ids and scores bit for bit."""
    assert [row["ids"] for row in answer["hits"]] == hits.ids.tolist()
    scores = np.array([row["scores"] for row in answer["hits"]], dtype=hits.scores.dtype)
    assert np.array_equal(scores, hits.scores)
    assert answer["route"] == hits.route
    if hits.confidence is not None:
        assert [row["confidence"] for row in answer["hits"]] == hits.confidence.astype(float).tolist()


def as_npy(rows):
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


@pytest.mark.parametrize("count", [1, 3, 17, 40])
def test_a_batch_as_json_as_bytes_and_as_npy(served, index, held_out_digits, count):
    rows = held_out_digits[:count]
    hits = index.search(rows, 7)
    same(ask(served, "search", {"vectors": rows.tolist(), "k": 7}), hits)
    data = base64.b64encode(rows.astype("<f4").tobytes()).decode()
    same(ask(served, "search", {"npy": data, "dimension": 64, "k": 7}), hits)
    for given in (rows, np.asfortranarray(rows), rows.astype(np.float64), rows.astype(np.int16)):
        answer = served.post(
            f"{AT}/search", params={"k": 7}, content=as_npy(given), headers={"Content-Type": "application/x-npy"}
        )
        assert answer.status_code == 200, answer.text
        same(answer.json(), hits)


def test_double_precision_is_not_rounded_on_the_way(served, index):
    rows = np.random.default_rng(0).random((3, 64))
    same(ask(served, "search", {"vectors": rows.tolist()}), index.search(rows))


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ({"filter": "lowpass:0.8"}, {"filter": LowPass(0.8)}),
        ({"filter": "heat:5", "neighbors": 9}, {"filter": Heat(5), "neighbors": 9}),
        ({"blend": 0}, {"blend": 0}),
        ({"blend": "none"}, {"blend": "none"}),
        ({"blend": "anchor:0.2,2,4"}, {"blend": "anchor:0.2,2,4"}),
        ({"blend": 0.5}, {"blend": 0.5}),
        (
            {"blend": {"weight": 0.5, "scale": "impulse", "everywhere": True}},
            {"blend": Blend(0.5, "impulse", everywhere=True)},
        ),
        ({"solver": "euclidean"}, {"solver": Euclidean()}),
        ({"solver": "hybrid:0.0001"}, {"solver": Hybrid(0.0001)}),
        ({"solver": "spectral:0"}, {"solver": Spectral(complement=False)}),
        ({"plan": "basis"}, {"plan": "basis"}),
        ({"tolerance": 0.001}, {"tolerance": 0.001}),
        ({"cut": 3}, {"cut": 3}),
        ({"where": {"label": {"$in": [3, 8]}}}, {"where": {"label": [3, 8]}}),
        ({"where": "day>=2020-01-05"}, {"where": {"day": {"$gte": "2020-01-05"}}}),
        ({"where": [3, 4, 5, 77]}, {"where": [3, 4, 5, 77]}),
        ({"where": [i % 3 == 0 for i in range(500)]}, {"where": np.arange(500) % 3 == 0}),
        (
            {"query_groups": [0, 0, 1, 1], "weights": [1, -0.5, 1, 2]},
            {"query_groups": [0, 0, 1, 1], "weights": [1, -0.5, 1, 2]},
        ),
    ],
)
def test_every_option(served, index, held_out_digits, told, meant):
    rows = held_out_digits[:4]
    same(ask(served, "search", {"vectors": rows.tolist(), "k": 5, **told}), index.search(rows, 5, **meant))
    params = {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}
    answer = served.post(
        f"{AT}/search", params={"k": 5, **params}, content=as_npy(rows), headers={"Content-Type": "application/x-npy"}
    )
    assert answer.status_code == 200, answer.text
    same(answer.json(), index.search(rows, 5, **meant))


def test_columns_errors_steps_and_skipped_queries(served, index, held_out_digits):
    rows = held_out_digits[:3].astype(np.float64)
    found = ask(served, "search", {"vectors": rows.tolist(), "k": 3, "columns": ["word", "day"], "tolerance": 0.01})
    hits = index.search(rows, 3, columns=["word", "day"], tolerance=0.01)
    for place, row in enumerate(found["hits"]):
        assert row["columns"]["word"] == hits.columns["word"][place]
        assert row["columns"]["day"] == [day.isoformat() for day in hits.columns["day"][place]]
        assert row["steps"] == hits.steps[place]
        assert row["error"] == hits.errors[place]
    rows[1] = 0
    found = ask(served, "search", {"vectors": rows.tolist(), "k": 3, "on_error": "skip"})
    assert found["queries"] == [0, 2]
    same(found, index.search(rows, 3, on_error="skip"))


def test_similar_is_search_by_id(served, index):
    same(ask(served, "similar", {"ids": [5, 9], "k": 4}), index.search_by_id([5, 9], 4))
    same(
        ask(served, "similar", {"ids": [5], "k": 4, "include_self": True}),
        index.search_by_id([5], 4, include_self=True),
    )
    only = {"where": {"label": 3}, "columns": ["label"]}
    found = ask(served, "similar", {"ids": [5], "k": 4, **only})
    same(found, index.search_by_id([5], 4, **only))
    assert found["hits"][0]["columns"]["label"] == [3, 3, 3, 3]


@pytest.mark.parametrize(
    "options", [{"k": "auto"}, {"fold": 0.95}, {"diversity": 0.6}, {"k": "auto", "columns": ["label"]}]
)
def test_shapes_of_answers(served, index, held_out_digits, options):
    for found, hits in (
        (
            ask(served, "search", {"vectors": held_out_digits[:3].tolist(), **options}),
            index.search(held_out_digits[:3], **options),
        ),
        (ask(served, "similar", {"ids": [5, 9], **options}), index.search_by_id([5, 9], **options)),
    ):
        same(found, hits)
        assert [row["count"] for row in found["hits"]] == (
            [None] * hits.n_queries if hits.counts is None else hits.counts.tolist()
        )
        assert [row["folded"] for row in found["hits"]] == (
            [None] * hits.n_queries if hits.folded is None else hits.folded
        )
    together = ask(served, "similar", {"ids": [5, 9], "together": True, **options})["hits"][0]
    assert not {5, 9} & set(together["ids"])
    if "fold" in options:
        assert len(together["folded"]) == len(together["ids"])
    if "k" in options:
        assert 1 <= together["count"] <= len(together["ids"])


def test_items_to_begin_at(served, index):
    same(ask(served, "search", {"seeds": {"5": 1, "9": 0.5}, "k": 6}), index.search(seeds={5: 1, 9: 0.5}, k=6))
    two = [{"5": 1}, {"9": 2.5, "3": -1}]
    same(
        ask(served, "search", {"seeds": two, "kind": "pagerank"}),
        index.search(seeds=[{5: 1}, {9: 2.5, 3: -1}], kind="pagerank"),
    )
    assert served.post(f"{AT}/search", json={"seeds": {"a": 1}}).status_code == 404


def test_several_examples_together_and_others_that_are_not_meant(served, index):
    rows = index.vectors.rows(np.array([5, 9, 3]))
    body = {"ids": [5, 9], "not": [3], "together": True, "k": 6}
    found = ask(served, "similar", body)["hits"][0]
    hits = index.search(rows, 9, query_groups=[0, 0, 0], weights=[1, 1, -1])
    kept = [place for place, own in enumerate(hits.ids[0].tolist()) if own not in (3, 5, 9)][:6]
    assert found["ids"] == hits.ids[0][kept].tolist()
    assert found["scores"] == hits.scores[0][kept].astype(float).tolist()
    with_self = ask(served, "similar", {**body, "include_self": True})["hits"][0]
    assert with_self["ids"] == hits.ids[0][:6].tolist()
    assert served.post(f"{AT}/similar", json={"ids": [5], "not": [3]}).status_code == 422
    assert "wanted and not wanted" in served.post(f"{AT}/similar", json={"ids": [5], "not": [5], "together": True}).text


def sizes_of_calls(client):
    """How many queries each call answers, from now on."""
    sizes, take = [], client.context.searches._take
    client.context.searches._take = lambda: sizes.append(len(taken := take())) or taken
    return sizes


@pytest.mark.parametrize("batch", [1, 32])
def test_many_clients_at_once_get_what_one_gets(digits_folder, index, held_out_digits, batch):
    """Also where their queries are answered in one call: scores may then differ in their last bits, order does not."""
    alone = [index.search(row, 10) for row in held_out_digits]
    with running(digits_folder, batch=batch, threads=1) as client:
        sizes = sizes_of_calls(client)

        def one(place):
            return place % 40, ask(client, "search", {"vectors": held_out_digits[place % 40][None].tolist()})

        with ThreadPoolExecutor(16) as pool:
            for place, found in pool.map(one, range(160)):
                row, hits = found["hits"][0], alone[place]
                assert row["ids"] == hits.ids[0].tolist()
                assert np.allclose(row["scores"], hits.scores[0], rtol=1e-5, atol=0)
                if batch == 1:
                    same(found, hits)
    assert max(sizes) == 1 if batch == 1 else max(sizes) >= 8


def test_queries_that_are_quicker_alone_are_answered_alone(tmp_path, held_out_digits):
    """Those of the default plan: what is asked at the same time changes no bit of them."""
    from longwave.datasets import digits

    index = Index.build(digits().vectors, progress=False)
    index.save(tmp_path / "digits.longwave")
    alone = [index.search(row, 10) for row in held_out_digits]
    assert alone[0].route == "sublinear"
    with running(tmp_path / "digits.longwave", threads=2) as client, ThreadPoolExecutor(16) as pool:
        sizes = sizes_of_calls(client)
        rows = [held_out_digits[place % 40][None].tolist() for place in range(160)]
        for place, found in enumerate(pool.map(lambda row: ask(client, "search", {"vectors": row}), rows)):
            same(found, alone[place % 40])
    assert set(sizes) == {1}


def test_a_wrong_query_does_not_spoil_those_it_is_answered_with(digits_folder, held_out_digits):
    rows = [held_out_digits[i].tolist() for i in range(12)]
    rows[5] = [0.0] * 64
    with running(digits_folder, threads=1) as client, ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda row: client.post(f"{AT}/search", json={"vectors": [row]}), rows))
    assert [answer.status_code for answer in found] == [200] * 5 + [422] + [200] * 6
    assert "all zero" in found[5].json()["detail"]


def test_times_are_told(served, held_out_digits):
    times = ask(served, "search", {"vectors": held_out_digits[:1].tolist()})["milliseconds"]
    assert set(times) == {"queue", "first", "second", "total"}
    assert times["first"] > 0
    assert times["second"] > 0
    assert times["total"] >= times["first"] + times["second"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"vectors": [[1.0] * 63]}, "63 dimensions but the index has 64"),
        ({"vectors": [[1.0] * 64, [1.0] * 3]}, "one length"),
        ({"vectors": [[]]}, "empty"),
        ({"vectors": [[0.0] * 64]}, "all zero"),
        ({"vectors": [["a"] * 64]}, "Expected `float`"),
        ({"vectors": []}, "length >= 1"),
        ({"vectors": [[1e400] * 64]}, ""),
        ({}, "give the query as `vectors`"),
        ({"vectors": [[1.0] * 64], "kind": "pagerank"}, "begin at seeds"),
        ({"vectors": [[1.0] * 64], "seeds": {"3": 1}}, "give the query as `vectors`"),
        ({"seeds": {"3": 1}, "neighbors": 3}, "leave out neighbors"),
        ({"seeds": {"3": 0}}, "not all 0"),
        ({"seeds": {"9999": 1}}, "no item with id 9999"),
        ({"seeds": []}, "seeds"),
        ({"seeds": {}}, "length >= 1"),
        ({"vectors": [[1.0] * 64], "k": "all"}, "k"),
        ({"vectors": [[1.0] * 64], "fold": 2}, "<= 1"),
        ({"vectors": [[1.0] * 64], "npy": "AAAA", "dimension": 1}, "give the query as `vectors`"),
        ({"npy": "AAAA", "dimension": 64}, "not rows of `dimension`"),
        ({"npy": "AAAA"}, "not rows of `dimension`"),
        ({"npy": "$", "dimension": 64}, "base64"),
        (
            {"npy": base64.b64encode(np.full(64, np.nan, "<f4").tobytes()).decode(), "dimension": 64},
            "holds nan at row 0",
        ),
        ({"vectors": [[1.0] * 64], "k": 0}, ">= 1"),
        ({"vectors": [[1.0] * 64] * 100, "k": 100_000}, "hits"),
        ({"vectors": [[1.0] * 64], "kk": 5}, "unknown field `kk`"),
        ({"vectors": [[1.0] * 64], "filter": "lowpas:0.9"}, "did you mean lowpass?"),
        ({"vectors": [[1.0] * 64], "filter": "walk:0.9,1e9"}, "steps at most"),
        ({"vectors": [[1.0] * 64], "solver": "walk:1e9"}, "steps at most"),
        ({"vectors": [[1.0] * 64], "solver": "magic"}, "unknown solver"),
        ({"vectors": [[1.0] * 64], "where": {"lable": 3}}, "label"),
        ({"vectors": [[1.0] * 64], "where": {"label": 77}}, "no item meets"),
        ({"vectors": [[1.0] * 64], "where": [9999]}, "no item with id 9999"),
        ({"vectors": [[1.0] * 64], "where": ["a"]}, "whole numbers"),
        ({"vectors": [[1.0] * 64], "columns": ["titel"]}, "titel"),
        ({"vectors": [[1.0] * 64], "weights": [0]}, "not 0"),
        ({"vectors": [[1.0] * 64], "query_groups": [1]}, "no row for query 0"),
    ],
)
def test_what_is_wrong_is_said(served, body, told):
    data = json.dumps(body).replace("Infinity", "1e400")
    answer = served.post(f"{AT}/search", content=data, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == 422
    assert told in problem["detail"]


def announced(shape):
    """A .npy file that announces more than it has."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return file.getvalue() + bytes(16)


@pytest.mark.parametrize(
    ("data", "media", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"vectors": [[NaN]]}', "application/json", 400),
        (b'{"vectors": "\\ud800"}', "application/json", 400),
        (b"[" * 100_000, "application/json", 422),
        (b'{"where": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"{}", "text/plain", 415),
        (b"{}", "", 415),
        (b"not a file", "application/x-npy", 400),
        (announced((10**12, 64)), "application/x-npy", 400),
        (announced((10**6, 10**6, 10**6)), "application/x-npy", 400),
        (announced((0, 64)), "application/x-npy", 400),
        (as_npy(np.array(["a"])), "application/x-npy", 400),
        (as_npy(np.zeros((1, 64), dtype=complex)), "application/x-npy", 400),
        (as_npy(np.array([1, 2]).astype(np.dtype([("a", "<i8")]))), "application/x-npy", 400),
        (as_npy(np.full((1, 64), np.nan)), "application/x-npy", 422),
    ],
)
def test_bodies_that_cannot_be_read(served, data, media, status):
    headers = {"Content-Type": media} if media else {}
    answer = served.post(f"{AT}/search", content=data, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_no_such_collection(served):
    answer = served.post("/v1/collections/other/search", json={"vectors": [[1.0]]})
    assert answer.status_code == 404
    assert answer.json()["detail"] == "there is no collection 'other'; there are digits"
