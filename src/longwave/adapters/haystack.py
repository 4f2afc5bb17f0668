"""Haystack: a document store whose embedding retriever follows the manifold (extra `haystack`).

store = LongwaveDocumentStore("notes.longwave")
store.write_documents(documents_with_embeddings)
pipeline.add_component("retriever", LongwaveEmbeddingRetriever(store, top_k=5))
"""

from __future__ import annotations

from typing import Any

from longwave.adapters.document import Found
from longwave.adapters.documents import Documents
from longwave.errors import InputError, MissingExtraError

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter
except ImportError as error:
    raise MissingExtraError("the Haystack adapter", "haystack") from error


class LongwaveDocumentStore:
    """path: the folder of the collection; None: a temporary one. options: of `Index.build`.

    Documents are texts with an embedding. Filters are Haystack's own, and looked at document by document.
    """

    def __init__(self, path: str | None = None, options: dict[str, Any] | None = None) -> None:
        self.path, self.options = path, options
        self.documents = Documents(path, **(options or {}))

    def to_dict(self) -> dict[str, Any]:
        return dict(default_to_dict(self, path=self.path, options=self.options))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LongwaveDocumentStore:
        made: LongwaveDocumentStore = default_from_dict(cls, data)
        return made

    def count_documents(self) -> int:
        return len(self.documents)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        every = [_document(found) for found in self.documents.get(self.documents.matching())]
        return [one for one in every if document_matches_filter(filters, one)] if filters else every

    def write_documents(self, documents: Any, policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Returns how many were written. A known id is an error, unless the policy is SKIP or OVERWRITE."""
        if not isinstance(documents, list) or not all(isinstance(one, Document) for one in documents):
            raise InputError("write_documents takes a list of haystack.Document")
        known = {found.id for found in self.documents.get(one.id for one in documents)}
        if known and policy in (DuplicatePolicy.NONE, DuplicatePolicy.FAIL):
            raise DuplicateDocumentError(f"there is a document with id {min(known)!r} already")
        fresh = [one for one in documents if policy != DuplicatePolicy.SKIP or one.id not in known]
        for one in fresh:
            if one.embedding is None or one.content is None:
                raise InputError(f"document {one.id!r} needs a content and an embedding; run a DocumentEmbedder first")
        self.documents.put(
            [one.id for one in fresh],
            [one.content for one in fresh],
            [one.embedding for one in fresh],
            [one.meta for one in fresh],
        )
        return len(fresh)

    def delete_documents(self, document_ids: list[str]) -> None:
        self.documents.remove(document_ids)

    def search(self, embedding: list[float], k: int, filters: dict[str, Any] | None = None) -> list[Document]:
        """The best documents for an embedding; scores have no fixed scale."""
        allowed = [one.id for one in self.filter_documents(filters)] if filters else None
        return [_document(found) for found in self.documents.search(embedding, k, ids=allowed)] if k else []


@component
class LongwaveEmbeddingRetriever:
    """document_store: what is searched. top_k: documents to return. filters: where a run gives none of its own."""

    def __init__(
        self, document_store: LongwaveDocumentStore, top_k: int = 10, filters: dict[str, Any] | None = None
    ) -> None:
        self.document_store, self.top_k, self.filters = document_store, top_k, filters

    def to_dict(self) -> dict[str, Any]:
        kept = {"document_store": self.document_store.to_dict(), "top_k": self.top_k, "filters": self.filters}
        return dict(default_to_dict(self, **kept))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LongwaveEmbeddingRetriever:
        given = data["init_parameters"]
        store = LongwaveDocumentStore.from_dict(given["document_store"])
        return cls(store, given["top_k"], given["filters"])

    @component.output_types(documents=list[Document])
    def run(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Documents, best first."""
        k = self.top_k if top_k is None else top_k
        return {"documents": self.document_store.search(query_embedding, k, filters or self.filters)}


def _document(found: Found) -> Document:
    return Document(id=found.id, content=found.text, meta=found.metadata, score=found.score)
