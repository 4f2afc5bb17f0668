"""Every other route of reading: what collections, items, maps, waves, explanations and probes answer."""

import json
from urllib.parse import quote

import numpy as np
import pytest

import longwave
from longwave.evaluation import Judgement, average_precision
from longwave.inspection import describe
from longwave.layout import positions
from longwave.search.queries import Queries
from serving import running

AT = "/v1/collections/digits"


def test_collections(served):
    (one,) = served.get("/v1/collections").json()["collections"]
    assert one == {
        "name": "digits", "items": 500, "dimension": 64, "version": 1,
        "pictures": False, "texts": False, "writable": False,
    }  # fmt: skip


def test_a_collection(served, index):
    found = served.get(AT).json()
    assert found["id_kind"] == "int"
    assert found["labels"] == "label"
    assert found["draw"] == {"kind": "digits", "width": 8, "height": 8}
    assert found["columns"][0] == {"name": "label", "type": "int64"}
    assert found["settings"]["filter"] == index.settings.search.filter
    assert found["settings"]["rank"] == index.spectrum.rank
    assert [knob["name"] for knob in found["filters"]] == ["lowpass", "heat", "ideal", "walk"]
    assert 2 <= len(found["eigenvalues"]) <= 400
    assert found["eigenvalues"] == sorted(found["eigenvalues"], reverse=True)
    assert max(found["eigenvalues"]) == pytest.approx(1, abs=1e-6)
    lines = dict(found["info"])
    assert lines == describe(index, longwave.LowPass(0.99))


def test_filters_of_the_knobs_can_be_asked_for(served):
    for knob in served.get(AT).json()["filters"]:
        for value in (knob["min"], knob["max"], knob["default"]):
            text = f"{knob['name']}:{value}"
            assert served.get(f"{AT}/response", params={"filter": text}).status_code == 200, text


def test_ids_in_pages(served, index):
    assert served.get(f"{AT}/ids").json()["ids"] == index.ids.tolist()
    assert served.get(f"{AT}/ids", params={"start": 490, "count": 100}).json()["ids"] == list(range(490, 500))
    assert served.get(f"{AT}/ids", params={"start": 5000}).json()["ids"] == []
    assert served.get(f"{AT}/ids", params={"count": 10**6}).status_code == 422
    assert served.get(f"{AT}/ids", params={"start": "x"}).status_code == 422


def test_find_puts_the_same_first(served):
    assert served.get(f"{AT}/find", params={"text": "7", "k": 4}).json()["ids"] == [7, 70, 71, 72]
    assert served.get(f"{AT}/find", params={"text": "499"}).json()["ids"] == [499]
    assert served.get(f"{AT}/find", params={"text": "x"}).json()["ids"] == []
    assert served.get(f"{AT}/find").status_code == 422


def test_an_item(served):
    found = served.get(f"{AT}/items/7").json()
    assert found == {"id": 7, "metadata": {"label": 7, "word": "digit 7", "day": "2020-01-08"}}
    assert served.get(f"{AT}/items/0").json()["metadata"]["word"] is None
    for wrong in ("500", "-1", "x", "1.5", quote("../7", safe=""), "9" * 40, "%00", "%ff"):
        answer = served.get(f"{AT}/items/{wrong}")
        assert answer.status_code == 404, wrong
        assert answer.headers["content-type"] == "application/problem+json"


