"""The LlamaIndex adapter, with its own classes for nodes, embeddings and query engines."""

import pytest

pytest.importorskip("llama_index.core", reason="pip install 'longwave[llamaindex]'")

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from longwave.adapters.llamaindex import LongwavePostprocessor, LongwaveRetriever
from longwave.errors import InputError


class Digits(BaseEmbedding):
    """Texts are row numbers of the digits."""

    rows: list

    def _get_text_embedding(self, text):
        return self.rows[int(text)]

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


@pytest.fixture(scope="module")
def retriever(digits_split):
    rows = digits_split[0][:200].tolist()
    nodes = [
        TextNode(id_=f"n{row}", text=str(row), metadata={"odd": bool(row % 2)}, excluded_embed_metadata_keys=["odd"])
        for row in range(150)
    ]
    return LongwaveRetriever.from_nodes(nodes, Digits(rows=rows), similarity_top_k=20)


def test_it_retrieves_along_the_manifold(retriever, digits_split):
    found = retriever.retrieve("170")
    expected = retriever.documents.collection.search(digits_split[0][170][None], 20)
    assert [one.node.node_id for one in found] == expected.ids[0].tolist()
    assert [one.score for one in found] == pytest.approx(expected.scores[0].tolist())
    assert found[0].node.metadata == {"odd": bool(int(found[0].node.text) % 2)}


def test_a_condition_on_the_metadata(retriever):
    odd = LongwaveRetriever(retriever.documents, retriever.embed_model, similarity_top_k=5, where={"odd": True})
    found = odd.retrieve(QueryBundle("170"))
    assert len(found) == 5
    assert all(one.node.metadata["odd"] for one in found)


def test_nodes_of_another_retriever_are_ranked_by_the_manifold(retriever):
    found = retriever.retrieve("170")
    strange = NodeWithScore(node=TextNode(id_="elsewhere", text="0"), score=9.0)
    ranker = LongwavePostprocessor(documents=retriever.documents, embed_model=retriever.embed_model, top_n=5)
    ranked = ranker.postprocess_nodes([strange, *found[::-1]], query_str="170")
    assert [one.node.node_id for one in ranked] == [one.node.node_id for one in found[:5]]
    with pytest.raises(InputError, match="ranks by the query"):
        ranker.postprocess_nodes(found)
