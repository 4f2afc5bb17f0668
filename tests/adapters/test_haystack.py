"""The Haystack adapter: its own suite for document stores, and a pipeline."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("haystack", reason="pip install 'longwave[haystack]'")

from haystack import Document, Pipeline
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing.document_store import DocumentStoreBaseTests

from longwave.adapters.haystack import LongwaveDocumentStore, LongwaveEmbeddingRetriever
from longwave.errors import InputError


class Embedding(LongwaveDocumentStore):
    """The suite writes some documents without an embedding, which Longwave does not take: they get one here."""

    def write_documents(self, documents, **policy):
        if isinstance(documents, list) and all(isinstance(one, Document) for one in documents):
            rows = np.random.default_rng(0).normal(size=(len(documents), 768)).tolist()
            documents = [replace(one, embedding=one.embedding or row) for one, row in zip(documents, rows, strict=True)]
        return super().write_documents(documents, **policy)


class TestStandard(DocumentStoreBaseTests):
    @pytest.fixture
    def document_store(self):
        return Embedding()

    @staticmethod
    def assert_documents_are_equal(received, expected):
        """But for embeddings, which stay in the index, of unit length."""
        told = [[(one.id, one.content, one.meta) for one in documents] for documents in (received, expected)]
        assert told[0] == told[1]

    def test_write_documents(self, document_store):
        one = Document(content="test doc")
        assert document_store.write_documents([one]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([one])


def test_a_pipeline_finds_along_the_manifold(digits_split, tmp_path):
    vectors, labels = digits_split[0][:200], digits_split[1][:200].tolist()
    store = LongwaveDocumentStore(str(tmp_path / "digits"), {"k": 20})
    store.write_documents([
        Document(id=str(row), content=f"digit {row}", embedding=vectors[row].tolist(), meta={"label": labels[row]})
        for row in range(200)
    ])  # fmt: skip
    pipeline = Pipeline()
    pipeline.add_component("retriever", LongwaveEmbeddingRetriever(store, top_k=30))
    query = digits_split[2][0]
    found = pipeline.run({"retriever": {"query_embedding": query.tolist()}})["retriever"]["documents"]
    expected = store.documents.collection.search(query[None], 30)
    assert [one.id for one in found] == expected.ids[0].tolist()
    assert [one.score for one in found] == pytest.approx(expected.scores[0].tolist())
    filters = {"field": "meta.label", "operator": "in", "value": [3, 5]}
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["longwave.adapters.haystack"])
    store.documents.collection.close()
    few = again.run({"retriever": {"query_embedding": query.tolist(), "filters": filters, "top_k": 4}})
    assert {one.meta["label"] for one in few["retriever"]["documents"]} <= {3, 5}
    with pytest.raises(InputError, match="needs a content and an embedding"):
        store.write_documents([Document(content="no vector")])
