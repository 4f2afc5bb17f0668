"""The PyTerrier adapter: pipelines of real transformers, and a corpus graph that its own classes read."""

import numpy as np
import pytest

pytest.importorskip("pyterrier", reason="pip install 'longwave[pyterrier]'")
pytest.importorskip("pyterrier_adaptive", reason="pip install 'longwave[pyterrier]'")

import pandas as pd

from longwave import Euclidean, Index
from longwave.adapters.pyterrier import LongwaveTransformer, corpus_graph
from longwave.errors import InputError


@pytest.fixture(scope="module")
def index(digits_split):
    return Index.build(digits_split[0][:300], ids=[f"d{row}" for row in range(300)], progress=False)


@pytest.fixture
def queries(digits_split):
    return pd.DataFrame({"qid": ["a", "b"], "query_vec": list(digits_split[2][:2]), "note": ["x", "y"]})


def test_queries_become_ranked_hits(index, queries, digits_split):
    found = (LongwaveTransformer(index, k=20) % 5)(queries)
    expected = index.search(digits_split[2][:2], 20)
    assert found["docno"].tolist() == expected.ids[:, :5].ravel().tolist()
    assert found["rank"].tolist() == [0, 1, 2, 3, 4] * 2
    assert found["qid"].tolist() == ["a"] * 5 + ["b"] * 5
    assert found["note"].tolist() == ["x"] * 5 + ["y"] * 5
    assert found["score"].tolist() == pytest.approx(expected.scores[:, :5].ravel().tolist(), rel=1e-4)


def test_hits_of_another_retriever_are_ranked_again(index, queries, digits_split):
    near = LongwaveTransformer(index, k=15, solver=Euclidean())
    found = (near >> LongwaveTransformer(index))(queries)
    for row, qid in enumerate(("a", "b")):
        first, own = ([*hits[hits["qid"] == qid]["docno"]] for hits in (near(queries), found))
        assert sorted(own) == sorted(first)
        every = index.search(digits_split[2][row][None], 300).ids[0].tolist()
        assert own == [name for name in every if name in first]


def test_texts_need_an_encoder(index, digits_split):
    asked = pd.DataFrame({"qid": ["a"], "query": ["3"]})
    encode = lambda texts: digits_split[2][[int(text) for text in texts]]  # noqa: E731
    assert LongwaveTransformer(index, encode=encode, k=1)(asked)["docno"].tolist() == [
        index.search(digits_split[2][3][None], 1).ids[0, 0]
    ]
    with pytest.raises(InputError, match="a column query_vec, or a column query and encode="):
        LongwaveTransformer(index)(asked)
    assert LongwaveTransformer(index, encode=encode)(asked[:0]).empty


def test_lists_are_a_corpus_graph(index, tmp_path):
    graph = corpus_graph(index, tmp_path / "g", k=8)
    near, weights = graph.neighbours("d7", weights=True)
    expected = index.search_by_id(["d7"], 8, solver=Euclidean())
    assert list(near) == expected.ids[0].tolist()
    assert np.allclose(weights, expected.scores[0], atol=1e-3)
    assert graph.edges_data.shape == (300, 8)
    with pytest.raises(InputError, match="k must be below 300"):
        corpus_graph(index, tmp_path / "h", k=300)
