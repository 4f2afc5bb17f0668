"""The LangChain adapter: the standard suites of langchain-tests, and what they do not ask for."""

import numpy as np
import pytest

pytest.importorskip("langchain_core", reason="pip install 'longwave[langchain]'")
pytest.importorskip("langchain_tests", reason="pip install langchain-tests")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from longwave.adapters.langchain import LongwaveRetriever, LongwaveVectorStore
from longwave.errors import InputError


class Digits(Embeddings):
    """Texts are row numbers of the digits; a stand-in for an encoder with real vectors."""

    def __init__(self, vectors):
        self.vectors = vectors

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return self.vectors[int(text)].tolist()


@pytest.mark.anyio
class TestStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        store = LongwaveVectorStore(self.get_embeddings(), tmp_path / "store")
        yield store
        store.delete()


@pytest.fixture(scope="module")
def store(digits_split):
    vectors, labels = digits_split[0][:400], digits_split[1][:400].tolist()
    about = [{"label": label, "seen": {"row": row}} for row, label in enumerate(labels)]
    names = [str(row) for row in range(400)]
    return LongwaveVectorStore.from_texts(names, Digits(vectors), about, ids=names)


@pytest.mark.anyio
class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def keep(self, store):
        type(self).store = store

    retriever_constructor = LongwaveRetriever
    retriever_query_example = "17"

    @property
    def retriever_constructor_params(self):
        return {"store": self.store}


def test_a_filter_is_a_condition_and_nested_metadata_come_back(store):
    found = store.similarity_search("3", k=5, filter={"label": 7})
    assert {document.metadata["label"] for document in found} == {7}
    assert all(document.metadata["seen"] == {"row": int(document.page_content)} for document in found)
    assert store.similarity_search("3", filter={"label": 70}) == []


def test_it_follows_the_manifold(store):
    """Hits of the store are those of the collection beneath it, not nearest neighbours."""
    vector = store.embeddings.embed_query("3")
    index = store.documents.collection.index
    expected = index.search(np.array(vector)[None], 50)
    found = store.similarity_search_with_score("3", k=50)
    assert [document.id for document, _ in found] == expected.ids[0].tolist()
    assert [score for _, score in found] == pytest.approx(expected.scores[0].tolist())
    assert expected.route is not None


def test_diverse_hits_are_others(store):
    plain = store.similarity_search("3", k=8)
    assert store.similarity_search_by_vector(store.embeddings.embed_query("3"), 8) == plain
    assert store.max_marginal_relevance_search("3", k=8, lambda_mult=0.1) != plain
    assert store.as_retriever(search_kwargs={"k": 8}).invoke("3") == plain


def test_it_is_there_again_and_grows_into_a_graph(tmp_path, digits_split):
    vectors = digits_split[0][:140]
    first = LongwaveVectorStore(Digits(vectors), tmp_path / "s")
    first.add_texts(["0", "1"], ids=["a", "b"])
    first.documents.collection.close()
    again = LongwaveVectorStore(Digits(vectors), tmp_path / "s")
    assert again.similarity_search("1", k=1) == [Document(id="b", page_content="1")]
    for start in range(2, 140, 46):
        again.add_texts([str(row) for row in range(start, start + 46)])
    assert len(again.documents) == 140
    assert not again.documents.collection.staleness().stale
    assert again.documents.collection.index.graph.n_vertices > 90


def test_errors_say_what_to_do(store):
    with pytest.raises(InputError, match="2 texts need as many ids"):
        store.add_texts(["1", "2"], ids=["x"])
    with pytest.raises(InputError, match="must not have the key 'text'"):
        store.add_texts(["1"], [{"text": "no"}])
    with pytest.raises(InputError, match="JSON can hold"):
        store.add_texts(["1"], [{"what": object()}])