def test_the_map(served, index):
    answer = served.get(f"{AT}/map")
    assert answer.headers["x-longwave-items"] == "500"
    found = np.frombuffer(answer.content, "<f4").reshape(-1, 2)
    assert np.array_equal(found, positions(index))
    again = served.get(f"{AT}/map", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_a_response(served, index):
    found = served.get(f"{AT}/response", params={"filter": "heat:3"}).json()
    values = np.array(found["eigenvalues"])
    assert np.allclose(found["response"], longwave.Heat(3)(values))
    assert values[0] == -1
    assert (np.diff(values) > 0).all()
    assert np.isin(np.round(index.spectrum.eigenvalues[:1], 9), np.round(values, 9)).all()


def test_a_drawing_is_the_vector(served, index):
    from io import BytesIO

    from PIL import Image

    answer = served.get(f"{AT}/drawing/7")
    assert answer.headers["content-type"] == "image/png"
    pixels = np.asarray(Image.open(BytesIO(answer.content)))
    assert pixels.shape == (64, 64)
    vector = index.vectors.rows(np.array([7]))[0].reshape(8, 8)
    assert np.array_equal(pixels[::8, ::8], np.rint(255 * vector / vector.max()).astype(np.uint8))
    assert served.get(f"{AT}/drawing/500").status_code == 404


def test_compare_is_both_searches_without_the_query(served, index):
    body = {"query": {"ids": [17]}, "k": 12, "columns": ["label"], "filter": "lowpass:0.95"}
    found = served.post(f"{AT}/compare", json=body).json()
    near = index.search_by_id([17], 12, solver=longwave.Euclidean(), columns=["label"])
    far = index.search_by_id([17], 12, filter=longwave.LowPass(0.95), columns=["label"])
    for name, hits in (("nearest", near), ("manifold", far)):
        assert found[name]["ids"] == hits.ids[0].tolist()
        assert np.array_equal(np.float32(found[name]["scores"]), hits.scores[0])
        assert found[name]["columns"]["label"] == hits.columns["label"][0]
    assert found["manifold"]["confidence"] == far.confidence[0]
    assert found["manifold"]["route"] == far.route
    assert found["version"] == 1


def test_truth_is_that_of_the_labels(served, index):
    body = {"query": {"ids": [17]}, "k": 12}
    found = served.post(f"{AT}/compare", json=body).json()
    labels = index.metadata.table.column("label").to_pylist()
    right = Judgement([i for i in range(500) if labels[i] == labels[17] and i != 17])
    truth = found["truth"]
    assert truth["label"] == labels[17]
    for name, options in (("nearest", {"solver": longwave.Euclidean()}), ("manifold", {})):
        assert truth[name]["relevant"] == [labels[own] == labels[17] for own in found[name]["ids"]]
        whole = index.search_by_id([17], 499, **options)
        assert truth[name]["ap"] == average_precision(whole.ids[0], right)
    assert truth["manifold"]["ap"] > truth["nearest"]["ap"]
    both = next(i for i in range(500) if labels[i] != labels[17])
    assert served.post(f"{AT}/compare", json={"query": {"ids": [17, both]}}).json()["truth"] is None
    assert served.post(f"{AT}/compare", json={"query": {"vectors": [[1.0] * 64]}}).json()["truth"] is None
    one = next(i for i in range(18, 500) if labels[i] == labels[17])
    few = served.post(f"{AT}/compare", json={"query": {"ids": [17]}, "where": [17, one, both]}).json()
    assert few["manifold"]["ids"] in ([one, both], [both, one])
    assert (
        served.post(f"{AT}/compare", json={"query": {"ids": [17]}, "where": [both]}).json()["truth"]["manifold"]["ap"]
        is None
    )


def test_labels_of_another_column(digits_folder):
    with running(digits_folder, labels="word") as client:
        assert client.get(AT).json()["labels"] == "word"
        assert client.post(f"{AT}/compare", json={"query": {"ids": [7]}}).json()["truth"]["label"] == "digit 7"
        assert client.post(f"{AT}/compare", json={"query": {"ids": [0]}}).json()["truth"] is None  # has none
    with pytest.raises(longwave.errors.InputError, match="no column 'kind'"), running(digits_folder, labels="kind"):
        pass


def test_a_wave_runs_over_all_items(served, index):
    body = {"query": {"ids": [17]}, "filter": "lowpass:0.9"}
    answer = served.post(f"{AT}/wave", json=body)
    x = np.frombuffer(answer.content, "<f4")
    assert answer.headers["x-longwave-items"] == "500"
    assert x.shape == (500,)
    assert x.min() >= 0
    assert x.max() == 1
    scores = index.search_by_id([17], 500, include_self=True, filter=longwave.LowPass(0.9), blend=0)
    known = np.zeros(500)
    known[scores.ids[0]] = np.maximum(scores.scores[0], 0)
    assert np.allclose(x, (known / known.max()) ** 0.25, atol=2e-3)


def test_a_wave_keeps_away_from_what_is_not_wanted(served):
    one = np.frombuffer(served.post(f"{AT}/wave", json={"query": {"ids": [17]}}).content, "<f4")
    near = int(np.argsort(-one)[1])
    two = np.frombuffer(served.post(f"{AT}/wave", json={"query": {"ids": [17], "not": [near]}}).content, "<f4")
    assert two[near] < one[near]


def test_an_explanation_and_the_graph_around_it(served, index):
    hit = int(index.search_by_id([17], 30).ids[0, -1])
    found = served.post(f"{AT}/explain", json={"query": {"ids": [17]}, "id": hit, "filter": "lowpass:0.9"}).json()
    vector = index.vectors.rows(np.array([17]))
    known = index.explain(vector, hit, filter=longwave.LowPass(0.9))
    assert found["score"] == pytest.approx(known.score)
    assert [part["id"] for part in found["neighbors"]] == known.neighbors.tolist()
    assert [part["contribution"] for part in found["neighbors"]] == pytest.approx(known.contributions.tolist())
    assert found["path"] == known.path
    nodes, edges = found["graph"]["nodes"], found["graph"]["edges"]
    ids = [node["id"] for node in nodes]
    assert len(set(ids)) == len(ids)
    assert set(known.path) | set(known.neighbors.tolist()) <= set(ids)
    y = index.observe(Queries.make(vector, dimension=64)).toarray()[0]
    assert [node["observed"] for node in nodes] == pytest.approx(y[ids].tolist())
    assert all(-1 <= node[axis] <= 1 for node in nodes for axis in "xy")
    W = index.graph.normalized.toarray()
    assert len(edges) == np.count_nonzero(np.triu(W[np.ix_(ids, ids)]))
    for i, j, weight in edges:
        assert weight == pytest.approx(W[ids[i], ids[j]])


@pytest.mark.parametrize("what", ["compare", "wave"])
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, "got none"),
        ({"ids": [1], "vectors": [[1.0] * 64]}, "got ids and vectors"),
        ({"ids": []}, "length >= 1"),
        ({"ids": [500]}, "no item with id 500"),
        ({"ids": ["a"]}, "whole numbers"),
        ({"ids": [2**70]}, "ids"),
        ({"vectors": [[1.0]], "not": [3]}, "beside `ids`"),
        ({"ids": [1], "box": [0, 0, 9, 9]}, "part of an upload"),
        ({"ids": [1], "weights": [1]}, "of vectors"),
        ({"upload": "x"}, "not made from pictures"),
        ({"vectors": [[1.0] * 64, [1.0] * 64], "weights": [1]}, "one entry per query row"),
        ({"vectors": [[1.0] * 64], "weights": [1e400]}, ""),
    ],
)
def test_queries_that_are_wrong(served, what, query, told):
    data = json.dumps({"query": query}).replace("Infinity", "1e400")
    answer = served.post(f"{AT}/{what}", content=data, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert told in answer.json()["detail"]


def test_probes(served):
    assert served.get("/healthz").json() == {"status": "alive"}
    assert served.get("/readyz").json() == {"status": "ready"}


def test_figures_for_prometheus(digits_folder, held_out_digits):
    from prometheus_client.parser import text_string_to_metric_families

    with running(digits_folder) as client:
        for row in held_out_digits[:3]:
            client.post(f"{AT}/search", json={"vectors": [row.tolist()]})
        client.get("/nowhere/at/all")
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["longwave_requests_total", "/v1/collections/{name}/search", "200", "POST"] == 3
    assert samples["longwave_requests_total", "404", "GET", "other"] == 1
    assert samples["longwave_items", "digits"] == 500
    assert samples["longwave_version", "digits"] == 1
    assert samples[("longwave_queue_seconds_count",)] == 3
    assert samples[("longwave_batch_queries_sum",)] == 3
    assert samples[("longwave_queue_requests",)] == 0


def test_what_is_nowhere(served):
    for method, path, status in (
        ("GET", "/v1", 404), ("GET", "/v1/collections/digits/nothing", 404), ("PATCH", "/v1/collections", 405),
        ("GET", f"{AT}/search", 405), ("GET", "/static/../pyproject.toml", 404),
    ):  # fmt: skip
        answer = served.request(method, path)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
    assert served.head(AT).status_code == 200


def test_names_and_folders(digits_folder, tmp_path):
    import shutil

    twin = tmp_path / "other" / "digits.longwave"
    shutil.copytree(digits_folder, twin)
    with (
        pytest.raises(longwave.errors.InputError, match="two folders are called 'digits'"),
        running(digits_folder, twin),
    ):
        pass
    second = twin.rename(tmp_path / "my digits.longwave")
    with running(digits_folder, second) as client:
        names = [one["name"] for one in client.get("/v1/collections").json()["collections"]]
        assert names == ["digits", "my digits"]
        assert client.get("/v1/collections/my%20digits").json()["items"] == 500
