"""Collections of texts: asked in words, and what is said where that cannot be."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import longwave
from longwave import texts
from longwave.server import questions
from serving import running

sys.path.append(str(Path(__file__).parents[1] / "texts"))
samples = importlib.import_module("texts_samples")
AT = "/v1/collections/notes"
NOTES = [
    ("sea", "The sea is deep, and nobody knows the whole water of it."),
    ("lake", "This lake has sweet water, and the shore is near."),
    ("river", "Every river carries water down to the deep sea."),
    ("hill", "Sheep climb the green hill, where grass is short."),
    ("field", "Grass grows on this field, and sheep like grass."),
    ("barn", "Sheep sleep inside the barn beside the field."),
]


class Unnamed(samples.WordEncoder):
    weights = ""  # as an address has none


def build(path, encoder):
    passages = [texts.Passage(name, text, name) for name, text in NOTES]
    texts.build_index(passages, encoder=encoder, k=3, spectrum=longwave.Exact(), progress=False).save(path)
    return path


@pytest.fixture(scope="module")
def address():
    with samples.endpoint() as own:
        yield own


@pytest.fixture(scope="module")
def notes(address, tmp_path_factory):
    return build(tmp_path_factory.mktemp("questions") / "notes.longwave", address)


@pytest.fixture(scope="module")
def client(notes):
    with running(notes) as own:
        yield own


def test_a_question_is_answered_as_by_the_library(client, notes):
    library = texts.Library(longwave.Index.load(notes))
    asked = "how deep is the sea?"
    assert client.get(f"{AT}/questions").json() == {"possible": True, "detail": ""}
    hits = library.search([asked, "sheep and grass"], 3)
    body = {"texts": [asked, "sheep and grass"], "k": 3, "columns": ["text"]}
    found = client.post(f"{AT}/search", json=body).json()["hits"]
    assert [one["ids"] for one in found] == hits.ids.tolist()
    assert found[0]["columns"]["text"] == hits.columns["text"][0]
    both = client.post(f"{AT}/compare", json={"query": {"text": asked}, "k": 3}).json()
    assert both["manifold"]["ids"] == hits.ids[0].tolist()
    assert np.allclose(both["manifold"]["scores"], hits.scores[0], rtol=1e-5)  # there two at a time
    near = library.search(asked, 3, solver=longwave.Euclidean())
    assert both["nearest"]["ids"] == near.ids[0].tolist()
    assert len(client.post(f"{AT}/wave", json={"query": {"text": asked}}).content) == 4 * len(NOTES)
    why = client.post(f"{AT}/explain", json={"query": {"text": asked}, "id": "river"}).json()
    assert why["path"][-1] == "river"


def test_items_beside_a_question(client):
    def first(**more):
        answer = client.post(f"{AT}/compare", json={"query": {"text": "water", **more}, "k": 6})
        assert answer.status_code == 200, answer.text
        return answer.json()["manifold"]["ids"]

    assert len(first()) == 6
    assert set(first(ids=["barn"], **{"not": ["sea"]})) == {"lake", "river", "hill", "field"}


@pytest.mark.parametrize(
    "query",
    [
        {"text": " \n"},
        {"text": ""},
        {"text": "a", "vectors": [[1.0]]},
        {"text": "a", "upload": "b"},
        {"text": "a" * 10_001},
    ],
)
def test_what_is_no_question(client, query):
    assert client.post(f"{AT}/compare", json={"query": query}).status_code == 422


def test_a_question_is_encoded_once(notes, monkeypatch):
    encoder = Unnamed()
    monkeypatch.setattr("longwave.texts.library.open_encoder", lambda name: encoder)
    with running(notes) as client:
        for what in ("compare", "wave", "compare"):
            assert client.post(f"{AT}/{what}", json={"query": {"text": "sheep"}}).status_code == 200
    assert [text for text, query in encoder.asked if query] == ["sheep"]


def test_no_more_questions_are_kept_than_some(client, monkeypatch):
    monkeypatch.setattr(questions, "_KEPT", 3)
    asked = [f"water {word}" for word in ("lake", "hill", "barn", "sheep", "lake")]
    found = client.post(f"{AT}/search", json={"texts": asked, "k": 2}).json()["hits"]
    assert found[0]["ids"] == found[4]["ids"]
    (served,) = client.context.shelf
    assert len(served.now.questions._kept) == 3


def test_an_encoder_that_is_gone(tmp_path):
    with samples.endpoint() as address:
        path = build(tmp_path / "notes.longwave", address)
    with running(path) as client:  # its encoder does not answer any more
        told = client.get(f"{AT}/questions")
        assert told.status_code == 200
        assert told.json()["possible"] is False
        answer = client.post(f"{AT}/compare", json={"query": {"text": "sheep"}})
        assert answer.status_code == 503
        assert "127.0.0.1" not in told.text + answer.text  # where it was is not told
        assert client.post(f"{AT}/compare", json={"query": {"ids": ["sea"]}}).status_code == 200


def test_another_encoder_is_refused_and_tried_again_later(notes, monkeypatch):
    opened = []

    def another(name):
        opened.append(name)
        return Unnamed(shift=len(opened) == 1)

    monkeypatch.setattr("longwave.texts.library.open_encoder", another)
    with running(notes) as client:
        for _ in range(2):
            assert client.get(f"{AT}/questions").json()["possible"] is False
        assert len(opened) == 1
        monkeypatch.setattr(questions, "_PAUSE", 0)
        assert client.get(f"{AT}/questions").json()["possible"] is True
        assert client.post(f"{AT}/compare", json={"query": {"text": "sheep"}}).status_code == 200


def test_a_missing_extra_is_named(notes, monkeypatch):
    def missing(name):
        raise longwave.errors.MissingExtraError("an encoder of texts", "texts")

    monkeypatch.setattr("longwave.texts.library.open_encoder", missing)
    with running(notes) as client:
        told = client.get(f"{AT}/questions").json()
        assert told["possible"] is False
        assert "longwave[texts]" in told["detail"]
        assert client.post(f"{AT}/compare", json={"query": {"text": "sheep"}}).status_code == 501


def test_the_encoder_stays_open_over_versions(address, tmp_path):
    path = build(tmp_path / "notes.longwave", address)
    with running(path, writable=True) as client:
        client.get(f"{AT}/questions")
        (served,) = client.context.shelf
        encoder = served.now.questions._library.encoder
        assert client.request("DELETE", f"{AT}/items", json={"ids": ["barn"]}).status_code == 200
        found = client.post(f"{AT}/compare", json={"query": {"text": "sheep barn"}, "k": 6}).json()["manifold"]["ids"]
        assert "barn" not in found
        assert served.now.questions._library.encoder is encoder


def test_collections_of_vectors_take_no_questions(served):
    told = served.get("/v1/collections/digits/questions").json()
    assert told["possible"] is False
    assert "texts" in told["detail"]
    for what, body in (("search", {"texts": ["a"]}), ("compare", {"query": {"text": "a"}})):
        assert served.post(f"/v1/collections/digits/{what}", json=body).status_code == 422
