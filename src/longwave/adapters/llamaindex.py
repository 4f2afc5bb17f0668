"""LlamaIndex: a retriever that follows the manifold, and a postprocessor that ranks nodes by it (extra `llamaindex`).

retriever = LongwaveRetriever.from_nodes(nodes, embed_model, "notes.longwave")
retriever.retrieve("a question")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longwave.adapters.document import Found
from longwave.adapters.documents import Documents
from longwave.errors import InputError, MissingExtraError

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtraError("the LlamaIndex adapter", "llamaindex") from error


class LongwaveRetriever(BaseRetriever):
    """documents: a folder, or `Documents`. embed_model: what turns a query into a vector.

    similarity_top_k: nodes to return. where: a condition on the metadata. options: of `Index.search`.
    """

    def __init__(
        self,
        documents: Documents | str | Path,
        embed_model: BaseEmbedding,
        *,
        similarity_top_k: int = 10,
        where: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.documents = documents if isinstance(documents, Documents) else Documents(documents)
        self.embed_model, self.similarity_top_k = embed_model, similarity_top_k
        self._where, self._options = where, options
        super().__init__()

    @classmethod
    def from_nodes(
        cls, nodes: Sequence[BaseNode], embed_model: BaseEmbedding, path: str | Path | None = None, **options: Any
    ) -> LongwaveRetriever:
        """A retriever of these nodes, embedded here, in a new folder or a temporary one."""
        made = cls(Documents(path), embed_model, **options)
        made.add(nodes)
        return made

    def add(self, nodes: Sequence[BaseNode]) -> None:
        """Add nodes, or put them in the place of those with the same id."""
        told = [node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]
        vectors = self.embed_model.get_text_embedding_batch(told)
        texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        self.documents.put([node.node_id for node in nodes], texts, vectors, [node.metadata for node in nodes])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        vector = _embedded(query_bundle, self.embed_model)
        found = self.documents.search(vector, self.similarity_top_k, where=self._where, **self._options)
        return [NodeWithScore(node=_node(one), score=one.score) for one in found]


class LongwavePostprocessor(BaseNodePostprocessor):
    """Ranks nodes that another retriever has found by their place on the manifold of all documents.

    documents: a collection in which the nodes are, by their ids; others are left out. top_n: nodes to keep, all by
    default.
    """

    documents: Any
    embed_model: Any
    top_n: int | None = None

    @classmethod
    def class_name(cls) -> str:
        return "LongwavePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InputError("LongwavePostprocessor ranks by the query; give query_str or query_bundle")
        known = {one.node.node_id: one.node for one in nodes}
        vector = _embedded(query_bundle, self.embed_model)
        found = self.documents.search(vector, self.top_n or len(nodes), ids=list(known))
        return [NodeWithScore(node=known[one.id], score=one.score) for one in found]


def _embedded(query: QueryBundle, model: BaseEmbedding) -> Any:
    return query.embedding or model.get_agg_embedding_from_queries(query.embedding_strs)


def _node(found: Found) -> TextNode:
    return TextNode(id_=found.id, text=found.text, metadata=found.metadata)
