"""`Hits` for other programs: unpacked, cut, as records, JSON, CSV and DataFrame."""

import csv
import datetime
import json
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

import longwave as lw
from longwave.errors import InputError, LongwaveError


@pytest.fixture
def hits():
    ids = np.array([["a", "b"], ["c", "a"], ["b", "c"]])
    scores = np.array([[3, 2], [2, 1], [1, 0.5]], dtype=np.float32)
    return lw.Hits(ids, scores, steps=np.array([4, 5, 6]), confidence=np.array([0.9, 0.5, 0.25], dtype=np.float32))


def test_both_arrays_unpack_as_faiss_has_them(hits):
    scores, ids = hits
    assert scores is hits.scores
    assert ids is hits.ids
    assert hits.n_queries == 3


def test_one_query_and_some(hits):
    one = hits[1]
    assert isinstance(one, lw.Hits)
    assert one.ids.tolist() == [["c", "a"]]
    assert (one.n_queries, one.steps.tolist(), one.errors) == (1, [5], None)
    assert hits[-1].ids.tolist() == hits[2].ids.tolist()
    assert hits[np.int64(0)].ids.tolist() == [["a", "b"]]
    assert hits[1:].confidence.tolist() == [0.5, 0.25]
    for outside in (3, -4):
        with pytest.raises(IndexError, match=r"no query .*; queries are 0 … 2"):
            hits[outside]


def test_records_are_plain_values(hits):
    records = hits.records()
    assert [len(own) for own in records] == [2, 2, 2]
    assert records[1] == [{"rank": 1, "id": "c", "score": 2.0}, {"rank": 2, "id": "a", "score": 1.0}]
    assert {type(value) for value in records[0][0].values()} == {int, str, float}
    json.dumps(lw.Hits(np.array([[7]]), np.array([[1.0]], dtype=np.float32)).records())


def test_json_and_csv_name_the_queries(hits):
    plain = json.loads(hits.to_json())
    assert plain[0] == {"ids": ["a", "b"], "scores": [3.0, 2.0], "confidence": pytest.approx(0.9)}
    assert [row["query"] for row in json.loads(hits.to_json(["x", "y", "z"]))] == ["x", "y", "z"]
    rows = list(csv.DictReader(hits.to_csv(["x,1", "y", "z"]).splitlines()))
    assert rows[0] == {"query": "x,1", "rank": "1", "id": "a", "score": "3.0"}
    assert len(rows) == 6
    with pytest.raises(InputError, match="a name for each query, 3, got 1"):
        hits.to_json(["x"])


def test_columns_are_in_every_form(hits, monkeypatch):
    day = datetime.date(2024, 5, 17)
    known = {"title": [["A", None], ["C", "A"], [None, "C"]], "id": [[1, 2], [3, 1], [2, 3]], "day": [[day, day]] * 3}
    full = replace(hits, columns=known)
    assert full.records()[0][0]["columns"] == {"title": "A", "id": 1, "day": day}
    assert "columns" not in hits.records()[0][0]
    assert json.loads(full[1:].to_json())[0]["columns"] == {
        "title": ["C", "A"], "id": [3, 1], "day": ["2024-05-17", "2024-05-17"]
    }  # fmt: skip
    rows = list(csv.DictReader(full.to_csv().splitlines()))
    assert rows[1] == {
        "query": "0", "rank": "2", "id": "b", "score": "2.0", "title": "", "metadata.id": "2", "day": "2024-05-17"
    }  # fmt: skip
    made = types.ModuleType("pandas")
    made.DataFrame = lambda columns: columns
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert full.to_dataframe()["title"] == ["A", None, "C", "A", None, "C"]
    assert repr(replace(hits, confidence=None)).endswith("dtype=float32), steps=array([4, 5, 6]))")


def test_queries_that_were_skipped_keep_their_numbers():
    vectors, query = lw.datasets.arcs()
    queries = np.vstack([query, np.full_like(query, np.nan), query])
    hits = lw.Index.build(vectors, k=2).search(queries, 2, on_error="skip")
    assert [row["query"] for row in json.loads(hits.to_json())] == [0, 2]
    assert [line.split(",")[0] for line in hits.to_csv().splitlines()[1:]] == ["0", "0", "2", "2"]


def test_a_data_frame_has_a_row_for_each_hit(hits, monkeypatch):
    made = types.ModuleType("pandas")
    made.DataFrame = lambda columns: columns
    monkeypatch.setitem(sys.modules, "pandas", made)
    columns = hits.to_dataframe()
    assert {name: column.tolist() for name, column in columns.items()} == {
        "query": [0, 0, 1, 1, 2, 2],
        "rank": [1, 2, 1, 2, 1, 2],
        "id": ["a", "b", "c", "a", "b", "c"],
        "score": [3.0, 2.0, 2.0, 1.0, 1.0, 0.5],
    }
    assert hits.to_dataframe(["x", "y", "z"])["query"].tolist() == ["x", "x", "y", "y", "z", "z"]


def test_without_pandas_the_error_says_what_to_do(hits, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(LongwaveError, match="pip install pandas"):
        hits.to_dataframe()


def test_a_notebook_shows_a_table(hits):
    assert "<table" in hits._repr_html_()


def test_printed_hits_are_a_short_table():
    many = lw.Hits(np.arange(24).reshape(2, 12), np.linspace(1, 0, 24).reshape(2, 12), queries=np.array([4, 9]))
    lines = str(many).splitlines()
    assert lines[:2] == ["query 4", "   1  1.0000  0"]
    assert lines[11:13] == ["      … 2 more", "query 9"]
    one = lw.Hits(np.array([["a"]]), np.array([[0.5]]), columns={"year": [[1999]]})
    assert str(one) == "   1  0.5000  a  1999"
    assert str(lw.Hits(np.zeros((12, 1), int), np.zeros((12, 1)))).splitlines()[-1] == "… 2 more queries"
